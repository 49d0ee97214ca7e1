import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { Reachability } from './reachability.ts';

function rig() {
  const clock = new VirtualClock();
  const probes: Probe[] = [];
  const reachability = new Reachability({
    clock,
    random: () => 0,
    probe: () => {
      const probe = newProbe();
      probes.push(probe);
      return probe.promise;
    },
  });
  return { clock, probes, reachability };
}

interface Probe {
  readonly promise: Promise<void>;
  readonly end: () => void;
}

function newProbe(): Probe {
  let end: () => void = () => undefined;
  const promise = new Promise<void>((resolve) => {
    end = resolve;
  });
  return { promise, end };
}

describe('Reachability', () => {
  it('notifies all waiting listeners once, at the next answer to any call', () => {
    const { reachability } = rig();
    const told: string[] = [];
    reachability.whenReachable(() => told.push('a'));
    reachability.whenReachable(() => {
      throw new Error('a listener that fails costs the others nothing');
    });
    reachability.whenReachable(() => told.push('b'));
    reachability.noteStatus(403);
    reachability.noteStatus(200);
    expect(told).toEqual(['a', 'b']);
  });

  it.each([502, 503, 504])('takes %i for the answer of a proxy whose server is away', (status) => {
    const { reachability } = rig();
    const told: string[] = [];
    reachability.whenReachable(() => told.push('a'));
    reachability.noteStatus(status);
    expect(told).toEqual([]);
  });

  it('does not notify listeners that have stopped waiting', async () => {
    const { clock, probes, reachability } = rig();
    const told: string[] = [];
    reachability.whenReachable(() => told.push('a'))();
    reachability.noteStatus(200);
    await clock.advance(60_000);
    expect([told, probes.length]).toEqual([[], 0]);
  });

  it('asks the server while somebody waits, one probe at a time', async () => {
    const { clock, probes, reachability } = rig();
    await clock.advance(60_000);
    expect(probes.length).toBe(0);
    reachability.whenReachable(() => undefined);
    reachability.whenReachable(() => undefined);
    await clock.advance(60_000);
    expect(probes.length).toBe(1);
    probes[0]?.end();
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(2500);
    expect(probes.length).toBe(2);
  });

  it('leaves no timer when it is closed', async () => {
    const { clock, probes, reachability } = rig();
    reachability.whenReachable(() => undefined);
    reachability.close();
    reachability.whenReachable(() => undefined);
    await clock.advance(60_000);
    expect(probes.length).toBe(0);
  });
});

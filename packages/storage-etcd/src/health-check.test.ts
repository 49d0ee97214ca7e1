import { settle, VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { HealthCheck } from './health-check.ts';

interface Probe {
  readonly timeoutMs: number;
  readonly pass: () => void;
  readonly fail: (why: string) => void;
}

function healthCheck(timeoutMs = 2_000): { clock: VirtualClock; probes: Probe[]; health: HealthCheck } {
  const clock = new VirtualClock();
  const probes: Probe[] = [];
  const probe = (timeout: number): Promise<void> =>
    new Promise((resolve, reject) => {
      probes.push({ timeoutMs: timeout, pass: resolve, fail: (why) => reject(new Error(why)) });
    });
  return { clock, probes, health: new HealthCheck({ clock, timeoutMs, probe }) };
}

const outcome = (work: Promise<void>): Promise<string> =>
  work.then(
    () => 'healthy',
    (error: Error) => error.message,
  );

describe('HealthCheck', () => {
  it('asks etcd with its timeout and passes on the answer', async () => {
    const { probes, health } = healthCheck(500);
    const asked = outcome(health.check());
    expect(probes.map((probe) => probe.timeoutMs)).toEqual([500]);
    probes[0]?.fail('no answer');
    expect(await asked).toBe('no answer');
  });

  it('asks once in half of the timeout, however many ask; all of them get that answer', async () => {
    const { clock, probes, health } = healthCheck();
    const asked = [health.check(), health.check()].map(outcome);
    await clock.advance(999);
    asked.push(outcome(health.check()));
    probes[0]?.fail('no answer');
    expect(await Promise.all(asked)).toEqual(['no answer', 'no answer', 'no answer']);
    expect(await outcome(health.check())).toBe('no answer');
    expect(probes).toHaveLength(1);
    await clock.advance(1);
    const next = outcome(health.check());
    expect(probes).toHaveLength(2);
    probes[1]?.pass();
    expect(await next).toBe('healthy');
  });

  it('keeps the newer answer when an older question is answered after it', async () => {
    const { clock, probes, health } = healthCheck();
    const older = outcome(health.check());
    await clock.advance(1_000);
    const newer = outcome(health.check());
    probes[1]?.pass();
    expect(await newer).toBe('healthy');
    probes[0]?.fail('too late');
    expect(await older).toBe('too late');
    await settle();
    expect(await outcome(health.check())).toBe('healthy');
    expect(probes).toHaveLength(2);
  });
});

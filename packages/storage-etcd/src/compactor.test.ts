import { type Revision, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import type { Engine } from '@kapstan/storage';
import { MemoryEngine } from '@kapstan/storage/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { Compactor } from './compactor.ts';

const opened: { close(): unknown }[] = [];
afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close();
});

interface Server {
  readonly clock: VirtualClock;
  readonly told: Revision[];
  round(): Promise<void>;
}

function serverOn(engine: Engine, intervalMs: number): Server {
  const clock = new VirtualClock();
  const told: Revision[] = [];
  const onCompacted = (revision: Revision): void => void told.push(revision);
  const compactor = new Compactor({ engine, clock, logger: silentLogger, intervalMs, onCompacted });
  compactor.start();
  opened.push(compactor);
  const round = async (): Promise<void> => {
    await clock.advance(intervalMs);
    await settle();
  };
  return { clock, told, round };
}

function openEngine(): MemoryEngine {
  const engine = new MemoryEngine({ clock: new VirtualClock() });
  opened.push(engine);
  return engine;
}

const write = async (engine: Engine, key: string): Promise<Revision> => {
  const change = { type: 'put', value: new Uint8Array(1) } as const;
  return (await engine.commit({ key, expectedRevision: 0 as Revision, change })).revision;
};

describe('Compactor', () => {
  it('keeps the history of one interval at least, and compacts what is older', async () => {
    const engine = openEngine();
    const server = serverOn(engine, 60_000);
    await write(engine, '/a');
    await server.round();
    expect(engine.compactRevision()).toBe(0);
    const first = await engine.currentRevision();
    await write(engine, '/b');
    await server.round();
    expect(engine.compactRevision()).toBe(first);
    await server.round();
    expect(engine.compactRevision()).toBe(first + 2);
  });

  it('does nothing with an interval of 0: no round, no key, no timer', async () => {
    const engine = openEngine();
    const server = serverOn(engine, 0);
    const revision = await write(engine, '/a');
    await server.clock.advance(3_600_000);
    await settle();
    expect([await engine.currentRevision(), engine.compactRevision()]).toEqual([revision, 0]);
    expect((await engine.get('compact_rev_key')).kv).toBeUndefined();
    expect(server.clock.pendingTimers).toBe(0);
  });

  it('lets one of two servers have each round; the other learns what was compacted', async () => {
    const engine = openEngine();
    const [one, two] = [serverOn(engine, 60_000), serverOn(engine, 60_000)];
    await settle();
    await one.round();
    const first = await engine.currentRevision();
    await two.round();
    expect(await engine.currentRevision()).toBe(first);
    await one.round();
    expect(engine.compactRevision()).toBe(first);
    expect(two.told.at(-1)).toBe(first);
    const before = await engine.currentRevision();
    await two.round();
    expect(await engine.currentRevision()).toBe(before);
  });
});

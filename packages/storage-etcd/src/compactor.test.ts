import { type Revision, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import {
  type Commit,
  type Engine,
  type EngineWatch,
  type EngineWatchSink,
  MemoryEngine,
  type RangeOptions,
  StorageError,
} from '@kapstan/storage';
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
  close(): void;
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
  return { clock, told, round, close: () => compactor.close() };
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

  it('joins a key that another server keeps: loses one round, wins the next, compacts one later', async () => {
    const engine = openEngine();
    const first = serverOn(engine, 60_000);
    await first.round();
    first.close();
    const second = serverOn(engine, 60_000);
    await write(engine, '/a');
    const atLoss = await engine.currentRevision();
    await second.round();
    expect(await engine.currentRevision()).toBe(atLoss);
    await second.round();
    expect([await engine.currentRevision(), engine.compactRevision()]).toEqual([atLoss + 1, atLoss]);
    await second.round();
    expect(engine.compactRevision()).toBe(atLoss + 1);
  });

  it('follows the others again a second after its watch broke, or could not begin', async () => {
    const engine = openEngine();
    const { engine: fragile, sinks } = breaking(engine);
    const server = serverOn(fragile, 3_600_000);
    await settle();
    const change = { type: 'put', value: Buffer.from('7') } as const;
    await engine.commit({ key: 'compact_rev_key', expectedRevision: 0 as Revision, change });
    sinks.at(-1)?.onError(new StorageError({ code: 'Unreachable' }));
    fragile.get = () => Promise.reject(new StorageError({ code: 'Unreachable' }));
    await server.clock.advance(999);
    await settle();
    expect(sinks).toHaveLength(1);
    await server.clock.advance(1);
    await settle();
    expect([sinks.length, server.told.at(-1)]).toEqual([1, 0]);
    fragile.get = (key, options) => engine.get(key, options);
    await server.clock.advance(1_000);
    await settle();
    expect([sinks.length, server.told.at(-1)]).toEqual([2, 7]);
  });
});

/** Wraps the engine so that its watches receive nothing and the test holds their sinks. */
function breaking(engine: MemoryEngine): { readonly engine: Engine; readonly sinks: EngineWatchSink[] } {
  const sinks: EngineWatchSink[] = [];
  const watch = (_range: unknown, _options: unknown, sink: EngineWatchSink): EngineWatch => {
    sinks.push(sink);
    return { close: () => undefined };
  };
  const fragile = Object.assign(Object.create(engine) as Engine, {
    watch,
    get: (key: string, options?: RangeOptions) => engine.get(key, options),
    commit: (commit: Commit) => engine.commit(commit),
  });
  return { engine: fragile, sinks };
}

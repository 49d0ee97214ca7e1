import type { Revision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { StorageError } from './errors/storage-error.ts';
import { LeaseManager } from './lease-manager.ts';
import { MemoryEngine } from './memory-engine.ts';
import { PutCommitter } from './put-committer.ts';
import { StoreCounters } from './store-counters.ts';
import { WriteTurns } from './write-turns.ts';

/** Records granted leases, and refuses puts with leases that a test marks as lost. */
class LeasedEngine extends MemoryEngine {
  readonly granted: number[] = [];
  readonly lost = new Set<number>();

  override async grantLease(ttlSeconds: number): Promise<number> {
    this.granted.push(ttlSeconds);
    return super.grantLease(ttlSeconds);
  }

  override async commit(commit: Parameters<MemoryEngine['commit']>[0]): ReturnType<MemoryEngine['commit']> {
    const lease = commit.change.type === 'put' ? (commit.change.lease ?? 0) : 0;
    if (this.lost.has(lease)) throw new StorageError({ code: 'InvalidObject', message: `lease ${lease} not found` });
    return super.commit(commit);
  }
}

let clock: VirtualClock;
let engine: LeasedEngine;
let manager: LeaseManager;
let keys: number;

beforeEach(() => {
  clock = new VirtualClock();
  engine = new LeasedEngine({ clock });
  manager = new LeaseManager({ engine, clock, reuseSeconds: 60, maxObjects: 1_000 });
  keys = 0;
});
afterEach(() => engine.close());

/** Puts a new key and returns its lease. */
async function lease(ttlSeconds?: number): Promise<number | undefined> {
  keys += 1;
  const key = `/${keys}`;
  const put = { key, expectedRevision: 0 as Revision, value: new Uint8Array(1), ttlSeconds };
  const [turns, counters] = [new WriteTurns({ clock, hasQueues: false }), new StoreCounters(clock)];
  await new PutCommitter({ engine, leases: manager, turns, counters, clock }).commit('create', put);
  return (await engine.get(key)).kv?.lease;
}

describe('LeaseManager', () => {
  it.each([undefined, 0])('takes no lease for a lifetime of %s', async (ttlSeconds) => {
    expect([await lease(ttlSeconds), engine.granted]).toEqual([0, []]);
  });

  it('shares a lease until it is full: with room for two, three creates make counts 1, 2, 1', async () => {
    manager = new LeaseManager({ engine, clock, reuseSeconds: 60, maxObjects: 2 });
    expect([await lease(120), await lease(120), await lease(120)]).toEqual([1, 1, 2]);
  });

  it.each([
    // [lifetime, granted, shared for this many seconds]
    [19, 19, 0],
    [120, 126, 6],
    [1_000, 1_050, 50],
    [3_600, 3_660, 60],
  ])(
    'grants for a lifetime of %i s one of %i s, which the same lifetime shares for %i s',
    async (ttl, granted, shared) => {
      const first = await lease(ttl);
      expect(engine.granted).toEqual([granted]);
      if (shared > 0) {
        await clock.advance(shared * 1_000 - 1);
        expect(await lease(ttl)).toBe(first);
        await clock.advance(1);
      }
      expect(await lease(ttl)).not.toBe(first);
    },
  );

  it('does not share a lease that lives much too long, or too short', async () => {
    const first = await lease(1_000);
    expect(await lease(900)).not.toBe(first);
    expect(engine.granted).toEqual([1_050, 945]);
    expect(await lease(1_000)).toBe(3);
  });

  it('shares nothing when leases are reused for 0 s', async () => {
    manager = new LeaseManager({ engine, clock, reuseSeconds: 0, maxObjects: 1_000 });
    expect([await lease(1_000), await lease(1_000)]).toEqual([1, 2]);
    expect(engine.granted).toEqual([1_000, 1_000]);
  });

  it('grants one lease to several calls at once', async () => {
    const leases = await Promise.all(Array.from({ length: 10 }, () => lease(3_600)));
    expect(new Set(leases).size).toBe(1);
  });

  it('takes a new lease in place of a shared one that the engine has lost', async () => {
    const first = await lease(1_000);
    engine.lost.add(first ?? 0);
    expect(await lease(1_000)).toBe(2);
    expect(await lease(1_000)).toBe(2);
  });

  it('fails with what the engine says when it refuses a lease that is new, and grants another next time', async () => {
    engine.lost.add(1);
    await expect(lease(1_000)).rejects.toThrow('lease 1 not found');
    expect(await lease(1_000)).toBe(2);
  });

  it('goes on after a grant that failed', async () => {
    const grant = engine.grantLease;
    engine.grantLease = () => Promise.reject(new StorageError({ code: 'Unreachable' }));
    await expect(lease(1_000)).rejects.toThrow('server unreachable');
    engine.grantLease = grant;
    expect(await lease(1_000)).toBe(1);
  });
});

// Tests how much a compaction does at once, and what two concurrent compactions leave on disk.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock, Revision } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { checkStore } from './check.ts';
import { Committer } from './committer.ts';
import { Compactor } from './compactor.ts';
import { Environment } from './environment.ts';
import { TurnQueue } from './turn-queue.ts';

let dataDir: string;
let env: Environment;
let committer: Committer;

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-compactor-'));
  env = new Environment({ dataDir });
  await env.checkFormat(dataDir);
  const failIf = (error: unknown): never => {
    throw error;
  };
  committer = new Committer({
    env,
    dataDir,
    quotaBytes: 2 ** 30,
    hasLease: () => false,
    feed: { deliver: () => undefined },
    onFatal: failIf,
  });
});

afterEach(async () => {
  expect((await checkStore(env, new TurnQueue())).problems).toEqual([]);
  await env.close();
  rmSync(dataDir, { recursive: true });
});

/** Writes this many versions of one key. Resolves to the last revision. */
async function rewrite(versions: number, valueBytes: number): Promise<Revision> {
  const change = { type: 'put', value: new Uint8Array(valueBytes) } as const;
  // The first version is at revision 2.
  const commits = Array.from({ length: versions }, (_, index) =>
    committer.commit({ key: '/a', expectedRevision: (index === 0 ? 0 : index + 1) as Revision, change }),
  );
  await Promise.all(commits);
  return committer.revision;
}

/** A clock that advances 2 ms whenever it is read. */
class SlowClock extends VirtualClock {
  #lookedMs = 0;
  override monotonicNow(): number {
    this.#lookedMs += 2;
    return this.#lookedMs;
  }
}

describe('a batch of compaction', () => {
  it.each<[string, { versions: number; valueBytes: number; clock: Clock; batches: number }]>([
    ['4 MiB of values', { versions: 40, valueBytes: 1_000_000, clock: new VirtualClock(), batches: 8 }],
    ['500 rows', { versions: 1_200, valueBytes: 10, clock: new VirtualClock(), batches: 3 }],
    ['5 ms', { versions: 60, valueBytes: 10, clock: new SlowClock(), batches: 20 }],
  ])('ends after %s', async (_, { versions, valueBytes, clock, batches }) => {
    const revision = await rewrite(versions, valueBytes);
    const before = committer.transactions;
    await new Compactor(env, committer, clock).compact(revision);
    // One more transaction records that the rows are no longer read.
    expect(committer.transactions - before - 1).toBe(batches);
    expect(env.count(env.log)).toBe(1);
    expect(env.meta('compactedThrough')).toBe(revision);
  });

  it('leaves the higher revision on disk when two compactions share a transaction', async () => {
    const revision = await rewrite(10, 10);
    const compactor = new Compactor(env, committer, new VirtualClock());
    await Promise.all([compactor.compact(revision), compactor.compact((revision - 5) as Revision)]);
    expect([env.meta('compactRevision'), compactor.revision]).toEqual([revision, revision]);
  });
});

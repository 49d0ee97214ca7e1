// Cuts the network of three-member clusters in one place: between a watch and all members while history is compacted,
// and between a leader and its followers while clients reach both. Checked as in etcd-faults.test.ts.

import { toRevision } from '@kapstan/api';
import { isStorageError, type StorageError } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { randomOf } from '../write-history.ts';
import { problemsOf } from './commit-history.ts';
import { CommitLoad, type CommitLoadOptions } from './commit-load.ts';
import { etcdBinaries } from './etcd-binaries.ts';
import { type EtcdCluster, startEtcdCluster } from './etcd-cluster.ts';
import { PeerLinks } from './peer-links.ts';

const seed = Number(process.env.KAPSTAN_SEED ?? Math.floor(Math.random() * 1e9));

function loadOn(options: Pick<CommitLoadOptions, 'engines' | 'valueBytes'>): CommitLoad {
  const random = randomOf(seed);
  return new CommitLoad({ ...options, random, writers: 12, keys: 40, prefix: '/registry/history/' });
}

interface Lag {
  readonly cluster: EtcdCluster;
  /** Number of commits while nothing reaches the watch. */
  readonly commits: number;
  readonly valueBytes?: number;
  /** True = the connections are reset at the end. Default: held data are delivered. */
  readonly isReset?: boolean;
}

const toldDirectly = 'a watch past the proxies';
const lagging = 'a watch that hears nothing for a while';

/**
 * Holds back all bytes to a current watch while history is compacted far past it. Resolves to the watch's error, if it
 * ended.
 */
async function lag({ cluster, commits, valueBytes = 0, isReset = false }: Lag): Promise<Error | undefined> {
  const direct = await cluster.openDirect();
  const load = loadOn({ engines: [direct], valueBytes });
  load.watch(toldDirectly, { after: 0 });
  load.watch(lagging, { after: 0, engine: cluster.engine });
  load.start();
  await load.acknowledges(100);
  await load.delivered(lagging);
  for (const { proxy } of cluster.members) proxy.blackhole();
  await load.acknowledges(commits);
  const compactedTo = await direct.currentRevision();
  await direct.compact(compactedTo);
  await load.acknowledges(100);
  for (const { proxy } of cluster.members) {
    if (isReset) proxy.cut();
    proxy.resume();
  }
  const error = await load.delivered(lagging);
  const history = await load.stop({ log: toldDirectly });
  expect(problemsOf({ ...history, compactedTo }), `seed ${seed}`).toEqual([]);
  const [all, some] = history.watches.map(({ seen }) => seen.length) as [number, number];
  console.log(`seed ${seed}: ${some} of ${all} changes, then ${error?.message ?? 'no end'}`);
  // The watch was current, so it has everything from before the silence.
  expect(some).toBeGreaterThanOrEqual(100);
  if (error === undefined) expect(some).toBe(all);
  return error;
}

describe.each((await etcdBinaries()).map((binary) => [binary.title, binary] as const))(
  'the network of three members of %s',
  { timeout: 60_000 },
  (_, { path, missing }) => {
    if (path === undefined) {
      it('breaks no watch', ({ skip }) => skip(missing));
      return;
    }

    it('holds what a watch is told while history is compacted, and gives it back: the watch has no gap', async () => {
      await using cluster = await startEtcdCluster(path);
      const error = await lag({ cluster, commits: 100 });
      expect(error).toBeUndefined();
    });

    it('loses what a watch is told while history is compacted: the watch ends with Compacted', async () => {
      await using cluster = await startEtcdCluster(path);
      const error = await lag({ cluster, commits: 100, isReset: true });
      expect(isStorageError(error, 'Compacted')).toBe(true);
    });

    it('holds more than etcd keeps for a slow watch while history is compacted: the watch ends with Compacted', async () => {
      await using cluster = await startEtcdCluster(path);
      const error = await lag({ cluster, commits: 1_500, valueBytes: 2_000 });
      expect(isStorageError(error, 'Compacted')).toBe(true);
    });

    it('cuts a leader off from its followers alone: it commits and shows nothing, and watches move to another member', async () => {
      await using links = new PeerLinks();
      await using cluster = await startEtcdCluster(path, links);
      const leader = await cluster.leader();
      const followers = cluster.members.filter(({ index }) => index !== leader.index);
      // Both engines start on the leader.
      for (const { proxy } of followers) proxy.blackhole();
      const free = await cluster.open([leader, ...followers]);
      const bound = await cluster.open([leader]);
      const load = loadOn({ engines: [free, bound] });
      const [moving, staying] = ['a watch that begins on the leader', 'a watch that knows the leader alone'];
      load.watch(moving, { after: 0 });
      load.watch(staying, { after: 0, engine: bound });
      load.start();
      await load.acknowledges(100);
      await load.delivered(moving);
      for (const { proxy } of followers) proxy.resume();
      await load.acknowledges(200);
      links.isolate(leader);
      await load.acknowledges(300);
      expect(await load.delivered(moving)).toBeUndefined();
      const change = { type: 'put', value: Buffer.from('x') } as const;
      const commit = bound.commit({ key: '/registry/beside', expectedRevision: toRevision(0), change });
      const calls = await Promise.allSettled([commit, bound.get('/registry/beside')]);
      expect(calls.map(outcome)).toEqual(['Unreachable', 'Unreachable']);
      links.heal();
      expect(await load.delivered(staying)).toBeUndefined();
      await load.acknowledges(300);
      const history = await load.stop();
      expect(problemsOf(history), `seed ${seed}`).toEqual([]);
    });
  },
);

function outcome(result: PromiseSettledResult<unknown>): string {
  if (result.status === 'fulfilled') return 'answered';
  return isStorageError(result.reason) ? (result.reason as StorageError).code : String(result.reason);
}

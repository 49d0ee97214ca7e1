// Kills, freezes and cuts off members of three-member clusters under load. A history checker decides whether anything
// was lost, invented, repeated or missed. The seed is printed; KAPSTAN_SEED repeats the choice of keys, not a cluster's
// timing. etcd-partition.test.ts has the faults that need more than one engine.
import { describe, expect, it } from 'vitest';
import { randomOf } from '../write-history.ts';
import { type CommitHistory, problemsOf } from './commit-history.ts';
import { CommitLoad } from './commit-load.ts';
import { etcdBinaries } from './etcd-binaries.ts';
import { type EtcdCluster, type Member, startEtcdCluster } from './etcd-cluster.ts';

const seed = Number(process.env.KAPSTAN_SEED ?? Math.floor(Math.random() * 1e9));

interface Trial {
  readonly cluster: EtcdCluster;
  readonly load: CommitLoad;
}

/** Runs load before, during and after the fault, then checks the whole history. */
async function underLoad(binary: string, fault: (trial: Trial) => Promise<void>): Promise<CommitHistory> {
  await using cluster = await startEtcdCluster(binary);
  const engines = [cluster.engine] as const;
  const load = new CommitLoad({ engines, random: randomOf(seed), writers: 12, keys: 40, prefix: '/registry/history/' });
  load.watch('a watch from the beginning', { after: 0 });
  load.start();
  await load.acknowledges(300);
  load.watch('a watch from before the fault');
  await fault({ cluster, load });
  load.watch('a watch from after the fault');
  load.watch('a late watch from the beginning', { after: 0 });
  await load.acknowledges(300);
  const { acknowledged, refused, unknown } = load.counts;
  const history = await load.stop();
  console.log(
    `seed ${seed}: ${acknowledged} acknowledged, ${refused} refused, ${unknown} unknown, ${history.reads.length} reads`,
  );
  expect(problemsOf(history)).toEqual([]);
  for (const { name, error } of history.watches) expect(error, name).toBeUndefined();
  return history;
}

describe.each((await etcdBinaries()).map((binary) => [binary.title, binary] as const))(
  'a cluster of three members of %s',
  { timeout: 60_000 },
  (_, { path, missing }) => {
    if (path === undefined) {
      it('loses nothing', ({ skip }) => skip(missing));
      return;
    }
    it('loses nothing when its leader is killed, twice', async () => {
      await underLoad(path, async ({ cluster, load }) => {
        for (let round = 0; round < 2; round++) {
          const { etcd } = await cluster.leader();
          await etcd.kill();
          await load.acknowledges(200);
          etcd.start();
        }
      });
    });

    it('goes on when the member that the engine talks to hangs, and when it comes back', async () => {
      await underLoad(path, async ({ cluster, load }) => {
        const { etcd } = mostUsed(cluster);
        etcd.freeze();
        await load.acknowledges(200);
        etcd.thaw();
        await load.acknowledges(100);
      });
    });

    it('reports commits without an answer as unknown while most members hang, and loses no watch', async () => {
      const history = await underLoad(path, async ({ cluster, load }) => {
        const [, second, third] = cluster.members as readonly [Member, Member, Member];
        second.etcd.freeze();
        third.etcd.freeze();
        const before = load.counts;
        await load.answers(40);
        // Some commits may have succeeded before the members noticed each other's silence.
        expect(load.counts.unknown).toBeGreaterThan(before.unknown);
        second.etcd.thaw();
        third.etcd.thaw();
      });
      expect(history.commits.some(({ outcome }) => outcome.type === 'unknown')).toBe(true);
    });

    it('is reached through another member when the network swallows what goes to one', async () => {
      await underLoad(path, async ({ cluster, load }) => {
        const { proxy } = mostUsed(cluster);
        proxy.blackhole();
        await load.acknowledges(300);
        proxy.resume();
        await load.acknowledges(100);
      });
    });

    it('is reached again when every connection is reset, many times', async () => {
      await underLoad(path, async ({ cluster, load }) => {
        for (let round = 0; round < 8; round++) {
          for (const { proxy } of cluster.members) proxy.cut();
          await load.acknowledges(50);
        }
      });
    });
  },
);

/** Returns the member to which the engine sends its calls; it has a connection to every member. */
function mostUsed({ members }: EtcdCluster): Member {
  return [...members].sort((a, b) => b.activity() - a.activity())[0] as Member;
}

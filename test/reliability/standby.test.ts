// Two managers of one controller: the standby's memory use, and its work once it leads.
import { silentLogger } from '@kapstan/api';
import { controller, Manager } from '@kapstan/controller';
import { ConfigMap } from '@kapstan/kinds/core/v1';
import { type TestCluster, testCluster } from '@kapstan/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';

describe('a manager that does not lead', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await testCluster({ http: 'off' });
  });
  afterEach(async () => {
    await cluster.close();
  });

  function start(identity: string) {
    const stop = new AbortController();
    const seen: string[] = [];
    const one = controller(ConfigMap)
      .when(({ object }) => object?.metadata?.namespace === 'default')
      .reconcile(async ({ metadata }) => void seen.push(`${metadata?.name} ${metadata?.labels?.v ?? ''}`));
    const manager = new Manager([one], {
      client: cluster.client,
      clock: cluster.clock,
      random: () => 0,
      logger: silentLogger,
      leaderElection: { name: 'one', identity },
    });
    return { stop, seen, manager, running: manager.run(stop.signal) };
  }

  const sample = async (manager: Manager, name: string): Promise<number> => {
    const metric = await manager.metrics.getSingleMetric(name)?.get();
    return metric?.values.reduce((sum, { value }) => sum + value, 0) ?? Number.NaN;
  };

  it('queues nothing, and works on all that is there when it leads', async () => {
    const map = (name: string, v: string) => ({ metadata: { namespace: 'default', name, labels: { v } } });
    const leader = start('leader');
    await cluster.settle();
    const standby = start('standby');
    await cluster.settle();
    for (let i = 0; i < 100; i++) await cluster.client.create(ConfigMap, map(`m${i}`, '1'));
    await cluster.advance(60_000);
    await cluster.client.patch(
      ConfigMap,
      { namespace: 'default', name: 'm0' },
      { type: 'merge', body: map('m0', '2') },
    );
    await cluster.client.delete(ConfigMap, { namespace: 'default', name: 'm1' });
    await cluster.settle();
    expect([leader.manager.isLeader, standby.manager.isLeader]).toEqual([true, false]);
    expect(await sample(standby.manager, 'workqueue_adds_total')).toBe(0);
    expect(await sample(standby.manager, 'workqueue_depth')).toBe(0);
    leader.stop.abort();
    await leader.running;
    await cluster.advance(20_000);
    expect(standby.manager.isLeader).toBe(true);
    expect([standby.seen.length, standby.seen.includes('m0 2')]).toEqual([99, true]);
    await cluster.client.create(ConfigMap, map('later', '1'));
    await cluster.settle();
    expect(standby.seen.at(-1)).toBe('later 1');
    standby.stop.abort();
    await standby.running;
  });
});

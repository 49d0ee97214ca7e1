// Tests informers of one client while their server is away for a minute and comes back, over real sockets and in virtual time.

import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap, Pod, Secret } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type TestCluster, testCluster } from './index.ts';

describe('informers over HTTP after their server was gone', () => {
  let cluster: TestCluster;
  beforeEach(async () => {
    cluster = await testCluster();
  });
  afterEach(async () => {
    await cluster.close();
  });

  it.each([0, 0.99])('are live within 10 s after a minute, all of them, with chance at %d', async (random) => {
    const client = await cluster.connect();
    const quiet = { onWatchError: () => undefined, clock: cluster.clock, random: () => random };
    const factory = new SharedInformerFactory(client, quiet);
    const informers = [factory.informer(Pod), factory.informer(ConfigMap), factory.metadataInformer(Secret)];
    factory.start();
    await factory.waitForCacheSync();
    const refusing = await cluster.fault({ kind: 'refuse' });
    await cluster.fault({ kind: 'reset' });
    await cluster.advance(60_000);
    expect(informers.map(({ status }) => status.phase)).toEqual(['retrying', 'retrying', 'retrying']);
    await refusing.heal();
    await cluster.advance(10_000);
    expect(informers.map(({ status }) => status.phase)).toEqual(['live', 'live', 'live']);
    await factory.close();
  });
});

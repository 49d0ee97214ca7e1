// The shared list/watch suite on the whole stack: the HTTP client on a real server, the in-process client on the watch
// cache.
import type { ResourceClient } from '@kapstan/api';
import { LeakCheck, type ListWatchFixture, listWatchConformance, testConfigMaps } from '@kapstan/api/testing';
import { testCluster } from '@kapstan/testing';

const fixture =
  (transport: 'over HTTP' | 'in process', watchCache: 'cached' | 'uncached') => async (): Promise<ListWatchFixture> => {
    const leaks = new LeakCheck();
    const isEnabled = watchCache === 'cached';
    const cluster = await testCluster({
      clock: 'real',
      http: transport === 'over HTTP' ? 'on' : 'off',
      controlPlane: { watchCache: { isEnabled, defaultSize: 100, sizes: new Map() } },
    });
    const client: ResourceClient = transport === 'over HTTP' ? await cluster.connect() : cluster.client;
    return {
      listerWatcher: client.listerWatcher(testConfigMaps, { namespace: 'default' }),
      create: async (object) => void (await client.create(testConfigMaps, inDefault(object))),
      update: async (object) => void (await client.update(testConfigMaps, inDefault(object))),
      delete: async (name) => void (await client.delete(testConfigMaps, { name, namespace: 'default' })),
      compact: async () => {
        await cluster.fault({ kind: '410' });
        // The cache refills itself and refuses lists until then.
        for (let isReady = false; !isReady; ) {
          await cluster.settle();
          isReady = await cluster.client.listPage(testConfigMaps, { resourceVersion: '0' }).then(
            () => true,
            () => false,
          );
        }
      },
      close: async () => {
        await cluster.close();
        await leaks.assertNone();
      },
    };
  };

function inDefault<T extends { metadata?: object }>(object: T): T {
  return { ...object, metadata: { ...object.metadata, namespace: 'default' } };
}

for (const transport of ['over HTTP', 'in process'] as const) {
  for (const watchCache of ['cached', 'uncached'] as const) {
    await listWatchConformance(`a test cluster ${transport}, ${watchCache}`, fixture(transport, watchCache));
  }
}

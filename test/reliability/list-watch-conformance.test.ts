// The shared list/watch suite on the whole stack: the HTTP client on a real server, the in-process client on the watch
// cache.
import type { ResourceClient } from '@kapstan/api';
import { LeakCheck, type ListWatchFixture, listWatchConformance, testConfigMaps } from '@kapstan/api/testing';
import { testCluster } from '@kapstan/testing';

const wires = {
  'over HTTP/1.1': {},
  'over HTTP/1.1 with gzip': { compression: true },
  'over HTTP/2': { http2: true },
  'over HTTP/2 with gzip': { http2: true, compression: true },
};
type Transport = keyof typeof wires | 'in process';

const fixture = (transport: Transport, watchCache: 'cached' | 'uncached') => async (): Promise<ListWatchFixture> => {
  const leaks = new LeakCheck();
  const isEnabled = watchCache === 'cached';
  const cluster = await testCluster({
    clock: 'real',
    http: transport === 'in process' ? 'off' : 'on',
    controlPlane: { watchCache: { isEnabled, defaultSize: 100, sizes: new Map() } },
  });
  const client: ResourceClient = transport === 'in process' ? cluster.client : await cluster.connect(wires[transport]);
  return {
    listerWatcher: client.listerWatcher(testConfigMaps, { namespace: 'default' }),
    create: async (object) => void (await client.create(testConfigMaps, inDefault(object))),
    update: async (object) => void (await client.update(testConfigMaps, inDefault(object))),
    delete: async (name) => void (await client.delete(testConfigMaps, { name, namespace: 'default' })),
    compact: async () => {
      await cluster.fault({ kind: '410' });
      // The cache refills itself and refuses lists meanwhile.
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

for (const transport of [...(Object.keys(wires) as (keyof typeof wires)[]), 'in process'] as const) {
  for (const watchCache of ['cached', 'uncached'] as const) {
    await listWatchConformance(`a test cluster ${transport}, ${watchCache}`, fixture(transport, watchCache));
  }
}

// Two controllers on one factory. They request the same kind and get the same informer, so there is one list, one watch and
// one cache, with the indexes of both. The second controller reads the cache that the first one's events fill.
import { metaNamespaceKey } from '@kapstan/api';
import { connect } from '@kapstan/client';
import { ReconcileLoop } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';

const stop = new AbortController();
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, () => stop.abort());

await using client = await connect();
await using factory = new SharedInformerFactory(client, { tweakListOptions: () => ({ labelSelector: 'team' }) });

/** Prints each ConfigMap. */
function printer(): ReconcileLoop {
  const maps = factory.informer(ConfigMap);
  const queue = new RateLimitingQueue<string>({ name: 'printer' });
  maps.addEventHandler({ onAdd: (map) => queue.add(metaNamespaceKey(map)) });
  return new ReconcileLoop({
    queue,
    reconcile: async ({ key }) => {
      console.log(`printer: ${key}`);
      return undefined; // done until the next change
    },
  });
}

/** Counts ConfigMaps by team with its own index. */
function counter(): ReconcileLoop {
  const maps = factory.informer(ConfigMap, { indexers: { team: (map) => [map.metadata?.labels?.team] } });
  const queue = new RateLimitingQueue<string>({ name: 'counter' });
  maps.addEventHandler({ onAdd: (map) => queue.add(map.metadata?.labels?.team ?? '') });
  return new ReconcileLoop({
    queue,
    reconcile: async ({ key: team }) => {
      console.log(`counter: team ${team} has ${maps.indexer.byIndex('team', team).length}`);
      return undefined;
    },
  });
}

const loops = [printer(), counter()];
console.log(`one informer, indexed by ${Object.keys(factory.informer(ConfigMap).indexer.getIndexers()).join(' and ')}`);
factory.start();
await factory.waitForCacheSync({ signal: stop.signal });
await Promise.all(loops.map((loop) => loop.run(stop.signal)));

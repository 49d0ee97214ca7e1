// A whole controller: every ConfigMap with a `text` gets it back in capitals, as `shouted`.
import { metaNamespaceKey, type ResourceClient } from '@kapstan/api';
import { ReconcileLoop } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import { SharedInformerFactory } from '@kapstan/informers';
import { ConfigMap } from '@kapstan/kinds/core/v1';

/** Works until the signal aborts. */
export async function shout(client: ResourceClient, signal: AbortSignal): Promise<void> {
  await using factory = new SharedInformerFactory(client);
  const configMaps = factory.informer(ConfigMap);
  const queue = new RateLimitingQueue<string>();
  configMaps.addEventHandler({
    onAdd: (map) => queue.add(metaNamespaceKey(map)),
    onUpdate: (_old, map) => queue.add(metaNamespaceKey(map)),
  });
  factory.start();
  await factory.waitForCacheSync({ signal });
  const loop = new ReconcileLoop({
    queue,
    reconcile: async ({ namespace, name }) => {
      const map = configMaps.lister.namespace(namespace).find(name); // from the cache: shared, read-only
      const shouted = map?.data?.text?.toUpperCase();
      if (shouted === undefined || shouted === map?.data?.shouted) return undefined;
      await client.patch(ConfigMap, { namespace, name }, { type: 'merge', body: { data: { shouted } } });
      return undefined; // a rejection would put the key back, later and later
    },
  });
  await loop.run(signal);
}

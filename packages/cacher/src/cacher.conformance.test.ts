import { VirtualClock } from '@kapstan/api/testing';
import { MemoryEngine, ObjectStore } from '@kapstan/storage';
import { podAttributes, podStoreOptions, storageConformance } from '@kapstan/storage/testing';
import { Cacher } from './cacher.ts';

storageConformance('Cacher over ObjectStore on MemoryEngine', async () => {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  const store = new ObjectStore(podStoreOptions(engine));
  const storage = new Cacher({
    storage: store,
    resourcePrefix: '/pods',
    getAttributes: podAttributes,
    indexedFields: ['spec.nodeName'],
    freeze: true,
    clock,
  });
  storage.start();
  await storage.waitUntilReady();
  return {
    storage,
    engine,
    clock,
    isCached: true,
    dispose: async () => {
      await storage.close();
      await store.close();
      await engine.close();
    },
  };
});

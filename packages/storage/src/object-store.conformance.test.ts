import { VirtualClock } from '@kapstan/api/testing';
import { MemoryEngine } from './memory-engine.ts';
import { ObjectStore } from './object-store.ts';
import { storageConformance } from './testing/storage-conformance.ts';
import { podStoreOptions } from './testing/storage-fixture.ts';

storageConformance('ObjectStore on MemoryEngine', async () => {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  const storage = new ObjectStore(podStoreOptions(engine));
  return {
    storage,
    engine,
    clock,
    isCached: false,
    dispose: async () => {
      await storage.close();
      await engine.close();
    },
  };
});

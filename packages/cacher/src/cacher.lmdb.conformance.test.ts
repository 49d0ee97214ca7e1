import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { ObjectStore } from '@kapstan/storage';
import { podAttributes, podStoreOptions, storageConformance } from '@kapstan/storage/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { Cacher } from './cacher.ts';

storageConformance('Cacher over ObjectStore on LMDB', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-cacher-'));
  const clock = new VirtualClock();
  const engine = await openLmdbEngine({ dataDir, clock });
  const store = new ObjectStore(podStoreOptions(engine));
  const options = { resourcePrefix: '/pods', getAttributes: podAttributes, indexedFields: ['spec.nodeName'] };
  const storage = new Cacher({ storage: store, ...options, freeze: true, clock });
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
      rmSync(dataDir, { recursive: true });
    },
  };
});

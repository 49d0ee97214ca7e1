import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { VirtualClock } from '@kapstan/api/testing';
import { ObjectStore } from '@kapstan/storage';
import { podStoreOptions, storageConformance } from '@kapstan/storage/testing';
import { openLmdbEngine } from './index.ts';

storageConformance('ObjectStore on LMDB', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kapstan-store-'));
  const clock = new VirtualClock();
  const engine = await openLmdbEngine({ dataDir, clock });
  const storage = new ObjectStore(podStoreOptions(engine));
  return {
    storage,
    engine,
    clock,
    isCached: false,
    dispose: async () => {
      await storage.close();
      await engine.close();
      rmSync(dataDir, { recursive: true });
    },
  };
});

import { VirtualClock } from '@kapstan/api/testing';
import { ObjectStore } from '@kapstan/storage';
import { podStoreOptions, storageConformance } from '@kapstan/storage/testing';
import { afterAll, it, vi } from 'vitest';
import { openEtcdEngine } from './index.ts';
import { findEtcd, howToInstall } from './testing/etcd-process.ts';
import { EtcdSpare } from './testing/etcd-spare.ts';

// The suite makes thousands of calls to another process, on a machine of any speed.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const binary = findEtcd();
if (binary === undefined) {
  it('passes the suite', ({ skip }) => skip(`no etcd: ${howToInstall}`));
} else {
  const spare = new EtcdSpare({ binary });
  afterAll(() => spare.close());

  storageConformance('ObjectStore on etcd', async () => {
    const etcd = await spare.take();
    const clock = new VirtualClock();
    const engine = await openEtcdEngine({ endpoints: [etcd[0].endpoint], compactionIntervalMs: 0, clock });
    const storage = new ObjectStore(podStoreOptions(engine));
    return {
      storage,
      engine,
      clock,
      isCached: false,
      dispose: async () => {
        await storage.close();
        await spare.giveBack(etcd, engine);
      },
    };
  });
}

import { systemClock } from '@kapstan/api';
import { type EngineFixture, engineConformance, enginePrograms } from '@kapstan/storage/testing';
import { afterAll, it, vi } from 'vitest';
import { type EtcdEngine, openEtcdEngine } from './index.ts';
import { type EtcdMembers, findEtcd, howToInstall } from './testing/etcd-process.ts';
import { EtcdSpare } from './testing/etcd-spare.ts';

// Thousands of calls to another process, on whatever machine this is.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const binary = findEtcd();
if (binary === undefined) {
  it('passes the suite', ({ skip }) => skip(`no etcd: ${howToInstall}`));
} else {
  const spare = new EtcdSpare({ binary });
  afterAll(() => spare.close());

  const openOn = async (etcd: EtcdMembers): Promise<EngineFixture> => {
    const open = (): Promise<EtcdEngine> => openEtcdEngine({ endpoints: [etcd[0].endpoint], compactionIntervalMs: 0 });
    let engine = await open();
    return {
      get engine(): EtcdEngine {
        return engine;
      },
      // etcd's leases run in real time.
      elapse: (ms) => new Promise((resolve) => systemClock.setTimer(resolve, ms)),
      reopen: async () => {
        await engine.close();
        engine = await open();
      },
      dispose: () => spare.giveBack(etcd, engine),
    };
  };

  // Programs let 200 seconds pass; and etcd does not tell a compaction to revision 1 from none.
  const openForPrograms = async (): Promise<EngineFixture> => {
    const fixture = await openOn(await spare.takeNew());
    return { engine: fixture.engine, dispose: () => fixture.dispose() };
  };

  engineConformance('EtcdEngine', async () => openOn(await spare.take()));
  enginePrograms('EtcdEngine', openForPrograms, { programs: 15, timeoutMs: 30_000 });
}

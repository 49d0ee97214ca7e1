import { engineConformance, enginePrograms } from '@kapstan/storage/testing';
import { afterAll, describe, it, vi } from 'vitest';
import { EtcdForPrograms, openEtcdFixture } from './testing/etcd-fixture.ts';
import { findEtcd, howToInstall } from './testing/etcd-process.ts';
import { EtcdSpare } from './testing/etcd-spare.ts';

// The suite makes thousands of calls to another process, on a machine of any speed.
vi.setConfig({ testTimeout: 30_000, hookTimeout: 30_000 });

const binary = findEtcd();
if (binary === undefined) {
  it('passes the suite', ({ skip }) => skip(`no etcd: ${howToInstall}`));
} else {
  const spare = new EtcdSpare({ binary });
  const quick = new EtcdForPrograms(spare, 'quick');
  const real = new EtcdForPrograms(spare, 'real');
  afterAll(async () => {
    for (const each of [quick, real, spare]) await each.close();
  });

  engineConformance('EtcdEngine', () => openEtcdFixture(spare));
  // Run concurrently, because they mostly wait for etcd.
  describe.concurrent('EtcdEngine', () => {
    enginePrograms(quick.conditions, () => quick.open(), { programs: 40, timeoutMs: 120_000 });
    enginePrograms(real.conditions, () => real.open(), { programs: 4, timeoutMs: 120_000 });
  });
}

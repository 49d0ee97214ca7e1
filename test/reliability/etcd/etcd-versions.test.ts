// The engine suite and random programs on the 3.6 line of etcd, built from its Go module, on one member and on three.
// The tests next to the engine use the machine's etcd, Debian's 3.4.
import { engineConformance, enginePrograms } from '@kapstan/storage/testing';
import { EtcdForPrograms, EtcdSpare, openEtcdFixture } from '@kapstan/storage-etcd/testing';
import { afterAll, describe, it, vi } from 'vitest';
import { etcd36 } from './etcd-binaries.ts';

// The suite makes thousands of calls to other processes, on a machine of any speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const { path: binary, missing } = await etcd36();

if (binary === undefined) {
  it('holds on etcd 3.6, also on three members of it', ({ skip }) => skip(missing));
} else {
  describe.each([
    ['etcd 3.6', { members: 1, programs: 40 }],
    ['three members of etcd 3.6', { members: 3, programs: 35 }],
  ])('%s', (title, { members, programs }) => {
    const spare = new EtcdSpare({ binary, members });
    const quick = new EtcdForPrograms(spare, 'quick');
    const real = new EtcdForPrograms(spare, 'real');
    afterAll(async () => {
      for (const each of [quick, real, spare]) await each.close();
    });

    engineConformance(`EtcdEngine on ${title}`, () => openEtcdFixture(spare));
    // Run concurrently, because they mostly wait for etcd.
    describe.concurrent('random programs', () => {
      enginePrograms(quick.conditions, () => quick.open(), { programs, timeoutMs: 120_000 });
      enginePrograms(real.conditions, () => real.open(), { programs: 4, timeoutMs: 120_000 });
    });
  });
}

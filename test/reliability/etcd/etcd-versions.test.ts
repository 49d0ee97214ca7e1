// The engine suite on the 3.6 line of etcd, built from its Go module, and on a cluster of three members of it. The etcd of the
// machine, Debian's 3.4, is what the tests beside the engine use.
import { systemClock } from '@kapstan/api';
import { type EngineFixture, engineConformance } from '@kapstan/storage/testing';
import { type EtcdEngine, openEtcdEngine } from '@kapstan/storage-etcd';
import { type EtcdProcessOptions, EtcdSpare } from '@kapstan/storage-etcd/testing';
import { afterAll, it, vi } from 'vitest';
import { buildGoProgram } from '../../e2e/peers/go-programs.ts';

// Thousands of calls to other processes, on whatever machine this is.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const built = await buildGoProgram(new URL('etcd-server/', import.meta.url), 'etcd-3.6');

function spareOf(options: EtcdProcessOptions): EtcdSpare {
  const spare = new EtcdSpare(options);
  afterAll(() => spare.close());
  return spare;
}

async function openEngine(spare: EtcdSpare): Promise<EngineFixture> {
  const members = await spare.take();
  const endpoints = members.map(({ endpoint }) => endpoint);
  const open = (): Promise<EtcdEngine> => openEtcdEngine({ endpoints, compactionIntervalMs: 0 });
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
    dispose: () => spare.giveBack(members, engine),
  };
}

if (typeof built === 'string') {
  it('holds on etcd 3.6, also on three members of it', ({ skip }) => skip(built));
} else {
  const single = spareOf({ binary: built.path });
  const cluster = spareOf({ binary: built.path, members: 3 });
  engineConformance('EtcdEngine on etcd 3.6', () => openEngine(single));
  engineConformance('EtcdEngine on three members', () => openEngine(cluster));
}

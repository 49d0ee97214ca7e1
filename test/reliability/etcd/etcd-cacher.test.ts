// The storage suite on a cacher over both kinds of etcd: the 3.6 line, which reports a watch's progress on request, and
// the machine's etcd, Debian's 3.4.23, which cannot.
import { execFileSync } from 'node:child_process';
import { type TestPod, VirtualClock } from '@kapstan/api/testing';
import { Cacher } from '@kapstan/cacher';
import { ObjectStore, type Storage } from '@kapstan/storage';
import {
  keyOf,
  podAttributes,
  podOf,
  podStoreOptions,
  predicate,
  root,
  type StorageFixture,
  storageConformance,
} from '@kapstan/storage/testing';
import { openEtcdEngine } from '@kapstan/storage-etcd';
import { EtcdSpare, findEtcd, howToInstall } from '@kapstan/storage-etcd/testing';
import { afterAll, it, vi } from 'vitest';
import { buildGoProgram } from '../../e2e/peers/go-programs.ts';

// The suite makes thousands of calls to other processes, on a machine of any speed.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const built = await buildGoProgram(new URL('etcd-server/', import.meta.url), 'etcd-3.6');
const found = findEtcd();

async function openCacher(spare: EtcdSpare, supportsProgressRequests: boolean): Promise<StorageFixture> {
  const members = await spare.take();
  const clock = new VirtualClock();
  // The engine uses real time: etcd answers in real time, so the engine's repeated requests need it too.
  const engine = await openEtcdEngine({ endpoints: [members[0].endpoint], compactionIntervalMs: 0 });
  const store = new ObjectStore(podStoreOptions(engine));
  const options = { resourcePrefix: '/pods', getAttributes: podAttributes, indexedFields: ['spec.nodeName'] };
  const storage = new Cacher({ storage: store, ...options, freeze: true, clock });
  storage.start();
  await storage.waitUntilReady();
  await hearsChanges(storage);
  return {
    storage,
    engine,
    clock,
    isCached: true,
    supportsProgressRequests,
    dispose: async () => {
      await storage.close();
      await store.close();
      await spare.giveBack(members, engine);
    },
  };
}

/**
 * Resolves when etcd has created the cacher's watch. A test that compacts earlier would end it, and the relist would
 * wait for a clock that stands still.
 */
async function hearsChanges(storage: Storage<TestPod>): Promise<void> {
  const key = keyOf('probe');
  await storage.create(key, podOf('probe'));
  const { revision } = await storage.delete(key);
  await storage.getList(root, {
    predicate: predicate(),
    recursive: true,
    resourceVersion: String(revision),
    resourceVersionMatch: 'NotOlderThan',
  });
}

function spareOf(binary: string): EtcdSpare {
  const spare = new EtcdSpare({ binary });
  afterAll(() => spare.close());
  return spare;
}

/** Returns the reason why the machine's etcd is not the old version needed here; undefined when it is. */
function whyNotOld(): string | undefined {
  if (found === undefined) return `no etcd found; ${howToInstall}`;
  const [, version = 'unknown'] = /^etcd Version: (\S+)/.exec(execFileSync(found, ['--version']).toString()) ?? [];
  if (/^3\.4\.([0-9]|[12][0-9]|30)$/.test(version)) return undefined;
  return `the etcd found is ${version}, not one of 3.4.0 to 3.4.30, as Debian's; set KAPSTAN_ETCD to such a binary`;
}

if (typeof built === 'string') {
  console.warn(`SKIPPED: the cacher on etcd 3.6 is not tested: ${built}`);
  it('holds on etcd 3.6', ({ skip }) => skip(built));
} else {
  const spare = spareOf(built.path);
  storageConformance('Cacher over ObjectStore on etcd 3.6', () => openCacher(spare, true));
}

const missing = whyNotOld();
if (missing !== undefined || found === undefined) {
  console.warn(`SKIPPED: the cacher without progress requests is not tested: ${missing}`);
  it('holds on etcd 3.4 before 3.4.31', ({ skip }) => skip(missing));
} else {
  const spare = spareOf(found);
  storageConformance('Cacher over ObjectStore on etcd 3.4, without progress requests', () => openCacher(spare, false));
}

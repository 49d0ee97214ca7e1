// A Cacher over an ObjectStore over a MemoryEngine, for the tests of this package: the storage suites' bench with the parts
// below it in reach.
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { ObjectStore, StorageError } from '@kapstan/storage';
import { MemoryEngine, podAttributes, podStoreOptions, StorageBench } from '@kapstan/storage/testing';
import { Cacher, type CacherOptions } from '../cacher.ts';

interface CacherParts {
  readonly clock: VirtualClock;
  readonly engine: MemoryEngine;
  readonly store: ObjectStore<TestPod>;
  readonly cacher: Cacher<TestPod>;
  /** Starts the cacher and resolves when it is ready. */
  start(): Promise<void>;
  /** From now on the engine refuses watches, so that the cache hears of nothing any more. Those that run are broken. */
  loseProgress(): void;
  /** Makes the cache list anew; resolves when it has. */
  relist(): Promise<void>;
}

interface CacherBench {
  readonly bench: StorageBench;
  /** Those of the running test. */
  readonly parts: () => CacherParts;
}

/** To be called where tests are defined: opens everything before each test and closes it afterwards. */
export function openCacherBench(options: Partial<CacherOptions<TestPod>> = {}): CacherBench {
  let parts: CacherParts | undefined;
  const bench = new StorageBench(async () => {
    const opened = open(options);
    parts = opened;
    const { cacher, store, engine, clock } = opened;
    const dispose = async (): Promise<void> => {
      await cacher.close();
      await store.close();
      await engine.close();
    };
    return { storage: cacher, engine, clock, isCached: true, dispose };
  });
  return {
    bench,
    parts: () => {
      if (parts === undefined) throw new Error('no test is running');
      return parts;
    },
  };
}

function open(options: Partial<CacherOptions<TestPod>>): CacherParts {
  const clock = new VirtualClock();
  const engine = new MemoryEngine({ clock });
  const store = new ObjectStore(podStoreOptions(engine));
  const cacher = new Cacher<TestPod>({
    storage: store,
    resourcePrefix: '/pods',
    getAttributes: podAttributes,
    indexedFields: ['spec.nodeName'],
    freeze: true,
    clock,
    random: () => 0,
    ...options,
  });
  return {
    clock,
    engine,
    store,
    cacher,
    start: async () => {
      cacher.start();
      await cacher.waitUntilReady();
    },
    loseProgress: () => {
      engine.breakWatches(new StorageError({ code: 'Unreachable' }));
      engine.watch = (_range, _options, sink) => {
        queueMicrotask(() => sink.onError(new StorageError({ code: 'Unreachable' })));
        return { close: () => undefined };
      };
    },
    relist: async () => {
      engine.breakWatches(new StorageError({ code: 'Compacted', revision: 1 }));
      await settle();
      // Later and later when lists failed before.
      for (let attempt = 0; attempt < 100 && cacher.readiness() !== undefined; attempt++) await clock.advance(200);
      await cacher.waitUntilReady();
    },
  };
}

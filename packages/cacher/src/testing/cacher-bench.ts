// A Cacher over an ObjectStore over a MemoryEngine, for this package's tests: the storage suites' bench, with access to
// the parts below it.
import { settle, type TestPod, VirtualClock } from '@kapstan/api/testing';
import { MemoryEngine, ObjectStore, StorageError } from '@kapstan/storage';
import { podAttributes, podStoreOptions, StorageBench } from '@kapstan/storage/testing';
import { Cacher, type CacherOptions } from '../cacher.ts';

interface CacherParts {
  readonly clock: VirtualClock;
  readonly engine: MemoryEngine;
  readonly store: ObjectStore<TestPod>;
  readonly cacher: Cacher<TestPod>;
  /** Starts the cacher and resolves when it is ready. */
  start(): Promise<void>;
  /** Breaks the engine's watches and refuses new ones, so that the cache gets no more events or progress. */
  loseProgress(): void;
  /** Makes the cache list again; resolves when it has. */
  relist(): Promise<void>;
}

interface CacherBench {
  readonly bench: StorageBench;
  /** Returns the parts of the running test. */
  readonly parts: () => CacherParts;
}

/** Registers hooks that open everything before each test and close it afterwards. Call it where tests are defined. */
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
      // Pauses grow with each failed list.
      for (let attempt = 0; attempt < 100 && cacher.readiness() !== undefined; attempt++) await clock.advance(200);
      await cacher.waitUntilReady();
    },
  };
}

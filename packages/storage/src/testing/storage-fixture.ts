// StorageFixture contains the functions besides the port that the storage suites need; StorageBench has the short calls
// of their tests. Fixtures are implemented next to each Storage; the storage-conformance files use them.
import { parseFieldSelector, parseLabelSelector, type Revision } from '@kapstan/api';
import { pod, type TestPod, type VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, expect } from 'vitest';
import { jsonCodec } from '../codec.ts';
import type { Engine } from '../engine.ts';
import type { ObjectStoreOptions } from '../object-store.ts';
import type { GetAttributes, SelectionPredicate } from '../selection-predicate.ts';
import type { Storage, StorageListOptions, StorageWatchOptions, StoredList } from '../storage.ts';
import type { Stored } from '../stored.ts';
import type { Transformer } from '../transform/transformer.ts';
import { StorageRecorder } from './storage-recorder.ts';

/** One storage of pods under test that is not shared. */
export interface StorageFixture {
  /** An ObjectStore with {@link podStoreOptions}, or a storage built on one. */
  readonly storage: Storage<TestPod>;
  readonly engine: Engine;
  /** The clock of engine and storage. */
  readonly clock: VirtualClock;
  /** True: reads at "0" may be old and ignore the limit, and watches come from a history of limited length. */
  readonly isCached: boolean;
  /**
   * False = the engine cannot be asked for progress, like etcd before 3.4.31. A cache then passes consistent reads to
   * the storage, may lag behind them, and refuses streamed lists. Default true. Only tests of caches use it.
   */
  readonly supportsProgressRequests?: boolean;
  /** Closes everything and removes its data. */
  dispose(): Promise<void>;
}

export type OpenStorage = () => Promise<StorageFixture>;

export const root = '/registry/pods';

/** Returns the labels and the fields of pods by which the suites select. */
export const podAttributes: GetAttributes<TestPod> = ({ metadata, spec }) => ({
  labels: metadata?.labels ?? {},
  fields: {
    'metadata.name': metadata?.name ?? '',
    'metadata.namespace': metadata?.namespace ?? '',
    'spec.nodeName': spec?.nodeName ?? '',
  },
});

const current = new TextEncoder().encode('enc:1:');
const old = new TextEncoder().encode('enc:0:');
const isPrefix = (prefix: Uint8Array, bytes: Uint8Array): boolean => prefix.every((byte, i) => bytes[i] === byte);

/** Writes the prefix "enc:1:". Reads that prefix, and "enc:0:" as out of date; anything else is corrupt. */
const markingTransformer: Transformer = {
  fromStorage: (bytes) => {
    if (isPrefix(current, bytes)) return { bytes: bytes.subarray(current.length), isStale: false };
    if (isPrefix(old, bytes)) return { bytes: bytes.subarray(old.length), isStale: true };
    throw new TypeError('no known prefix');
  },
  toStorage: (bytes) => Buffer.concat([current, bytes]),
};

/** Returns the options of the ObjectStore under each storage that is tested. */
export function podStoreOptions(engine: Engine): ObjectStoreOptions<TestPod> {
  return {
    engine,
    codec: jsonCodec<TestPod>(),
    resourcePrefix: '/pods',
    groupResource: { group: '', resource: 'pods' },
    transformer: markingTransformer,
    freeze: true,
    namesUnreadable: true,
  };
}

export interface Selection {
  readonly labels?: string;
  readonly fields?: string;
  readonly limit?: number;
  readonly continue?: string;
  readonly bookmarks?: boolean;
}

export function predicate(selection: Selection = {}): SelectionPredicate<TestPod> {
  return {
    labels: parseLabelSelector(selection.labels ?? ''),
    fields: parseFieldSelector(selection.fields ?? ''),
    getAttributes: podAttributes,
    limit: selection.limit ?? 0,
    continue: selection.continue ?? '',
    allowWatchBookmarks: selection.bookmarks ?? false,
  };
}

export type ListCall = Selection &
  Partial<Pick<StorageListOptions<TestPod>, 'resourceVersion' | 'resourceVersionMatch' | 'recursive' | 'signal'>>;

export type WatchCall = Selection &
  Partial<Pick<StorageWatchOptions<TestPod>, 'resourceVersion' | 'sendInitialEvents' | 'recursive' | 'deadlineMs'>>;

export interface PodSpec {
  readonly labels?: Record<string, string>;
  readonly node?: string;
}

/** The fixture of the running test: opened before it, verified and disposed after it. */
export class StorageBench {
  #fixture: StorageFixture | undefined;
  readonly #recorders: StorageRecorder<TestPod>[] = [];

  constructor(open: OpenStorage) {
    beforeEach(async () => {
      this.#fixture = await open();
      if (this.fixture.isCached) expect(this.storage.supportsProgressRequests).toBe(!this.isCacheWithoutProgress);
    });
    afterEach(async () => {
      const fixture = this.#fixture;
      this.#fixture = undefined;
      try {
        for (const recorder of this.#recorders) recorder.verify();
      } finally {
        for (const recorder of this.#recorders.splice(0)) recorder.close();
        await fixture?.dispose();
        expect(fixture?.clock.pendingTimers, 'timers left behind (I9)').toBe(0);
      }
    });
  }

  get fixture(): StorageFixture {
    if (this.#fixture === undefined) throw new Error('no test is running');
    return this.#fixture;
  }

  get isCacheWithoutProgress(): boolean {
    const { isCached, supportsProgressRequests = true } = this.fixture;
    return isCached && !supportsProgressRequests;
  }

  get storage(): Storage<TestPod> {
    return this.fixture.storage;
  }

  get engine(): Engine {
    return this.fixture.engine;
  }

  /** Creates a pod. `name` is "web" or "other/web"; without a namespace it is "default". */
  create(name: string, spec: PodSpec = {}, ttlSeconds = 0): Promise<Stored<TestPod>> {
    return this.storage.create(keyOf(name), podOf(name, spec), { ttlSeconds });
  }

  /** Creates the pods one after the other. */
  async createAll(...names: readonly string[]): Promise<Stored<TestPod>[]> {
    const created: Stored<TestPod>[] = [];
    for (const name of names) created.push(await this.create(name));
    return created;
  }

  /** Replaces labels and node of an object; whatever is not given is removed. */
  update(name: string, spec: PodSpec): Promise<Stored<TestPod>> {
    return this.storage.guaranteedUpdate(keyOf(name), () => ({ object: podOf(name, { labels: {}, ...spec }) }));
  }

  remove(name: string): Promise<Stored<TestPod>> {
    return this.storage.delete(keyOf(name));
  }

  list(call: ListCall = {}, key: string = root): Promise<StoredList<TestPod>> {
    return this.storage.getList(key, { recursive: true, ...call, predicate: predicate(call) });
  }

  async names(call: ListCall = {}, key: string = root): Promise<string[]> {
    return namesOf(await this.list(call, key));
  }

  watch(call: WatchCall = {}, key: string = root): StorageRecorder<TestPod> {
    const recorder = StorageRecorder.start(this.storage, key, { recursive: true, ...call, predicate: predicate(call) });
    this.#recorders.push(recorder);
    return recorder;
  }

  /** Overwrites the stored value with raw bytes. */
  async overwrite(name: string, value: Uint8Array | string): Promise<Revision> {
    const key = keyOf(name);
    const { kv } = await this.engine.get(key);
    const bytes = typeof value === 'string' ? new TextEncoder().encode(value) : value;
    const expectedRevision = kv?.modRevision ?? (0 as Revision);
    const outcome = await this.engine.commit({ key, expectedRevision, change: { type: 'put', value: bytes } });
    expect(outcome.succeeded).toBe(true);
    return outcome.revision;
  }

  /** Returns the stored value as text, with the transformer's mark. */
  async rawText(name: string): Promise<string> {
    return new TextDecoder().decode((await this.engine.get(keyOf(name))).kv?.value);
  }

  /** Resolves when reads at "0" show everything written so far. */
  async caughtUp(): Promise<Revision> {
    const revision = await this.storage.currentResourceVersion();
    await this.list({ resourceVersion: String(revision), resourceVersionMatch: 'NotOlderThan' });
    return revision;
  }
}

export function keyOf(name: string): string {
  const [namespace, short] = splitName(name);
  return `${root}/${namespace}/${short}`;
}

export function podOf(name: string, spec: PodSpec = {}): TestPod {
  const [namespace, short] = splitName(name);
  const labels = spec.labels === undefined ? {} : { labels: spec.labels };
  const rest = spec.node === undefined ? {} : { spec: { nodeName: spec.node } };
  return pod({ name: short, namespace, uid: `uid-${namespace}-${short}`, ...labels }, rest);
}

export function namesOf(list: StoredList<TestPod>): string[] {
  return list.items.map((item) => item.object.metadata?.name ?? '');
}

function splitName(name: string): readonly [string, string] {
  const slash = name.indexOf('/');
  return slash === -1 ? ['default', name] : [name.slice(0, slash), name.slice(slash + 1)];
}

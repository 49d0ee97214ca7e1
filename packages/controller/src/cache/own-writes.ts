// OwnWrites keeps a controller from acting on a cache that is older than its own writes. Writes are reported through
// the port WriteObserver, and the caches' contents by their informers. Used by controller-runner.ts.
import {
  type CancelTimer,
  type Clock,
  compareResourceVersions,
  type KubernetesObject,
  type ObjectKey,
  type ObjectName,
  objectKey,
  type Resource,
  type WriteObserver,
} from '@kapstan/api';
import { isDeletedFinalStateUnknown, type SharedInformer } from '@kapstan/informers';
import type { InformerCache } from './informer-cache.ts';

type Informer = SharedInformer<KubernetesObject>;

/** A write as its observer receives it. */
interface Write {
  readonly kind: Resource;
  readonly target: ObjectName;
  readonly version: string;
}

/** A write that its informer has not shown yet. */
interface PendingWrite {
  readonly informer: Informer;
  readonly kind: Resource;
  /** The time of the answer, by the monotonic clock. */
  readonly writtenAtMs: number;
  readonly key: ObjectKey;
  readonly resourceVersion: string;
  readonly seen: Promise<void>;
  readonly resolve: () => void;
}

/** A write that no cache has shown yet, for the inspector. */
export interface UnseenWrite {
  /** The controller and the key whose run wrote. */
  readonly writer: string;
  readonly kind: Resource;
  readonly key: ObjectKey;
  readonly resourceVersion: string;
  /** Time on the monotonic clock. */
  readonly writtenAtMs: number;
}

export interface OwnWritesOptions {
  readonly cache: InformerCache;
  readonly clock: Clock;
  /** Longest time to wait for a cache, in milliseconds. */
  readonly timeoutMs: number;
}

/** Memory: the writes that no cache has shown yet, until the next wait. */
export class OwnWrites {
  readonly #options: OwnWritesOptions;
  /** Writes by writer. */
  readonly #byWriter = new Map<string, Set<PendingWrite>>();
  readonly #byInformer = new Map<Informer, Map<ObjectKey, Set<PendingWrite>>>();

  constructor(options: OwnWritesOptions) {
    this.#options = options;
  }

  /**
   * Follows the objects of an informer. Call it before the informer starts, so that it is not called for every existing
   * object.
   */
  follow(informer: Informer): void {
    if (this.#byInformer.has(informer)) return;
    const pending = new Map<ObjectKey, Set<PendingWrite>>();
    this.#byInformer.set(informer, pending);
    const look = (name: string, namespace: string): void => {
      if (pending.size === 0) return;
      for (const write of pending.get(objectKey(namespace, name)) ?? []) if (isShown(write)) write.resolve();
    };
    informer.addEventHandler(
      {
        onAdd: ({ metadata }) => look(metadata?.name ?? '', metadata?.namespace ?? ''),
        onUpdate: (_old, { metadata }) => look(metadata?.name ?? '', metadata?.namespace ?? ''),
        onDelete: (object) => {
          const { metadata } = (isDeletedFinalStateUnknown(object) ? object.object : object) ?? {};
          look(metadata?.name ?? '', metadata?.namespace ?? '');
        },
      },
      { resyncMs: 0 },
    );
  }

  /** Returns the observer for the writes of one writer, which is the reconciles of one key. */
  observer(writer: string): WriteObserver {
    return {
      observeWrite: (resource, target, version) => {
        for (const informer of this.#options.cache.informersOf(resource, target.namespace))
          this.#note(writer, this.#pending(informer, { kind: resource, target, version }));
      },
    };
  }

  /**
   * Resolves to true when the caches show all writes of the writer. Resolves to false when that took longer than the
   * timeout; these writes are not waited for again.
   */
  async shown(writer: string): Promise<boolean> {
    const writes = this.#byWriter.get(writer);
    if (writes === undefined) return true;
    for (const write of writes) if (isShown(write)) this.#forget(writer, write);
    if (writes.size === 0) return true;
    let cancel: CancelTimer = () => undefined;
    const late = new Promise<boolean>((resolve) => {
      cancel = this.#options.clock.setTimer(() => resolve(false), this.#options.timeoutMs);
    });
    const all = Promise.all([...writes].map(({ seen }) => seen)).then(() => true);
    const isShownInTime = await Promise.race([all, late]);
    cancel();
    for (const write of writes) this.#forget(writer, write);
    return isShownInTime;
  }

  /** Yields the writes that no cache has shown yet, with their writers. */
  *unseen(): Generator<UnseenWrite, void, undefined> {
    for (const [writer, writes] of this.#byWriter)
      for (const { kind, key, resourceVersion, writtenAtMs } of writes)
        yield { writer, kind, key, resourceVersion, writtenAtMs };
  }

  #pending(informer: Informer, { kind, target: { namespace, name }, version }: Write): PendingWrite | undefined {
    if (!this.#byInformer.has(informer)) return undefined;
    let resolve: () => void = () => undefined;
    const seen = new Promise<void>((settle) => {
      resolve = settle;
    });
    const write: PendingWrite = {
      informer,
      kind,
      writtenAtMs: this.#options.clock.monotonicNow(),
      key: objectKey(namespace, name),
      resourceVersion: version,
      seen,
      resolve,
    };
    return isShown(write) ? undefined : write;
  }

  #note(writer: string, write: PendingWrite | undefined): void {
    if (write === undefined) return;
    addTo(this.#byWriter, writer, write);
    const pending = this.#byInformer.get(write.informer);
    if (pending !== undefined) addTo(pending, write.key, write);
    void write.seen.then(() => this.#forget(writer, write));
  }

  #forget(writer: string, write: PendingWrite): void {
    removeFrom(this.#byWriter, writer, write);
    const pending = this.#byInformer.get(write.informer);
    if (pending !== undefined) removeFrom(pending, write.key, write);
  }
}

/**
 * True when the cache has the object at that version or a later one, or all changes up to it: the object was then
 * deleted.
 */
function isShown({ informer, key, resourceVersion }: PendingWrite): boolean {
  const shown = informer.indexer.getByKey(key)?.metadata?.resourceVersion;
  return isAtLeast(shown, resourceVersion) || isAtLeast(informer.indexer.resourceVersion, resourceVersion);
}

/** If versions cannot be compared, only an equal one counts. */
function isAtLeast(shown: string | undefined, wanted: string): boolean {
  if (shown === undefined || shown === '') return false;
  if (shown === wanted) return true;
  try {
    return compareResourceVersions(shown, wanted) >= 0;
  } catch (error) {
    if (error instanceof TypeError) return false;
    throw error;
  }
}

function addTo<K>(map: Map<K, Set<PendingWrite>>, key: K, write: PendingWrite): void {
  const set = map.get(key);
  if (set === undefined) map.set(key, new Set([write]));
  else set.add(write);
}

function removeFrom<K>(map: Map<K, Set<PendingWrite>>, key: K, write: PendingWrite): void {
  const set = map.get(key);
  set?.delete(write);
  if (set?.size === 0) map.delete(key);
}

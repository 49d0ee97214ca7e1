// The Storage<T> port: objects with optimistic locking, storage.Interface of the Go library.
// Implemented by ObjectStore (over an Engine), Cacher (over a Storage) and DryRunStorage (over any).

import type { DeepReadonly, KubernetesObject, ResourceVersion, Revision } from '@kapstan/api';
import type { CallSignal, Preconditions } from '@kapstan/api/internal';
import type { SelectionPredicate } from './selection-predicate.ts';
import type { Stored } from './stored.ts';

/** What every call may carry. */
export interface StorageCallOptions {
  readonly signal?: CallSignal;
  /** Id of the request that the call belongs to, for traces. */
  readonly auditId?: string;
}

export interface StorageCreateOptions extends StorageCallOptions, WriteHints {
  /** Expiry in seconds. 0 or absent = never. */
  readonly ttlSeconds?: number;
}

export interface StorageGetOptions<T extends KubernetesObject = KubernetesObject> extends StorageCallOptions {
  /** `""` or absent = most recent; `"0"` = any; else not older than. */
  readonly resourceVersion?: string;
  /** What is answered if the store still has it at this revision: it need not be decoded again. */
  readonly known?: Stored<T>;
}

export interface StorageListOptions<T extends KubernetesObject> extends StorageCallOptions {
  readonly resourceVersion?: string;
  readonly resourceVersionMatch?: '' | 'Exact' | 'NotOlderThan';
  readonly predicate: SelectionPredicate<T>;
  /** True: the key is a prefix. False: zero or one object at the key. */
  readonly recursive: boolean;
}

export interface StoredList<T extends KubernetesObject> {
  /** Version of the list: never older than its items'. */
  readonly resourceVersion: ResourceVersion;
  readonly items: readonly Stored<T>[];
  /** "" on the last page. */
  readonly continue: string;
  readonly remainingItemCount?: number;
}

/** Throws (StatusError) to refuse a deletion. */
export type ValidateDeletion<T extends KubernetesObject> = (object: DeepReadonly<T>) => Promise<void> | void;

export interface StorageDeleteOptions<T extends KubernetesObject> extends StorageCallOptions {
  readonly preconditions?: Preconditions;
  readonly validateDeletion?: ValidateDeletion<T>;
  /** A possibly stale state to try first, so that a fresh read is needed on conflict only. */
  readonly cachedExisting?: Stored<T>;
}

export interface UnreadableDeleteOptions extends StorageCallOptions {
  /** Throws to refuse. It cannot be shown what is deleted. */
  readonly validateDeletion?: () => Promise<void> | void;
}

export interface ResponseMeta {
  /** Always 0 from the object store. */
  readonly ttlSeconds: number;
  /** 0 for an absent object. */
  readonly revision: Revision;
  /** True: the present object is large, so what is done with all of it goes in slices. */
  readonly isLarge?: boolean;
}

/** Hints of a writer. */
interface WriteHints {
  /** True: the object may be large, so it is encoded and decoded in slices. Default false. */
  readonly isLarge?: boolean;
}

/** What an update callback decides. `ttlSeconds` absent = the object does not expire (any more). */
export interface UpdateResult<T extends KubernetesObject> extends WriteHints {
  readonly object: T;
  readonly ttlSeconds?: number;
}

/** May run many times; must be free of side effects. Throws (StatusError) to refuse. Gets a copy that it may change. */
export type TryUpdate<T extends KubernetesObject> = (
  existing: T | undefined,
  meta: ResponseMeta,
) => Promise<UpdateResult<T>> | UpdateResult<T>;

export interface GuaranteedUpdateOptions<T extends KubernetesObject> extends StorageCallOptions {
  /** Call back with `undefined` for an absent key (and create it) rather than reject with KeyNotFound. Default false. */
  readonly ignoreNotFound?: boolean;
  readonly preconditions?: Preconditions;
  readonly cachedExisting?: Stored<T>;
}

export interface StorageWatchOptions<T extends KubernetesObject> {
  readonly resourceVersion?: string;
  readonly predicate: SelectionPredicate<T>;
  readonly recursive: boolean;
  /** true: present state first, then a bookmark; false: only changes; absent: present state first when the version is "" or "0". */
  readonly sendInitialEvents?: boolean;
  /**
   * True: the bookmark that ends the state of a streamed list comes though the predicate wants none, so that a sink knows
   * where that state ends. It is no wish of the client, so nothing is refused for it. Default false.
   */
  readonly marksInitialEventsEnd?: boolean;
  /** Asks the store for progress, delivered as bookmarks. Internal: for the cacher's own feed. Default false. */
  readonly progressNotify?: boolean;
  /** When the request ends, on the component's monotonic clock, so that a last bookmark can go out before. Absent = never. */
  readonly deadlineMs?: number;
}

/** A change as storage reports it. A DELETED event carries the last matching state at the revision of the change. */
export type StorageEvent<T extends KubernetesObject> =
  | { readonly type: 'ADDED' | 'MODIFIED' | 'DELETED'; readonly stored: Stored<T> }
  | { readonly type: 'BOOKMARK'; readonly revision: Revision; readonly initialEventsEnd: boolean };

/**
 * Receives a watch. Calls are synchronous and never nested (I4). A sink that cannot keep up closes the watch: there is
 * no buffer between the store and it.
 */
export interface StorageWatchSink<T extends KubernetesObject> {
  onEvent(event: StorageEvent<T>): void;
  /** The watch is over. With an error (StatusError or StorageError) or, when the store ends it in peace, without. Called at most once, last. */
  onEnd(error?: Error): void;
  /** True while so much waits for a slow reader that initial events had better wait where they are. Absent: never. */
  readonly isFull?: boolean;
  /** Set by a storage that holds initial events back. The sink calls it once, when it is no longer full. */
  onRoom?: (() => void) | undefined;
}

export interface StorageWatch {
  /** Idempotent; nothing is delivered after it. */
  close(): void;
}

export interface StorageStats {
  readonly objectCount: number;
  /** 0 when unknown. */
  readonly averageObjectBytes: number;
}

/** Objects of one resource type. Keys are full: "/registry/pods/default/web". Semantics: Interface of apiserver storage. */
export interface Storage<T extends KubernetesObject> {
  /** Rejects with `KeyExists`. The object must not carry a resourceVersion. */
  create(key: string, object: T, options?: StorageCreateOptions): Promise<Stored<T>>;
  /** Resolves to undefined when the key is absent. */
  get(key: string, options?: StorageGetOptions<T>): Promise<Stored<T> | undefined>;
  /**
   * True: {@link get} of its key would now find just this. Said in this turn, where the store can tell without waiting; false says
   * nothing. Absent: it never can.
   */
  isNewest?(known: Stored<T>, options?: StorageCallOptions): boolean;
  getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>>;
  /**
   * The last state, at the revision of the deletion. Rejects with `KeyNotFound`, `InvalidObject` (preconditions), `Corrupt`.
   */
  delete(key: string, options?: StorageDeleteOptions<T>): Promise<Stored<T>>;
  /**
   * Removes an object that cannot be decoded: the revision of the deletion is all that can be told. Rejects with
   * `InvalidObject` when it can be decoded, with `KeyNotFound` when there is none.
   */
  deleteUnreadable(key: string, options?: UnreadableDeleteOptions): Promise<Revision>;
  /** Compare-and-set loop around `tryUpdate`; writes nothing when the bytes do not change. */
  guaranteedUpdate(key: string, tryUpdate: TryUpdate<T>, options?: GuaranteedUpdateOptions<T>): Promise<Stored<T>>;
  /**
   * What the store says goes to `sink.onEnd`. Throws what kube-apiserver answers before a stream begins: StorageError for
   * an invalid key, StatusError for a version that is no number (500) and for a cache that is not ready (429).
   */
  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch;
  stats(): Promise<StorageStats>;
  /** Newest revision of the whole store, not only of this resource. */
  currentResourceVersion(): Promise<Revision>;
  /** Undefined when ready, else why not. */
  readiness(): Error | undefined;
  requestWatchProgress(): Promise<void>;
  /** True when {@link requestWatchProgress} works, so that a cache can know that it is up to date. */
  readonly supportsProgressRequests: boolean;
  compactRevision(): Revision;
  close(): Promise<void>;
}

// The Storage<T> port: objects with optimistic locking, like storage.Interface of the Go library. Implemented by
// ObjectStore (over an Engine), Cacher (over a Storage) and DryRunStorage (over any).
import type { DeepReadonly, KubernetesObject, ResourceVersion, Revision } from '@kapstan/api';
import type { CallSignal, ChangeType, Preconditions } from '@kapstan/api/internal';
import type { SelectionPredicate } from './selection-predicate.ts';
import type { Stored } from './stored.ts';
import type { CallSpan } from './tracing/call-span.ts';

/** Options of every call. */
export interface StorageCallOptions {
  readonly signal?: CallSignal | undefined;
  /** Audit id of the request that the call belongs to, for traces. */
  readonly auditId?: string | undefined;
  /** The span that the call becomes a part of. Absent = the request is not traced. */
  readonly span?: CallSpan | undefined;
  /** Value of the header baggage for requests on behalf of the call, such as to webhooks that convert objects. Absent = none. */
  readonly baggage?: string | undefined;
}

export interface StorageCreateOptions extends StorageCallOptions, WriteHints {
  /** Time until the object expires, in seconds. 0 or absent = never. */
  readonly ttlSeconds?: number | undefined;
}

export interface StorageGetOptions<T extends KubernetesObject = KubernetesObject> extends StorageCallOptions {
  /** `""` or absent = the newest; `"0"` = any; otherwise not older than this. */
  readonly resourceVersion?: string | undefined;
  /**
   * An object that the caller has. It is returned as it is, without decoding, if the store still has it at this
   * revision.
   */
  readonly known?: Stored<T> | undefined;
}

export interface StorageListOptions<T extends KubernetesObject> extends StorageCallOptions {
  readonly resourceVersion?: string | undefined;
  readonly resourceVersionMatch?: '' | 'Exact' | 'NotOlderThan' | undefined;
  readonly predicate: SelectionPredicate<T>;
  /** True: the key is a prefix. False: the list has the zero or one object at the key. */
  readonly recursive: boolean;
}

/** A list of stored objects, with the revision at which it was read. */
export interface StoredList<T extends KubernetesObject> {
  /** Version of the list, never older than the version of an item. */
  readonly resourceVersion: ResourceVersion;
  readonly items: readonly Stored<T>[];
  /** "" on the last page. */
  readonly continue: string;
  readonly remainingItemCount?: number;
}

/** Throws a StatusError to refuse a deletion. */
export type ValidateDeletion<T extends KubernetesObject> = (object: DeepReadonly<T>) => Promise<void> | void;

export interface StorageDeleteOptions<T extends KubernetesObject> extends StorageCallOptions {
  readonly preconditions?: Preconditions | undefined;
  readonly validateDeletion?: ValidateDeletion<T> | undefined;
  /** A possibly stale state to try first, so that a fresh read is needed only on conflict. */
  readonly cachedExisting?: Stored<T> | undefined;
}

export interface UnreadableDeleteOptions extends StorageCallOptions {
  /** Throws to refuse. It gets no object, because the object cannot be decoded. */
  readonly validateDeletion?: (() => Promise<void> | void) | undefined;
}

/** The state of the store when it answered. */
export interface ResponseMeta {
  /** Always 0 from the object store. */
  readonly ttlSeconds: number;
  /** 0 for an absent object. */
  readonly revision: Revision;
  /** True = the present object is large, so work on all of it is done in slices. */
  readonly isLarge?: boolean;
}

/** Hints that a writer gives. */
interface WriteHints {
  /** True: the object may be large, so it is encoded and decoded in slices. Default false. */
  readonly isLarge?: boolean;
}

/** The result of an update callback. Without `ttlSeconds` the object does not expire, even if it did before. */
export interface UpdateResult<T extends KubernetesObject> extends WriteHints {
  readonly object: T;
  readonly ttlSeconds?: number;
}

/**
 * Computes the new state from a copy of the present one, which it may change. Throws a StatusError to refuse. It may
 * run many times, so it must have no side effects.
 */
export type TryUpdate<T extends KubernetesObject> = (
  existing: T | undefined,
  meta: ResponseMeta,
) => Promise<UpdateResult<T>> | UpdateResult<T>;

export interface GuaranteedUpdateOptions<T extends KubernetesObject> extends StorageCallOptions {
  /**
   * True: an absent key is passed as `undefined` and created. False: the call rejects with KeyNotFound. Default false.
   */
  readonly ignoreNotFound?: boolean | undefined;
  readonly preconditions?: Preconditions | undefined;
  readonly cachedExisting?: Stored<T> | undefined;
}

/** Options of a watch of objects. */
export interface StorageWatchOptions<T extends KubernetesObject> extends Omit<StorageCallOptions, 'signal'> {
  readonly resourceVersion?: string | undefined;
  readonly predicate: SelectionPredicate<T>;
  readonly recursive: boolean;
  /**
   * true: present state first, then a bookmark; false: only changes; absent: present state first when the version is ""
   * or "0".
   */
  readonly sendInitialEvents?: boolean | undefined;
  /**
   * True = the bookmark at the end of a streamed list's state is sent even if the predicate allows no bookmarks, so
   * that a sink knows where the state ends. The client did not ask for it, so no request is refused because of it.
   * Default false.
   */
  readonly marksInitialEventsEnd?: boolean | undefined;
  /**
   * True = each MODIFIED event carries the state before it, for a sink that selects by properties unknown to the store. Allowed only with a
   * predicate that selects everything. Default false.
   */
  readonly withPrevious?: boolean | undefined;
  /** Asks the store for progress, delivered as bookmarks. Internal: for the cacher's own feed. Default false. */
  readonly progressNotify?: boolean | undefined;
  /**
   * End of the request on the component's monotonic clock, so that a last bookmark can be sent before it. Absent =
   * never.
   */
  readonly deadlineMs?: number | undefined;
}

/** A change of one object. A DELETED event carries the last matching state at the revision of the change. */
export interface ChangeEvent<T extends KubernetesObject> {
  readonly type: ChangeType;
  readonly stored: Stored<T>;
  /** The state before a MODIFIED event. See {@link StorageWatchOptions.withPrevious}. */
  readonly previous?: Stored<T>;
}

/** An event of a watch. */
export type StorageEvent<T extends KubernetesObject> =
  | ChangeEvent<T>
  | { readonly type: 'BOOKMARK'; readonly revision: Revision; readonly initialEventsEnd: boolean };

/**
 * The receiver of a watch. Calls are synchronous and never nested (I4). A sink that cannot keep up closes the watch,
 * because there is no buffer between the store and the sink.
 */
export interface StorageWatchSink<T extends KubernetesObject> {
  onEvent(event: StorageEvent<T>): void;
  /**
   * Called at most once, as the last call, when the watch is over. `error` is a StatusError or StorageError; absent
   * when the store ends the watch normally.
   */
  onEnd(error?: Error): void;
  /** True while a slow reader has too much unread, and initial events should be held back. Absent = never. */
  readonly isFull?: boolean;
  /** Set by a storage that holds initial events back. The sink calls it once, when it is no longer full. */
  onRoom?: (() => void) | undefined;
}

/** A watch under way. */
export interface StorageWatch {
  /**
   * Resolves when the state that the watch begins with is fixed, so that a later write is delivered as a change of it, or when the watch
   * has ended. Never rejects. Absent = it was fixed when `watch` returned.
   */
  readonly begun?: Promise<void> | undefined;
  /** Idempotent. Nothing is delivered after it. */
  close(): void;
}

/** The number and size of the objects. */
export interface StorageStats {
  readonly objectCount: number;
  /** 0 when unknown. */
  readonly averageObjectBytes: number;
}

/**
 * Stores the objects of one resource. Keys are full: "/registry/pods/default/web". Semantics: Interface of apiserver
 * storage.
 */
export interface Storage<T extends KubernetesObject> {
  /** Rejects with `KeyExists`. The object must not carry a resourceVersion. */
  create(key: string, object: T, options?: StorageCreateOptions): Promise<Stored<T>>;
  /** Resolves to undefined when the key is absent. */
  get(key: string, options?: StorageGetOptions<T>): Promise<Stored<T> | undefined>;
  /**
   * Returns true when {@link get} would now find exactly this object. The store answers in this turn if it can tell
   * without waiting; false means nothing. Absent = the storage can never tell.
   */
  isNewest?(known: Stored<T>, options?: StorageCallOptions): boolean;
  getList(key: string, options: StorageListOptions<T>): Promise<StoredList<T>>;
  /**
   * Resolves to the last state, at the revision of the deletion. Rejects with `KeyNotFound`, `InvalidObject`
   * (preconditions), `Corrupt`.
   */
  delete(key: string, options?: StorageDeleteOptions<T>): Promise<Stored<T>>;
  /**
   * Removes an object that cannot be decoded and resolves to the revision of the deletion. Rejects with `InvalidObject`
   * when the object can be decoded, with `KeyNotFound` when there is none.
   */
  deleteUnreadable(key: string, options?: UnreadableDeleteOptions): Promise<Revision>;
  /** Updates an object in a compare-and-set loop around `tryUpdate`. Writes nothing when the bytes do not change. */
  guaranteedUpdate(key: string, tryUpdate: TryUpdate<T>, options?: GuaranteedUpdateOptions<T>): Promise<Stored<T>>;
  /**
   * Starts a watch; errors of the store go to `sink.onEnd`. Throws kube-apiserver's errors before a stream begins:
   * StorageError for an invalid key, StatusError for a version that is no number (500) and a cache not ready (429).
   */
  watch(key: string, options: StorageWatchOptions<T>, sink: StorageWatchSink<T>): StorageWatch;
  stats(): Promise<StorageStats>;
  /** Resolves to the newest revision of the whole store, not only of this resource. */
  currentResourceVersion(): Promise<Revision>;
  /** Returns undefined when ready, otherwise the reason why not. */
  readiness(): Error | undefined;
  requestWatchProgress(): Promise<void>;
  /** True when {@link requestWatchProgress} works, so that a cache can find out whether it is up to date. */
  readonly supportsProgressRequests: boolean;
  compactRevision(): Revision;
  close(): Promise<void>;
}

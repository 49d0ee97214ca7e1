// The Engine port: a revisioned key-value store of bytes, with exactly the features of etcd. Implemented by
// storage-lmdb, storage-etcd and memory-engine.ts. Objects are read and written through object-store.ts and its parts alone.
import type { Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import type { CallSpan } from './tracing/call-span.ts';

/** One key as the store holds it at some revision. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision of the put that created the key, after its last deletion if there was one. */
  readonly createRevision: Revision;
  /** Revision of the last write. */
  readonly modRevision: Revision;
  /** Id of the lease to which the key is bound. 0 = none. */
  readonly lease: number;
}

/** The result of a get of an engine, and the revision at which it was read. */
export interface EngineRead {
  /** Newest revision of the whole store when the read ran. */
  readonly revision: Revision;
  /** Absent when the key does not exist at the requested revision. */
  readonly kv?: KeyValue | undefined;
}

/** Keys k with start <= k < end, in the order of their UTF-8 bytes. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

/** Options of a range read: limit, revision, whether values are wanted. */
export interface RangeOptions {
  /** Revision at which the range is read. 0 or absent = newest. */
  readonly revision?: Revision | undefined;
  /** Maximum number of entries to return. 0 or absent = no limit. */
  readonly limit?: number | undefined;
  readonly signal?: CallSignal | undefined;
  /** Engines that ask another process make each of their calls a part of it. */
  readonly span?: CallSpan | undefined;
}

/** The result of a range read. */
export interface RangeResult {
  /** Newest revision of the store when the read ran, even when an older one was read. */
  readonly revision: Revision;
  readonly kvs: readonly KeyValue[];
  /** True when `limit` cut the result short. */
  readonly more: boolean;
  /** Number of keys in the whole range from `start` on, whatever the limit. */
  readonly count: number;
}

/** A compare-and-set on one key. */
export interface Commit {
  readonly key: string;
  /** Modification revision that the key must have. 0 = the key must not exist. */
  readonly expectedRevision: Revision;
  /** 'put' writes the value; 'delete' removes the key, which must exist. */
  readonly change:
    | { readonly type: 'put'; readonly value: Uint8Array; readonly lease?: number }
    | { readonly type: 'delete' };
  /**
   * A commit aborted before it is sent writes nothing. If it is aborted later, the caller cannot know whether it was
   * written. In both cases the call rejects with the signal's reason unless it resolves first.
   */
  readonly signal?: CallSignal | undefined;
  /** See {@link RangeOptions.span}. */
  readonly span?: CallSpan | undefined;
}

/** The outcome of a commit. A failed compare writes nothing and returns the key's present state. */
export type CommitResult =
  | { readonly succeeded: true; readonly revision: Revision; readonly previous?: KeyValue | undefined }
  | { readonly succeeded: false; readonly revision: Revision; readonly current?: KeyValue | undefined };

/** One change, as a watch reports it. */
export interface EngineEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: Revision;
  /** The new value; absent for a delete. */
  readonly kv?: KeyValue | undefined;
  /** The state before. Absent when this change created the key, or when the history is compacted. */
  readonly previous?: KeyValue | undefined;
}

/** The receiver of a watch. Calls are synchronous and never nested; `onError` is the last. */
export interface EngineWatchSink {
  /** Delivers all events of one revision in the watched range, in order. */
  onEvents(events: readonly EngineEvent[], revision: Revision): void;
  /** Reports that every event up to this revision has been delivered. */
  onProgress(revision: Revision): void;
  /** Reports that the watch is over, with `Compacted` when the history that it needed is gone. */
  onError(error: Error): void;
}

/** Options of a watch of an engine. */
export interface EngineWatchOptions {
  /** Deliver events with a revision above this one. */
  readonly after: Revision;
  /** True = `onProgress` is called from time to time. Default false. */
  readonly progressNotify?: boolean;
}

/** A running watch. `close` is idempotent; nothing is delivered after it. */
export interface EngineWatch {
  close(): void;
}

/**
 * A revisioned key-value store. Revisions rise by one per commit, start at 1 for an empty store and are never issued
 * twice (I11). A commit resolves when it is durable (I10), and no revision is visible to any reader or watcher earlier.
 * Every method rejects with `StorageError`: `Compacted`, `FutureRevision`, `TooLarge`, `Unreachable` (`maybeApplied`
 * says whether a commit may have happened; the engine never retries it), `Full`, `Closed`.
 */
export interface Engine {
  get(key: string, options?: RangeOptions): Promise<EngineRead>;
  /**
   * Returns true when {@link Engine.get} would now find this revision of the key. Engines that can tell without waiting
   * answer in this turn. False means nothing: a caller that needs to know calls `get`. Never throws.
   */
  isNewest?(key: string, revision: Revision): boolean;
  range(range: KeyRange, options?: RangeOptions): Promise<RangeResult>;
  /** Returns the present number of keys in a range. */
  count(range: KeyRange): Promise<number>;
  commit(commit: Commit): Promise<CommitResult>;
  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch;
  currentRevision(): Promise<Revision>;
  /**
   * Makes every watch of this engine report its progress soon. Resolves when the request is sent, before any report.
   */
  requestProgress(): Promise<void>;
  /** False when the store cannot be asked for progress (old etcd); readers then fall back. */
  readonly supportsProgressRequests: boolean;
  /** Grants a lease that deletes its keys after `ttlSeconds`: a whole number, at least 1. */
  grantLease(ttlSeconds: number, options?: Pick<RangeOptions, 'span'>): Promise<number>;
  /** Drops the history below the revision: reads and watches before it fail with `Compacted`. */
  compact(revision: Revision): Promise<void>;
  /** Returns the last compacted revision that is known; 0 = none. The value only grows. */
  compactRevision(): Revision;
  /**
   * Resolves when the store can answer; `/readyz` and `/livez` report the outcome. Rejects with `Unreachable` or
   * `Closed`. Cheap enough to be called at any rate; the answer may be some seconds old.
   */
  checkHealth(): Promise<void>;
  /** Does the same for `/readyz` alone, for which a store may be given another timeout. */
  checkReadiness(): Promise<void>;
  /** Returns the size of the store on disk in bytes, free pages included. */
  storedBytes(): Promise<number>;
  close(): Promise<void>;
}

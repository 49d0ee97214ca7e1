// The Engine port: a revisioned key-value store, bytes in, bytes out; what etcd offers and no more.
// Implemented by storage-lmdb and storage-etcd; used by object-store.ts alone.

import type { Revision } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';

/** One key as the store holds it at some revision. */
export interface KeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  /** Revision at which this life of the key began. */
  readonly createRevision: Revision;
  /** Revision of the last write. */
  readonly modRevision: Revision;
  /** 0 = no lease. */
  readonly lease: number;
}

export interface EngineRead {
  /** Newest revision of the whole store when the read ran. */
  readonly revision: Revision;
  /** Absent when the key does not exist at the asked revision. */
  readonly kv?: KeyValue;
}

/** Keys k with start <= k < end, in the order of their UTF-8 bytes. */
export interface KeyRange {
  readonly start: string;
  readonly end: string;
}

export interface RangeOptions {
  /** Read at this revision. 0 or absent = newest. */
  readonly revision?: Revision;
  /** Most entries to return. 0 or absent = no limit. */
  readonly limit?: number;
  readonly signal?: CallSignal;
}

export interface RangeResult {
  /** Newest revision of the store when the read ran (also when the read was at an older one). */
  readonly revision: Revision;
  readonly kvs: readonly KeyValue[];
  /** True when the limit cut the result. */
  readonly more: boolean;
  /** Keys in the whole range from `start` on, whatever the limit. */
  readonly count: number;
}

/** A compare-and-set on one key. */
export interface Commit {
  readonly key: string;
  /** The key must have this modification revision; 0 = must not exist. */
  readonly expectedRevision: Revision;
  /** 'put' writes the value; 'delete' removes the key (which must exist). */
  readonly change:
    | { readonly type: 'put'; readonly value: Uint8Array; readonly lease?: number }
    | { readonly type: 'delete' };
  /**
   * Aborted before the commit is on its way, nothing is written. Later, whether it was stays unknown to who asked; either way the
   * call rejects with the reason, where it does not resolve.
   */
  readonly signal?: CallSignal;
}

/** What became of a commit. A failed compare returns the key as it is; nothing was written. */
export type CommitResult =
  | { readonly succeeded: true; readonly revision: Revision; readonly previous?: KeyValue }
  | { readonly succeeded: false; readonly revision: Revision; readonly current?: KeyValue };

/** One change, as a watch reports it. */
export interface EngineEvent {
  readonly type: 'put' | 'delete';
  readonly key: string;
  readonly revision: Revision;
  /** The new value; absent for a delete. */
  readonly kv?: KeyValue;
  /** The state before; absent when the key was created by this change or its history is compacted. */
  readonly previous?: KeyValue;
}

/** Receives a watch. Calls are synchronous and never nested; `onError` is the last. */
export interface EngineWatchSink {
  /** All events of one revision in the watched range, in order. */
  onEvents(events: readonly EngineEvent[], revision: Revision): void;
  /** Every event up to this revision has been delivered. */
  onProgress(revision: Revision): void;
  /** The watch is over; `Compacted` when history it needed is gone. */
  onError(error: Error): void;
}

export interface EngineWatchOptions {
  /** Deliver events with a revision above this one. */
  readonly after: Revision;
  /** Ask for `onProgress` now and then. Default false. */
  readonly progressNotify?: boolean;
}

/** A running watch. `close` is idempotent; nothing is delivered after it. */
export interface EngineWatch {
  close(): void;
}

/**
 * A revisioned key-value store. Revisions rise by one per commit, start at 1 for an empty store and are never issued
 * twice (I11). A commit resolves when it is durable (I10), and no revision is visible to any reader or watcher before.
 * Every method rejects with {@link StorageError}: `Compacted`, `FutureRevision`, `TooLarge`, `Unreachable`
 * (`maybeApplied` tells whether a commit may have happened; the engine never retries it), `Full`, `Closed`.
 */
export interface Engine {
  get(key: string, options?: RangeOptions): Promise<EngineRead>;
  /**
   * True: {@link Engine.get} would now find this revision of the key. Said in this turn, by engines that need not wait to know it;
   * false says nothing: whoever wants to know more asks with `get`. Never throws.
   */
  isNewest?(key: string, revision: Revision): boolean;
  range(range: KeyRange, options?: RangeOptions): Promise<RangeResult>;
  /** Number of keys in a range, now. */
  count(range: KeyRange): Promise<number>;
  commit(commit: Commit): Promise<CommitResult>;
  watch(range: KeyRange, options: EngineWatchOptions, sink: EngineWatchSink): EngineWatch;
  currentRevision(): Promise<Revision>;
  /** Makes every watch of this engine report its progress soon. Resolves when asked, not when reported. */
  requestProgress(): Promise<void>;
  /** False where progress cannot be asked for (old etcd): readers then fall back. */
  readonly supportsProgressRequests: boolean;
  /** A new lease, which deletes the keys bound to it after `ttlSeconds`: a whole number, at least 1. */
  grantLease(ttlSeconds: number): Promise<number>;
  /** Drops history below the revision: reads and watches before it fail with `Compacted`. */
  compact(revision: Revision): Promise<void>;
  /** Last compacted revision known; 0 = none. Only grows. */
  compactRevision(): Revision;
  /**
   * Resolves when the store can answer: what `/readyz` and `/livez` say of it. Rejects with `Unreachable` or `Closed`. Cheap
   * enough to be asked at any rate; the answer may be some seconds old.
   */
  checkHealth(): Promise<void>;
  /** The same for `/readyz` alone, where a store may be given another time to answer. */
  checkReadiness(): Promise<void>;
  /** What the store takes on disk, free pages included, in bytes. */
  storedBytes(): Promise<number>;
  close(): Promise<void>;
}

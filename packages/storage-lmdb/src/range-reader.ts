// Reads keys and ranges at one revision, in slices that leave the event loop free. No snapshot outlives a slice: later
// slices find the same revision through the index. lmdb-engine.ts is above it, version-reader.ts below.
import type { Clock, Revision } from '@kapstan/api';
import { type CallSignal, sliceMs } from '@kapstan/api/internal';
import {
  compareKeys,
  type EngineRead,
  type KeyRange,
  type KeyValue,
  type RangeOptions,
  type RangeResult,
  StorageError,
} from '@kapstan/storage';
import type { Environment } from './environment.ts';
import {
  decodeCurrent,
  decodeIndexPrefix,
  encodeIndexPrefix,
  encodeKey,
  indexPrefixOf,
  indexRevisionOf,
  isLiveIndexValue,
} from './row-codec.ts';
import type { TurnQueue } from './turn-queue.ts';
import { newestIndexEntry, readAt, readCurrent, readReferenced } from './version-reader.ts';

export interface RangeReaderOptions {
  readonly env: Environment;
  readonly turns: TurnQueue;
  readonly clock: Clock;
  /** Returns the last durable and announced revision. */
  readonly revision: () => Revision;
  readonly compactRevision: () => Revision;
}

/**
 * Limits that keep a slice to about 5 ms: an entry with its value costs about 3 µs, without it 1 µs, a native count
 * 0.04 µs. Pages that are not in memory take as long as the disk needs, so {@link sliceMs} applies too.
 */
const firstSliceEntries = 200;
const sliceEntries = 500;
const sliceBytes = 4 * 1024 * 1024;
const countChunk = 100_000;
/** Cost of an entry that is only counted, in entries. */
const countedEntry = 0.25;
/** Maximum number of versions of one key to walk over before looking the right one up instead. */
const maxVersionsWalked = 64;
/** Ends the index entries of a key: sorts above 00 and a revision below 2^53, and below 00 FF and the next key. */
const afterRevisions = Buffer.from([0x00, 0xfe]);

/** Progress of a range read. */
interface Scan {
  readonly at: Revision;
  readonly limit: number;
  readonly end: Buffer;
  readonly indexEnd: Buffer;
  /** First key that was not examined. */
  next: string;
  readonly kvs: KeyValue[];
  count: number;
  /** Entries that this slice may still read. */
  entriesLeft: number;
  bytesLeft: number;
  /** True when this slice has read something. A slow disk must not keep a slice from making progress. */
  hasBegun: boolean;
  untilMs: number;
}

export class RangeReader {
  readonly #options: RangeReaderOptions;
  readonly #env: Environment;

  constructor(options: RangeReaderOptions) {
    this.#options = options;
    this.#env = options.env;
  }

  get(key: string, options: RangeOptions): EngineRead {
    const revision = this.#options.revision();
    const at = this.#admit(options.revision);
    const kv = this.#isCurrent(at) ? readCurrent(this.#env, key) : readAt(this.#env, key, at);
    return { revision, kv };
  }

  /**
   * The snapshot may be newer than the announced revision, but never older, so it suffices that it still has this
   * revision.
   */
  isNewest(key: string, revision: Revision): boolean {
    // The shared buffer is not copied, because it is decoded before anything else is read.
    const bytes = this.#env.current.getBinaryFast(encodeKey(key));
    return bytes !== undefined && decodeCurrent(bytes).modRevision === revision;
  }

  async range(range: KeyRange, options: RangeOptions): Promise<RangeResult> {
    options.signal?.throwIfAborted();
    const revision = this.#options.revision();
    const scan = newScan(range, this.#admit(options.revision), options.limit ?? 0);
    await this.#run(range, scan, options.signal);
    return { revision, kvs: scan.kvs, more: scan.count > scan.kvs.length, count: scan.count };
  }

  async count(range: KeyRange): Promise<number> {
    const scan = newScan(range, this.#admit(undefined), -1);
    await this.#run(range, scan, undefined);
    return scan.count;
  }

  /** Returns the revision to read at, or throws the reason why it cannot be read. */
  #admit(asked: Revision | undefined): Revision {
    const current = this.#options.revision();
    const at = asked || current;
    if (at > current) throw new StorageError({ code: 'FutureRevision', revision: current });
    this.#refuseCompacted(at);
    return at;
  }

  #refuseCompacted(at: Revision): void {
    const compacted = this.#options.compactRevision();
    if (at < compacted) throw new StorageError({ code: 'Compacted', revision: compacted });
  }

  /**
   * Returns true when the table of current keys shows exactly that revision. The revision may be older, and the
   * snapshot newer.
   */
  #isCurrent(at: Revision): boolean {
    return this.#env.snapshotRevision() === at;
  }

  async #run(range: KeyRange, scan: Scan, signal: CallSignal | undefined): Promise<void> {
    if (compareKeys(range.start, range.end) >= 0) return;
    if (this.#slice(scan, firstSliceEntries)) return;
    await this.#options.turns.run(() => {
      signal?.throwIfAborted();
      this.#refuseCompacted(scan.at);
      return this.#slice(scan, sliceEntries);
    });
  }

  /** Reads until the budget is spent. Returns true when the range is read to its end. */
  #slice(scan: Scan, entries: number): boolean {
    scan.entriesLeft = entries;
    scan.bytesLeft = sliceBytes;
    scan.hasBegun = false;
    scan.untilMs = this.#options.clock.monotonicNow() + sliceMs;
    const isCurrent = this.#isCurrent(scan.at);
    while (this.#hasBudget(scan)) {
      const isDone = isCurrent ? this.#sliceCurrent(scan) : this.#sliceIndex(scan);
      if (isDone) return true;
    }
    return false;
  }

  #hasBudget(scan: Scan): boolean {
    if (scan.entriesLeft <= 0 || scan.bytesLeft <= 0) return false;
    return !scan.hasBegun || this.#options.clock.monotonicNow() < scan.untilMs;
  }

  #sliceCurrent(scan: Scan): boolean {
    if (!wantsValues(scan)) return this.#countCurrent(scan);
    for (const { key, value } of this.#env.current.getRange({ start: encodeKey(scan.next), end: scan.end })) {
      if (!this.#hasBudget(scan) || !wantsValues(scan)) {
        scan.next = key.toString('utf8');
        return false;
      }
      take(scan, readReferenced(this.#env, decodeCurrent(value).modRevision));
    }
    return true;
  }

  #countCurrent(scan: Scan): boolean {
    const bounds = { start: encodeKey(scan.next), end: scan.end };
    for (const key of this.#env.current.getKeys({ ...bounds, offset: countChunk, limit: 1 })) {
      scan.count += countChunk;
      scan.next = key.toString('utf8');
      scan.entriesLeft = 0;
      return false;
    }
    scan.count += this.#env.current.getKeysCount(bounds);
    return true;
  }

  /**
   * Walks the index and takes each key's newest version at or below the revision. Ends early to jump over a long
   * history.
   */
  #sliceIndex(scan: Scan): boolean {
    let prefix: Buffer | undefined;
    let live: Revision | undefined;
    let walked = 0;
    const flush = (): void => {
      if (live !== undefined) this.#takeIndexed(scan, live);
      live = undefined;
      walked = 0;
    };
    const start = encodeIndexPrefix(scan.next);
    for (const { key, value } of this.#env.index.getRange({ start, end: scan.indexEnd })) {
      const ofKey = indexPrefixOf(key);
      if (prefix === undefined || !prefix.equals(ofKey)) {
        flush();
        if (!this.#hasBudget(scan)) return leaveAt(scan, ofKey);
        prefix = ofKey;
      }
      scan.entriesLeft -= countedEntry;
      scan.hasBegun = true;
      walked += 1;
      if (walked > maxVersionsWalked) return this.#jump(scan, prefix);
      const revision = indexRevisionOf(key);
      if (revision <= scan.at) live = isLiveIndexValue(value) ? revision : undefined;
    }
    flush();
    return true;
  }

  #jump(scan: Scan, prefix: Buffer): boolean {
    const key = decodeIndexPrefix(prefix);
    const found = newestIndexEntry(this.#env, key, scan.at);
    if (found?.isLive) this.#takeIndexed(scan, found.revision);
    const start = Buffer.concat([prefix, afterRevisions]);
    for (const next of this.#env.index.getKeys({ start, end: scan.indexEnd, limit: 1 })) {
      return leaveAt(scan, indexPrefixOf(next));
    }
    return true;
  }

  #takeIndexed(scan: Scan, revision: Revision): void {
    if (wantsValues(scan)) take(scan, readReferenced(this.#env, revision));
    else scan.count += 1;
  }
}

function newScan(range: KeyRange, at: Revision, limit: number): Scan {
  return {
    at,
    limit,
    end: encodeKey(range.end),
    indexEnd: encodeIndexPrefix(range.end),
    next: range.start,
    kvs: [],
    count: 0,
    entriesLeft: 0,
    bytesLeft: 0,
    hasBegun: false,
    untilMs: 0,
  };
}

/** Returns whether values are still wanted. A negative limit wants none, 0 wants all. */
function wantsValues(scan: Scan): boolean {
  return scan.limit === 0 || scan.kvs.length < scan.limit;
}

function take(scan: Scan, kv: KeyValue): void {
  scan.kvs.push(kv);
  scan.count += 1;
  scan.hasBegun = true;
  scan.entriesLeft -= 1;
  scan.bytesLeft -= kv.value.length;
}

function leaveAt(scan: Scan, prefix: Buffer): false {
  scan.next = decodeIndexPrefix(prefix);
  return false;
}

// RangeReader reads one key, a range in pages that fit into a message, or a count. Part of etcd-engine.ts; calls
// through caller.ts.
import type { Revision } from '@kapstan/api';
import {
  type EngineRead,
  isStorageError,
  type KeyRange,
  type KeyValue,
  type RangeOptions,
  type RangeResult,
  StorageError,
} from '@kapstan/storage';
import type { Caller } from './caller.ts';
import { isAnswerTooLarge } from './etcd-error.ts';
import { loadWire, type RangeRequest, type RangeResponse } from './wire.ts';
import { bytesAfter, keyBytes, toKeyValue, toWireRange, type WireRange } from './wire-key.ts';

export interface RangeReaderOptions {
  readonly caller: Caller;
  /** A key that nobody writes and that the user may read, for reading the revision alone. */
  readonly quietKey: string;
  /** Size of a page to aim for, in bytes. */
  readonly pageBytes: number;
  readonly compactRevision: () => Revision;
  /** Called when a read has shown that history below this revision is gone. */
  readonly onCompacted: (atLeast: Revision) => void;
}

type ReadOptions = Pick<RangeOptions, 'signal' | 'span'>;

interface Walk extends ReadOptions {
  range: WireRange;
  /** Maximum number of entries of the whole walk. 0 = all. */
  readonly limit: number;
  revision: number;
  pageLimit: number;
}

const firstPageLimit = 500;
const longestPageLimit = 10_000;
const none = 0 as Revision;

export class RangeReader {
  readonly #options: RangeReaderOptions;

  constructor(options: RangeReaderOptions) {
    this.#options = options;
  }

  async get(key: string, { revision = none, signal, span }: RangeOptions): Promise<EngineRead> {
    const answer = await this.#read({ key: keyBytes(key), revision }, { signal, span });
    const [kv] = answer.kvs;
    const at = answer.header.revision as Revision;
    return kv === undefined ? { revision: at } : { revision: at, kv: toKeyValue(kv) };
  }

  async range(range: KeyRange, options: RangeOptions): Promise<RangeResult> {
    const { revision = none, limit = 0, signal, span } = options;
    const wireRange = toWireRange(range);
    if (wireRange === undefined) return this.#nothing(options);
    for (;;) {
      const walk = {
        range: wireRange,
        signal,
        span,
        limit,
        revision,
        pageLimit: firstPageLimit,
      };
      try {
        return await this.#walk(walk);
      } catch (error) {
        // The newest state was read so slowly that it was compacted meanwhile; an even newer one is just as good.
        if (revision !== 0 || !isStorageError(error, 'Compacted')) throw error;
      }
    }
  }

  async count(range: KeyRange): Promise<number> {
    const wireRange = toWireRange(range);
    if (wireRange === undefined) return 0;
    return (await this.#read({ ...wireRange, countOnly: true })).count;
  }

  async currentRevision(): Promise<Revision> {
    const key = keyBytes(this.#options.quietKey);
    const answer = await this.#options.caller.read(loadWire().range, { key, countOnly: true });
    return answer.header.revision as Revision;
  }

  /** Answers for a range without keys, at a revision that exists. */
  async #nothing({ revision = none, ...options }: RangeOptions): Promise<RangeResult> {
    const read = await this.get(this.#options.quietKey, { ...options, revision });
    return { revision: read.revision, kvs: [], more: false, count: 0 };
  }

  async #walk(walk: Walk): Promise<RangeResult> {
    const kvs: KeyValue[] = [];
    const first = await this.#page(walk, 0);
    for (let page = first; ; page = await this.#page(walk, kvs.length)) {
      for (const kv of page.kvs) kvs.push(toKeyValue(kv));
      const last = page.kvs.at(-1);
      const isFull = walk.limit > 0 && kvs.length >= walk.limit;
      if (!page.more || isFull || last === undefined) {
        return { revision: first.header.revision as Revision, kvs, more: page.more, count: first.count };
      }
      walk.range = { ...walk.range, key: bytesAfter(last.key) };
      // Later pages are read at the revision of the first.
      walk.revision = walk.revision || first.header.revision;
      walk.pageLimit = nextPageLimit(walk.pageLimit, page, this.#options.pageBytes);
    }
  }

  async #page(walk: Walk, taken: number): Promise<RangeResponse> {
    for (;;) {
      const wanted = walk.limit === 0 ? Number.POSITIVE_INFINITY : walk.limit - taken;
      const limit = Math.min(wanted, walk.pageLimit);
      try {
        return await this.#read({ ...walk.range, revision: walk.revision, limit }, walk);
      } catch (error) {
        if (!isAnswerTooLarge(causeOf(error)) || limit === 1) throw error;
        walk.pageLimit = Math.ceil(limit / 2);
      }
    }
  }

  async #read(request: RangeRequest, { signal, span }: ReadOptions = {}): Promise<RangeResponse> {
    try {
      return await this.#options.caller.read(loadWire().range, request, { signal, span });
    } catch (error) {
      throw await this.#explained(error, request);
    }
  }

  /** Adds the revision that etcd's error lacks. */
  async #explained(error: unknown, { revision = 0 }: RangeRequest): Promise<unknown> {
    if (isStorageError(error, 'Compacted')) {
      this.#options.onCompacted((revision + 1) as Revision);
      return new StorageError({ code: 'Compacted', revision: this.#options.compactRevision(), cause: error });
    }
    if (isStorageError(error, 'FutureRevision')) {
      return new StorageError({ code: 'FutureRevision', revision: await this.currentRevision(), cause: error });
    }
    return error;
  }
}

/**
 * Returns the number of entries that fit into the page size, judging by the previous page. Grows at most fourfold,
 * because sizes differ.
 */
function nextPageLimit(limit: number, { kvs }: RangeResponse, pageBytes: number): number {
  let bytes = 0;
  for (const { key, value } of kvs) bytes += key.length + value.length;
  const fitting = Math.floor((pageBytes * kvs.length) / Math.max(1, bytes));
  return Math.max(1, Math.min(fitting, 4 * limit, longestPageLimit));
}

function causeOf(error: unknown): unknown {
  return isStorageError(error) ? error.cause : error;
}

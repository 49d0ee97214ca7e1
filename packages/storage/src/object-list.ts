// Lists of an ObjectStore: one key, or pages of a range until enough objects match.
// Source: apiserver storage/etcd3/store.go (GetList).

import type { GroupResource, KubernetesObject, Revision } from '@kapstan/api';
import { tooLargeResourceVersion } from '@kapstan/api/errors';
import { type CallSignal, TurnSlice } from '@kapstan/api/internal';
import { listExpired, nextPage } from './continue-token.ts';
import type { Engine, KeyValue, RangeResult } from './engine.ts';
import { CorruptObjects } from './errors/corrupt-objects.ts';
import { isStorageError, StorageError } from './errors/storage-error.ts';
import { keyAfter, rangeOf } from './key-range.ts';
import { type ListPosition, validateListOptions } from './list-options.ts';
import type { ObjectCoder } from './object-coder.ts';
import { isEverything, matches, type SelectionPredicate } from './selection-predicate.ts';
import type { StorageListOptions, StoredList } from './storage.ts';
import type { StoreCounters } from './store-counters.ts';
import type { Stored } from './stored.ts';
import type { StoreTrace } from './tracing/store-trace.ts';
import { listVersion, plainNumber, requireNotOlder } from './versioner.ts';

/**
 * Maximum number of keys requested from an engine at once, unless a client asks for more. Source: etcd3/store.go
 * maxLimit.
 */
const maxPageSize = 10_000;

export interface ObjectListContext<T extends KubernetesObject> {
  readonly engine: Engine;
  readonly coder: ObjectCoder<T>;
  readonly resource: GroupResource;
  /** See the option of the same name in ObjectStoreOptions. */
  readonly namesUnreadable: boolean;
  readonly counters: StoreCounters;
  readonly trace: StoreTrace;
}

/** Lists the zero or one object at a key. Limit and continue are ignored. */
export async function listOne<T extends KubernetesObject>(
  context: ObjectListContext<T>,
  key: string,
  options: StorageListOptions<T>,
): Promise<StoredList<T>> {
  const position = validateListOptions(key, options);
  const read = await translated(context, { position, prefix: key }, () =>
    context.counters.request('get', () =>
      context.engine.get(key, { revision: position.pinned, signal: options.signal, span: context.trace.part }),
    ),
  );
  context.trace.step('value read', read.kv?.value.length);
  requireNotOlder(options.resourceVersion, read.revision);
  const items: Stored<T>[] = [];
  const corrupt = new CorruptObjects({ resource: context.resource, isNamed: context.namesUnreadable });
  if (read.kv !== undefined) {
    await context.coder.prepare(read.kv);
    try {
      const stored = context.coder.read(read.kv);
      if (matchesQuietly(options.predicate, stored)) items.push(stored);
    } catch (error) {
      corrupt.add(error);
    }
  }
  const fetched = read.kv === undefined ? 0 : 1;
  const { startMs } = context.trace;
  context.counters.listed({ startMs, fetched, evaluated: fetched, returned: items.length });
  corrupt.throwIfAny();
  return { resourceVersion: listVersion(position.pinned || read.revision), items, continue: '' };
}

/** Lists all objects under a prefix, or one page of them. */
export async function listPrefix<T extends KubernetesObject>(
  context: ObjectListContext<T>,
  prefix: string,
  options: StorageListOptions<T>,
): Promise<StoredList<T>> {
  const position = validateListOptions(prefix, options);
  const list = new PrefixList(context, prefix, { options, position });
  try {
    return await list.run();
  } finally {
    context.counters.listed({ startMs: context.trace.startMs, ...list.counts });
  }
}

/** Reads one list, page by page of the engine. */
class PrefixList<T extends KubernetesObject> {
  readonly #context: ObjectListContext<T>;
  readonly #prefix: string;
  readonly #options: StorageListOptions<T>;
  readonly #position: ListPosition;
  readonly #limit: number;
  readonly #items: Stored<T>[] = [];
  readonly #corrupt: CorruptObjects;
  readonly #slice = new TurnSlice();
  #lastKey = '';
  #fetched = 0;
  #evaluated = 0;

  constructor(
    context: ObjectListContext<T>,
    prefix: string,
    call: { readonly options: StorageListOptions<T>; readonly position: ListPosition },
  ) {
    this.#context = context;
    this.#prefix = prefix;
    this.#options = call.options;
    this.#position = call.position;
    this.#limit = Math.max(0, call.options.predicate.limit);
    this.#corrupt = new CorruptObjects({ resource: context.resource, isNamed: context.namesUnreadable });
  }

  get counts(): { readonly fetched: number; readonly evaluated: number; readonly returned: number } {
    return { fetched: this.#fetched, evaluated: this.#evaluated, returned: this.#items.length };
  }

  async run(): Promise<StoredList<T>> {
    let revision = this.#position.pinned;
    let start = this.#position.fromKey ?? this.#prefix;
    let pageSize = this.#limit === 0 ? maxPageSize : this.#limit;
    for (;;) {
      const page = await this.#read(start, revision, pageSize);
      this.#fetched += page.kvs.length;
      this.#context.trace.step('page read', page.kvs.length);
      requireNotOlder(this.#options.resourceVersion, page.revision);
      if (page.more && page.kvs.length === 0) {
        throw new Error('no results were found, but etcd indicated there were more values remaining');
      }
      // All further pages are read at the revision of the first.
      if (revision === 0) revision = page.revision;
      const hasMore = (await this.#take(page.kvs)) || page.more;
      this.#context.trace.step('page decoded');
      if (!hasMore) return this.#finish(revision);
      if (this.#isFull) return this.#finish(revision, page.count);
      start = keyAfter(this.#lastKey);
      if (pageSize < maxPageSize) pageSize = Math.min(2 * pageSize, maxPageSize);
    }
  }

  get #isFull(): boolean {
    return this.#limit > 0 && this.#items.length >= this.#limit;
  }

  #read(start: string, revision: Revision, limit: number): Promise<RangeResult> {
    const range = rangeOf(this.#prefix, start);
    const { counters, engine, trace } = this.#context;
    const options = { revision, limit, signal: this.#options.signal, span: trace.part };
    return translated(this.#context, { position: this.#position, prefix: this.#prefix }, () =>
      counters.request('list', () => engine.range(range, options)),
    );
  }

  /** Adds matching objects until the list is full. Returns true when entries of the page remain. */
  async #take(kvs: readonly KeyValue[]): Promise<boolean> {
    for (const kv of kvs) {
      if (this.#isFull) return true;
      this.#lastKey = kv.key;
      const preparing = this.#context.coder.prepare(kv);
      if (preparing !== undefined) await preparing;
      this.#takeOne(kv);
      if (this.#slice.endsHere()) {
        await this.#slice.nextTurn();
        throwIfAborted(this.#options.signal);
      }
    }
    return false;
  }

  #takeOne(kv: KeyValue): void {
    let stored: Stored<T>;
    this.#evaluated++;
    try {
      stored = this.#context.coder.read(kv);
    } catch (error) {
      if (!this.#corrupt.add(error)) this.#corrupt.throwIfAny();
      return;
    }
    if (matchesQuietly(this.#options.predicate, stored)) this.#items.push(stored);
  }

  #finish(revision: Revision, count?: number): StoredList<T> {
    this.#corrupt.throwIfAny();
    const list = { resourceVersion: listVersion(revision), items: this.#items };
    if (count === undefined) return { ...list, continue: '' };
    const everything = isEverything(this.#options.predicate);
    const end = { lastKey: this.#lastKey, prefix: this.#prefix, revision, limit: this.#limit, count, everything };
    return { ...list, ...nextPage(end) };
  }
}

/** Leaves out an object whose attributes cannot be read, without an error. Source: etcd3/store.go appendListItem. */
function matchesQuietly<T extends KubernetesObject>(predicate: SelectionPredicate<T>, stored: Stored<T>): boolean {
  try {
    return matches(predicate, stored.object);
  } catch (error) {
    if (isStorageError(error)) throw error;
    return false;
  }
}

/** Runs a read of the engine. Turns revisions that are gone or still to come into the API's answers. */
async function translated<T extends KubernetesObject, R>(
  context: ObjectListContext<T>,
  at: { readonly position: ListPosition; readonly prefix: string },
  read: () => Promise<R>,
): Promise<R> {
  const { fromKey, asked } = at.position;
  try {
    return await read();
  } catch (error) {
    if (isStorageError(error, 'Compacted')) {
      throw fromKey === undefined ? listExpired() : listExpired({ fromKey, prefix: at.prefix });
    }
    if (isStorageError(error, 'FutureRevision')) {
      const current = error.revision || (await context.engine.currentRevision());
      throw tooLargeResourceVersion(plainNumber(asked), current, 0);
    }
    throw error;
  }
}

function throwIfAborted(signal: CallSignal | undefined): void {
  if (signal?.aborted !== true) return;
  const message = 'request did not complete within requested timeout';
  throw new StorageError({ code: 'Timeout', message, cause: signal.reason });
}

// IndexedStore holds the present objects, ordered by key, with indexes on field values. Only watch-cache.ts changes it.
import type { KubernetesObject } from '@kapstan/api';
import { compareKeys } from '@kapstan/storage';
import type { CacheEntry } from './cache-entry.ts';

// An insert moves at most this many pointers. A search over 100,000 keys is two binary searches.
const maxChunk = 512;
const surrogateOrAbove = /[\ud800-\uffff]/;

/**
 * A map ordered like the engines, by the UTF-8 bytes of keys. The order is kept in chunks of at most 512 entries: a
 * list of everything copies a few arrays, an insert shifts one chunk.
 */
export class IndexedStore<T extends KubernetesObject> {
  readonly #byKey = new Map<string, CacheEntry<T>>();
  readonly #indexes: ReadonlyMap<string, Map<string, Set<string>>>;
  // Invariant: no chunk is empty, and all keys of a chunk precede the keys of the next.
  #chunks: CacheEntry<T>[][] = [];
  #storedBytes = 0;
  // UTF-16 and UTF-8 order differ only for characters from U+D800 on; with such a key, keys are compared as bytes.
  #compare: (a: string, b: string) => number = compareText;

  /** `indexedFields` are the fields by whose values {@link byField} finds entries. */
  constructor(indexedFields: readonly string[] = []) {
    this.#indexes = new Map(indexedFields.map((field) => [field, new Map()]));
  }

  get size(): number {
    return this.#byKey.size;
  }

  /** Total size of the stored values, in bytes. */
  get storedBytes(): number {
    return this.#storedBytes;
  }

  get(key: string): CacheEntry<T> | undefined {
    return this.#byKey.get(key);
  }

  /** Adds an entry; returns the one that it replaces. */
  put(entry: CacheEntry<T>): CacheEntry<T> | undefined {
    if (surrogateOrAbove.test(entry.key)) this.#compare = compareKeys;
    const previous = this.#byKey.get(entry.key);
    this.#byKey.set(entry.key, entry);
    if (previous === undefined) this.#insert(entry);
    else this.#overwrite(entry);
    if (previous !== undefined) this.#forget(previous);
    this.#note(entry);
    return previous;
  }

  /** Removes a key; returns its entry. */
  delete(key: string): CacheEntry<T> | undefined {
    const previous = this.#byKey.get(key);
    if (previous === undefined) return undefined;
    this.#byKey.delete(key);
    this.#forget(previous);
    const chunkIndex = this.#chunkOf(key);
    const chunk = this.#chunks[chunkIndex] ?? [];
    chunk.splice(this.#indexIn(chunk, key), 1);
    if (chunk.length === 0) this.#chunks.splice(chunkIndex, 1);
    return previous;
  }

  /** Replaces all entries by these, which may be in any order. */
  replace(entries: readonly CacheEntry<T>[]): void {
    this.#byKey.clear();
    this.#chunks = [];
    this.#storedBytes = 0;
    this.#compare = entries.some(({ key }) => surrogateOrAbove.test(key)) ? compareKeys : compareText;
    for (const index of this.#indexes.values()) index.clear();
    for (const entry of entries) {
      this.#byKey.set(entry.key, entry);
      this.#note(entry);
    }
    const sorted = [...this.#byKey.values()].sort((a, b) => this.#compare(a.key, b.key));
    for (let i = 0; i < sorted.length; i += maxChunk / 2) this.#chunks.push(sorted.slice(i, i + maxChunk / 2));
  }

  /** Compares two keys in the order of {@link range}: negative, 0 or positive. */
  compareKeys(a: string, b: string): number {
    return this.#compare(a, b);
  }

  /** Returns the entries with start <= key < end, in order. The array is a copy that later changes do not affect. */
  range(start: string, end: string): CacheEntry<T>[] {
    const found: CacheEntry<T>[][] = [];
    for (let i = this.#chunkOf(start); i < this.#chunks.length; i++) {
      const chunk = this.#chunks[i] ?? [];
      const from = this.#indexIn(chunk, start);
      const to = this.#indexIn(chunk, end);
      found.push(from === 0 && to === chunk.length ? chunk : chunk.slice(from, to));
      if (to < chunk.length) break;
    }
    // Array.prototype.flat takes four times as long.
    return ([] as CacheEntry<T>[]).concat(...found);
  }

  /**
   * Returns the entries of the range whose indexed field has this value, in order. Undefined = the field is not
   * indexed.
   */
  byField(
    field: string,
    value: string,
    range: { readonly start: string; readonly end: string },
  ): CacheEntry<T>[] | undefined {
    const index = this.#indexes.get(field);
    if (index === undefined) return undefined;
    const entries: CacheEntry<T>[] = [];
    for (const key of index.get(value) ?? []) {
      const entry = this.#byKey.get(key);
      if (entry !== undefined && this.#compare(key, range.start) >= 0 && this.#compare(key, range.end) < 0)
        entries.push(entry);
    }
    return entries.sort((a, b) => this.#compare(a.key, b.key));
  }

  #insert(entry: CacheEntry<T>): void {
    const last = this.#chunks.length - 1;
    const chunkIndex = Math.min(this.#chunkOf(entry.key), Math.max(0, last));
    const chunk = this.#chunks[chunkIndex];
    if (chunk === undefined) {
      this.#chunks.push([entry]);
      return;
    }
    chunk.splice(this.#indexIn(chunk, entry.key), 0, entry);
    if (chunk.length > maxChunk) this.#chunks.splice(chunkIndex + 1, 0, chunk.splice(maxChunk / 2));
  }

  #overwrite(entry: CacheEntry<T>): void {
    const chunk = this.#chunks[this.#chunkOf(entry.key)] ?? [];
    chunk[this.#indexIn(chunk, entry.key)] = entry;
  }

  #note(entry: CacheEntry<T>): void {
    this.#storedBytes += entry.stored.storedBytes;
    for (const [field, index] of this.#indexes) {
      const value = fieldOf(entry, field);
      const keys = index.get(value);
      if (keys === undefined) index.set(value, new Set([entry.key]));
      else keys.add(entry.key);
    }
  }

  #forget(entry: CacheEntry<T>): void {
    this.#storedBytes -= entry.stored.storedBytes;
    for (const [field, index] of this.#indexes) {
      const value = fieldOf(entry, field);
      const keys = index.get(value);
      keys?.delete(entry.key);
      if (keys?.size === 0) index.delete(value);
    }
  }

  /** Returns the index of the first chunk whose last key is this key or a later one. */
  #chunkOf(key: string): number {
    return firstIndex(this.#chunks.length, (i) => this.#compare(this.#chunks[i]?.at(-1)?.key ?? '', key) >= 0);
  }

  /** Returns the index of a chunk's first entry whose key is this key or a later one. */
  #indexIn(chunk: readonly CacheEntry<T>[], key: string): number {
    return firstIndex(chunk.length, (i) => this.#compare(chunk[i]?.key ?? '', key) >= 0);
  }
}

/** Returns a field's value as a selector sees it: "" when it is absent. */
export function fieldOf<T extends KubernetesObject>(entry: CacheEntry<T>, field: string): string {
  const { fields } = entry.attributes;
  return Object.hasOwn(fields, field) ? (fields[field] ?? '') : '';
}

/**
 * Returns the first of 0..length-1 for which the test holds, otherwise length. If the test holds for one, it must hold
 * for all later ones.
 */
function firstIndex(length: number, test: (index: number) => boolean): number {
  let low = 0;
  let high = length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (test(middle)) high = middle;
    else low = middle + 1;
  }
  return low;
}

function compareText(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}

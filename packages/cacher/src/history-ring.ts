// HistoryRing holds the newest events. Its capacity follows their rate, and their bytes are bounded too. Filled by
// watch-cache.ts, read by watchers. Source: apiserver storage/cacher (resizeCacheLocked).
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { CacheEvent } from './cache-entry.ts';

const lowerBound = 100;
const upperBound = 102_400;
const maxDoublings = 14;
export const defaultHistoryWindowMs = 75_000;
const defaultHistoryBytes = 33_554_432;
/** Bytes of events older than the window that may stay. Nobody was promised these events. */
const oldBytes = 1_048_576;

export interface HistoryRingOptions {
  /** Time for which an event should be kept, in milliseconds. At least 75 000, the default. */
  readonly windowMs?: number | undefined;
  /** Minimum number of slots. Default 100. */
  readonly minCapacity?: number | undefined;
  /** Number of slots at first, within the bounds. Default `minCapacity`. */
  readonly initialCapacity?: number | undefined;
  /** Largest number of slots. Default 102 400, doubled as often as the window is. */
  readonly maxCapacity?: number | undefined;
  /** Maximum number of bytes of past states that the events keep, whatever the window. Default 32 MiB. */
  readonly maxBytes?: number | undefined;
}

/**
 * Called with each event that was dropped to make room, the oldest first. {@link HistoryRing.clear} does not call it.
 */
export type OnDropped<T extends KubernetesObject> = (event: CacheEvent<T>) => void;

/**
 * Returns the largest number of slots for a window: enough for the event rate that the default window allows. Source:
 * watch_cache.go.
 */
export function maxCapacityFor(windowMs: number): number {
  if (windowMs <= defaultHistoryWindowMs) return upperBound;
  const doublings = Math.ceil(Math.log2(windowMs / defaultHistoryWindowMs));
  return upperBound * 2 ** Math.min(doublings, maxDoublings);
}

/**
 * Events in the order of their revisions. A position is a counter that only grows. Its slot is the position modulo the
 * capacity, so a reader's position stays valid when the ring is resized or emptied.
 *
 *     start ──────────► end        slots: [start % capacity] … [(end - 1) % capacity]
 *     oldest            next free
 */
export class HistoryRing<T extends KubernetesObject> {
  readonly #windowMs: number;
  readonly #minCapacity: number;
  readonly #maxCapacity: number;
  readonly #maxBytes: number;
  /**
   * Returns the position of the first event that live watchers have not been offered. Later events are never dropped
   * because of their bytes.
   */
  unread: () => number = () => this.#end;
  readonly #onDropped: OnDropped<T>;
  // Invariant: the number of slots is between `minCapacity` and `maxCapacity`.
  #slots: (CacheEvent<T> | undefined)[];
  #start = 0;
  #end = 0;
  #bytes = 0;
  #hasEvicted = false;
  #increases = 0;
  #decreases = 0;

  /** Throws TypeError when the minimum capacity is above the maximum. */
  constructor(options: HistoryRingOptions = {}, onDropped: OnDropped<T> = () => undefined) {
    this.#onDropped = onDropped;
    this.#windowMs = options.windowMs ?? defaultHistoryWindowMs;
    this.#minCapacity = options.minCapacity ?? lowerBound;
    this.#maxCapacity = options.maxCapacity ?? maxCapacityFor(this.#windowMs);
    this.#maxBytes = options.maxBytes ?? defaultHistoryBytes;
    if (this.#minCapacity > this.#maxCapacity) {
      const most = `the ${this.#maxCapacity} events that a history may grow to`;
      throw new TypeError(`minHistory (${this.#minCapacity}) must not be above ${most}`);
    }
    const { initialCapacity = this.#minCapacity } = options;
    this.#slots = new Array(Math.min(Math.max(initialCapacity, this.#minCapacity), this.#maxCapacity));
  }

  get capacity(): number {
    return this.#slots.length;
  }

  /** Largest number of slots that the ring may grow to. */
  get maxCapacity(): number {
    return this.#maxCapacity;
  }

  /** Number of times that the ring grew and shrank. */
  get resizes(): { readonly increases: number; readonly decreases: number } {
    return { increases: this.#increases, decreases: this.#decreases };
  }

  /** Bytes of past states that the events keep. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True when more bytes wait for live watchers than may be kept. Their delivery must not be delayed any further. */
  get isOverfull(): boolean {
    return this.#bytes > this.#maxBytes;
  }

  get size(): number {
    return this.#end - this.#start;
  }

  /** Position of the oldest event. */
  get start(): number {
    return this.#start;
  }

  /** Position of the next event. */
  get end(): number {
    return this.#end;
  }

  get oldest(): CacheEvent<T> | undefined {
    return this.at(this.#start);
  }

  /** True when an event was dropped since {@link clear}. */
  get hasEvicted(): boolean {
    return this.#hasEvicted;
  }

  /** Returns the event at a position; undefined when it was dropped or does not exist yet. */
  at(position: number): CacheEvent<T> | undefined {
    return position < this.#start || position >= this.#end ? undefined : this.#slots[position % this.capacity];
  }

  push(event: CacheEvent<T>): void {
    this.#adapt(event.timeMs);
    if (this.#isFull) this.#dropOldest();
    this.#slots[this.#end % this.capacity] = event;
    this.#end++;
    this.#bytes += event.historyBytes;
    while (this.isOverfull && this.#mayDrop) this.#dropOldest();
  }

  /**
   * Drops events older than the window, except for a few. Call it from time to time, because nothing else drops them
   * while there are no new events.
   */
  trim(nowMs: number): void {
    const oldestMs = nowMs - this.#windowMs;
    while (this.#bytes > oldBytes && this.#mayDrop && this.#timeAt(this.#start) < oldestMs) this.#dropOldest();
  }

  /**
   * True if the oldest event may be dropped. The newest one stays, because the ring has to know where its history
   * begins.
   */
  get #mayDrop(): boolean {
    return this.size > 1 && this.#start < this.unread();
  }

  #dropOldest(): void {
    this.#dropped(this.oldest);
    this.#slots[this.#start % this.capacity] = undefined;
    this.#start++;
    this.#hasEvicted = true;
  }

  /** Forgets all events. Positions continue from where they are. */
  clear(): void {
    this.#slots = new Array(this.capacity);
    this.#start = this.#end;
    this.#bytes = 0;
    this.#hasEvicted = false;
  }

  /** Returns the position of the first event with a revision above this one. */
  firstAfter(revision: Revision): number {
    let low = this.#start;
    let high = this.#end;
    while (low < high) {
      const middle = low + Math.floor((high - low) / 2);
      const event = this.at(middle);
      if (event !== undefined && event.revision > revision) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  get #isFull(): boolean {
    return this.size === this.capacity;
  }

  /** Grows when the oldest event is still within the window, shrinks when three quarters of the events are not. */
  #adapt(nowMs: number): void {
    if (!this.#isFull) return;
    const { capacity } = this;
    if (nowMs - this.#timeAt(this.#start) < this.#windowMs) {
      this.#resize(Math.min(2 * capacity, this.#maxCapacity));
    } else if (nowMs - this.#timeAt(this.#end - Math.floor(capacity / 4)) > this.#windowMs) {
      this.#resize(Math.max(Math.floor(capacity / 2), this.#minCapacity));
    }
  }

  #dropped(event: CacheEvent<T> | undefined): void {
    if (event === undefined) return;
    this.#bytes -= event.historyBytes;
    this.#onDropped(event);
  }

  #timeAt(position: number): number {
    return this.#slots[position % this.capacity]?.timeMs ?? 0;
  }

  #resize(capacity: number): void {
    if (capacity === this.capacity) return;
    if (capacity > this.capacity) this.#increases++;
    else this.#decreases++;
    const slots: (CacheEvent<T> | undefined)[] = new Array(capacity);
    const start = Math.max(this.#start, this.#end - capacity);
    for (let position = this.#start; position < start; position++) this.#dropped(this.at(position));
    for (let position = start; position < this.#end; position++) slots[position % capacity] = this.at(position);
    this.#start = start;
    this.#slots = slots;
  }
}

// HistoryRing: the newest events in a ring whose capacity follows their rate, bounded in bytes too. Filled by watch-cache.ts, read by watchers.
// Source: apiserver storage/cacher (resizeCacheLocked).
import type { KubernetesObject, Revision } from '@kapstan/api';
import type { CacheEvent } from './cache-entry.ts';

const lowerBound = 100;
const upperBound = 102_400;
const maxDoublings = 14;
export const defaultHistoryWindowMs = 75_000;
const defaultHistoryBytes = 33_554_432;
/** Bytes of events older than the window that may stay: nobody was promised them. */
const oldBytes = 1_048_576;

export interface HistoryRingOptions {
  /** How long an event should stay, in milliseconds. At least 75 000, the default. */
  readonly windowMs?: number;
  /** Fewest slots. Default 100. */
  readonly minCapacity?: number;
  /** Slots to begin with, within the bounds. Default `minCapacity`. */
  readonly initialCapacity?: number;
  /** Most slots. Default 102 400, doubled as often as the window is doubled. */
  readonly maxCapacity?: number;
  /** Most bytes of past states that the events keep, whatever the window. Default 32 MiB. */
  readonly maxBytes?: number;
}

/** Told of each event that had to make room, the oldest first. Not of those that {@link HistoryRing.clear} forgets. */
export type OnDropped<T extends KubernetesObject> = (event: CacheEvent<T>) => void;

/** Most slots for a window: enough for the rate that the default window allows. Source: watch_cache.go. */
export function maxCapacityFor(windowMs: number): number {
  if (windowMs <= defaultHistoryWindowMs) return upperBound;
  const doublings = Math.ceil(Math.log2(windowMs / defaultHistoryWindowMs));
  return upperBound * 2 ** Math.min(doublings, maxDoublings);
}

/**
 * Events in the order of their revisions. A position is a counter that only grows; its slot is the position modulo the
 * capacity, so that a reader's position stays valid when the ring is resized or emptied.
 *
 *     start ──────────► end        slots: [start % capacity] … [(end - 1) % capacity]
 *     oldest            next free
 */
export class HistoryRing<T extends KubernetesObject> {
  readonly #windowMs: number;
  readonly #minCapacity: number;
  readonly #maxCapacity: number;
  readonly #maxBytes: number;
  /** Position of the first event that live watchers have not been offered. It and those after it are not dropped for their bytes. */
  unread: () => number = () => this.#end;
  readonly #onDropped: OnDropped<T>;
  // Invariant: as many slots as `minCapacity` to `maxCapacity`.
  #slots: (CacheEvent<T> | undefined)[];
  #start = 0;
  #end = 0;
  #bytes = 0;
  #hasEvicted = false;
  #increases = 0;
  #decreases = 0;

  /** Throws TypeError when the least capacity is above the most. */
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

  /** Slots that the ring may grow to. */
  get maxCapacity(): number {
    return this.#maxCapacity;
  }

  /** How often it grew and shrank. */
  get resizes(): { readonly increases: number; readonly decreases: number } {
    return { increases: this.#increases, decreases: this.#decreases };
  }

  /** Bytes of past states that the events keep. */
  get bytes(): number {
    return this.#bytes;
  }

  /** True: more bytes wait for live watchers than may be kept. Their delivery must not be put off any further. */
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

  /** The event at a position; undefined when it was evicted or is still to come. */
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

  /** Lets go of what is older than the window, but for a little. To be called now and then: without new events nothing else does. */
  trim(nowMs: number): void {
    const oldestMs = nowMs - this.#windowMs;
    while (this.#bytes > oldBytes && this.#mayDrop && this.#timeAt(this.#start) < oldestMs) this.#dropOldest();
  }

  /** The newest event stays: the ring has to know where its history begins. */
  get #mayDrop(): boolean {
    return this.size > 1 && this.#start < this.unread();
  }

  #dropOldest(): void {
    this.#dropped(this.oldest);
    this.#slots[this.#start % this.capacity] = undefined;
    this.#start++;
    this.#hasEvicted = true;
  }

  /** Forgets all events. Positions go on from where they are. */
  clear(): void {
    this.#slots = new Array(this.capacity);
    this.#start = this.#end;
    this.#bytes = 0;
    this.#hasEvicted = false;
  }

  /** Position of the first event with a revision above this one. */
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

  /** Grows when the oldest event is still fresh, shrinks when three quarters of the events are not. */
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

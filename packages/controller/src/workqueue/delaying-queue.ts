// DelayingQueue: a WorkQueue whose keys can be added later. Above it rate-limiting-queue.ts.
import { type CancelTimer, type Clock, systemClock } from '@kapstan/api';
import { WorkQueue, type WorkQueueOptions } from './work-queue.ts';

export interface DelayingQueueOptions extends WorkQueueOptions {
  /** Default: the real clock. */
  readonly clock?: Clock;
}

interface WaitingKey<K> {
  readonly key: K;
  readyAtMs: number;
  /** Place in the heap. */
  index: number;
}

/** Keeps delayed keys in a heap by the time they are due, with one timer for the earliest. */
export class DelayingQueue<K> extends WorkQueue<K> {
  readonly #clock: Clock;
  readonly #heap: WaitingKey<K>[] = [];
  readonly #waiting = new Map<K, WaitingKey<K>>();
  #timer: { readonly cancel: CancelTimer; readonly dueAtMs: number } | undefined;

  constructor(options: DelayingQueueOptions = {}) {
    super(options);
    this.#clock = options.clock ?? systemClock;
  }

  /** Keys that wait for their time. */
  get delayed(): number {
    return this.#waiting.size;
  }

  /** Adds a key after a delay; at once when it is 0 or less. A key that waits already keeps the earlier time. Ignored after shutdown. */
  addAfter(key: K, delayMs: number): void {
    if (this.isShuttingDown) return;
    if (!(delayMs > 0)) return this.add(key);
    const readyAtMs = this.#clock.monotonicNow() + delayMs;
    const waiting = this.#waiting.get(key);
    if (waiting === undefined) {
      const entry = { key, readyAtMs, index: this.#heap.length };
      this.#waiting.set(key, entry);
      this.#heap.push(entry);
      siftUp(this.#heap, entry);
    } else if (readyAtMs < waiting.readyAtMs) {
      waiting.readyAtMs = readyAtMs;
      siftUp(this.#heap, waiting);
    } else return;
    this.#arm();
  }

  override shutDown(): void {
    this.#dropDelayed();
    super.shutDown();
  }

  override shutDownWithDrain(): Promise<void> {
    this.#dropDelayed();
    return super.shutDownWithDrain();
  }

  #dropDelayed(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#heap.length = 0;
    this.#waiting.clear();
  }

  #arm(): void {
    const first = this.#heap[0];
    if (first === undefined) return;
    if (this.#timer !== undefined) {
      if (this.#timer.dueAtMs <= first.readyAtMs) return;
      this.#timer.cancel();
    }
    const cancel = this.#clock.setTimer(
      () => this.#release(),
      Math.max(0, first.readyAtMs - this.#clock.monotonicNow()),
    );
    this.#timer = { cancel, dueAtMs: first.readyAtMs };
  }

  #release(): void {
    this.#timer = undefined;
    const now = this.#clock.monotonicNow();
    for (let first = this.#heap[0]; first !== undefined && first.readyAtMs <= now; first = this.#heap[0]) {
      popHeap(this.#heap);
      this.#waiting.delete(first.key);
      this.add(first.key);
    }
    this.#arm();
  }
}

// Invariant: heap[entry.index] is the entry, and no entry is due before its parent, at (index - 1) >> 1.

function place<K>(heap: WaitingKey<K>[], entry: WaitingKey<K>, index: number): void {
  heap[index] = entry;
  entry.index = index;
}

/** Moves an entry that became due earlier, or is new at the end, towards the root. */
function siftUp<K>(heap: WaitingKey<K>[], entry: WaitingKey<K>): void {
  let { index } = entry;
  while (index > 0) {
    const parent = heap[(index - 1) >> 1] as WaitingKey<K>;
    if (parent.readyAtMs <= entry.readyAtMs) break;
    const above = parent.index;
    place(heap, parent, index);
    index = above;
  }
  place(heap, entry, index);
}

/** Removes the root. */
function popHeap<K>(heap: WaitingKey<K>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const child = earlierChild(heap, index);
    if (child === undefined || last.readyAtMs <= child.readyAtMs) break;
    const below = child.index;
    place(heap, child, index);
    index = below;
  }
  place(heap, last, index);
}

function earlierChild<K>(heap: readonly WaitingKey<K>[], index: number): WaitingKey<K> | undefined {
  const left = heap[2 * index + 1];
  const right = heap[2 * index + 2];
  return right !== undefined && left !== undefined && right.readyAtMs < left.readyAtMs ? right : left;
}

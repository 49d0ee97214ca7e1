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
    if (waiting !== undefined) {
      if (waiting.readyAtMs <= readyAtMs) return;
      // The old entry stays in the heap and is passed over when it comes up: it is no longer in #waiting.
      this.#waiting.delete(key);
    }
    const entry = { key, readyAtMs };
    this.#waiting.set(key, entry);
    pushHeap(this.#heap, entry);
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
      if (this.#waiting.get(first.key) !== first) continue;
      this.#waiting.delete(first.key);
      this.add(first.key);
    }
    this.#arm();
  }
}

function pushHeap<K>(heap: WaitingKey<K>[], entry: WaitingKey<K>): void {
  let index = heap.push(entry) - 1;
  while (index > 0) {
    const parent = (index - 1) >> 1;
    if ((heap[parent] as WaitingKey<K>).readyAtMs <= entry.readyAtMs) break;
    heap[index] = heap[parent] as WaitingKey<K>;
    index = parent;
  }
  heap[index] = entry;
}

function popHeap<K>(heap: WaitingKey<K>[]): void {
  const last = heap.pop();
  if (last === undefined || heap.length === 0) return;
  let index = 0;
  for (;;) {
    const left = 2 * index + 1;
    if (left >= heap.length) break;
    const right = left + 1;
    const isRightFirst =
      right < heap.length && (heap[right] as WaitingKey<K>).readyAtMs < (heap[left] as WaitingKey<K>).readyAtMs;
    const child = isRightFirst ? right : left;
    if (last.readyAtMs <= (heap[child] as WaitingKey<K>).readyAtMs) break;
    heap[index] = heap[child] as WaitingKey<K>;
    index = child;
  }
  heap[index] = last;
}

// Compares the whole queue with a simple model: lists that are searched each time, and a clock that is a counter.
import { isDeepStrictEqual } from 'node:util';
import { VirtualClock } from '@kapstan/api/testing';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { ExponentialFailureRateLimiter, RateLimitingQueue } from './index.ts';

const agingMs = 100;
const [baseMs, maxMs] = [10, 80];

interface Ranked {
  readonly key: string;
  priority: number;
  /** Due time, or turn. */
  rank: number;
  /** Decides between equal ranks. */
  order: number;
}

class QueueModel {
  readonly #hasPriorities: boolean;
  nowMs = 0;
  waiting: Ranked[] = [];
  delayed: Ranked[] = [];
  readonly processing = new Map<string, number>();
  readonly again = new Map<string, number>();
  readonly failures = new Map<string, number>();
  /** True for each drain that has ended. */
  readonly got: (string | undefined | null)[] = [];
  /** Whether each drain has ended. */
  readonly drained: boolean[] = [];
  isShut = false;
  #orders = 0;

  constructor(hasPriorities: boolean) {
    this.#hasPriorities = hasPriorities;
  }

  add(key: string, priority: number): void {
    if (this.isShut) return;
    if (this.processing.has(key)) {
      this.again.set(key, Math.max(priority, this.again.get(key) ?? priority));
      return;
    }
    this.#put(this.waiting, { key, priority, rank: this.#hasPriorities ? this.nowMs - priority * agingMs : 0 });
    this.#serve();
  }

  addAfter(key: string, delayMs: number, priority: number): void {
    if (this.isShut) return;
    if (delayMs <= 0) this.add(key, priority);
    else this.#put(this.delayed, { key, priority, rank: this.nowMs + delayMs });
  }

  addRateLimited(key: string, priority: number): void {
    const failures = this.failures.get(key) ?? 0;
    this.failures.set(key, failures + 1);
    this.addAfter(key, Math.min(baseMs * 2 ** failures, maxMs), priority);
  }

  get(): void {
    this.got.push(null);
    this.#serve();
  }

  done(key: string): void {
    if (!this.processing.delete(key)) return;
    const priority = this.again.get(key);
    this.again.delete(key);
    // This applies even after the shutdown, because accepted keys are still processed.
    if (priority !== undefined) {
      this.#put(this.waiting, { key, priority, rank: this.#hasPriorities ? this.nowMs - priority * agingMs : 0 });
      this.#serve();
    }
    if (this.#isIdle) this.drained.fill(true);
  }

  wait(ms: number): void {
    const endMs = this.nowMs + ms;
    for (;;) {
      const [first] = [...this.delayed].sort(byRank);
      if (first === undefined || first.rank > endMs) break;
      this.nowMs = first.rank;
      this.delayed = this.delayed.filter((entry) => entry !== first);
      this.add(first.key, first.priority);
    }
    this.nowMs = endMs;
  }

  shutDown(): void {
    this.isShut = true;
    this.delayed = [];
    this.drained.fill(true);
    this.#serve();
  }

  drain(): void {
    this.isShut = true;
    this.delayed = [];
    this.#serve();
    this.drained.push(false);
    if (this.#isIdle) this.drained.fill(true);
  }

  get #isIdle(): boolean {
    return this.processing.size === 0 && this.waiting.length === 0;
  }

  /** Each key is kept once, with the smaller rank and the higher priority. */
  #put(list: Ranked[], { key, priority, rank }: Omit<Ranked, 'order'>): void {
    const present = list.find((entry) => entry.key === key);
    if (present === undefined) {
      list.push({ key, priority, rank, order: this.#orders++ });
      return;
    }
    if (rank < present.rank) Object.assign(present, { rank, order: this.#orders++ });
    present.priority = Math.max(present.priority, priority);
  }

  #serve(): void {
    for (let worker = this.got.indexOf(null); worker >= 0; worker = this.got.indexOf(null)) {
      const [first] = [...this.waiting].sort(byRank);
      if (first === undefined && !this.isShut) return;
      this.got[worker] = first?.key;
      if (first === undefined) continue;
      this.waiting = this.waiting.filter((entry) => entry !== first);
      this.processing.set(first.key, first.priority);
    }
  }
}

const byRank = (a: Ranked, b: Ranked): number => a.rank - b.rank || a.order - b.order;

const keys = ['a', 'b', 'c'];
const step = fc.record({
  type: fc.oneof(
    { weight: 5, arbitrary: fc.constantFrom('add' as const, 'get' as const, 'done' as const) },
    { weight: 4, arbitrary: fc.constantFrom('addAfter' as const, 'addRateLimited' as const, 'wait' as const) },
    { weight: 1, arbitrary: fc.constant('forget' as const) },
  ),
  key: fc.constantFrom(...keys),
  priority: fc.integer({ min: -3, max: 3 }),
  ms: fc.constantFrom(-5, 0, 5, 10, 20, 35, 70, 150),
});
type Step = typeof step extends fc.Arbitrary<infer S> ? S : never;
const ending = fc.constantFrom('none' as const, 'shutDown' as const, 'drain' as const, 'drain, then shutDown' as const);

/** The queue and its model, which take the same steps. */
class Pair {
  readonly clock = new VirtualClock();
  readonly queue: RateLimitingQueue<string>;
  readonly model: QueueModel;
  readonly got: (string | undefined | null)[] = [];
  readonly drained: boolean[] = [];

  constructor(hasPriorities: boolean) {
    const rateLimiter = new ExponentialFailureRateLimiter<string>({ baseMs, maxMs });
    const priority = hasPriorities ? { priority: { agingMs } } : {};
    this.queue = new RateLimitingQueue({ clock: this.clock, rateLimiter, ...priority });
    this.model = new QueueModel(hasPriorities);
  }

  async take({ type, key, priority, ms }: Step): Promise<void> {
    const { queue, model } = this;
    switch (type) {
      case 'add':
        queue.add(key, priority);
        return model.add(key, priority);
      case 'addAfter':
        queue.addAfter(key, ms, priority);
        return model.addAfter(key, ms, priority);
      case 'addRateLimited':
        queue.addRateLimited(key, priority);
        return model.addRateLimited(key, priority);
      case 'forget':
        queue.forget(key);
        model.failures.delete(key);
        return;
      case 'done':
        queue.done(key);
        return model.done(key);
      case 'get':
        return this.#get();
      case 'wait':
        await this.clock.advance(Math.max(0, ms));
        return model.wait(Math.max(0, ms));
    }
  }

  async end(how: 'none' | 'shutDown' | 'drain' | 'drain, then shutDown'): Promise<void> {
    if (how.startsWith('drain')) {
      const at = this.drained.push(false) - 1;
      void this.queue.shutDownWithDrain().then(() => (this.drained[at] = true));
      this.model.drain();
    }
    await this.compare();
    if (!how.endsWith('shutDown')) return;
    this.queue.shutDown();
    this.model.shutDown();
  }

  async compare(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve));
    const { queue, model, clock } = this;
    const is = {
      got: this.got,
      drained: this.drained,
      sizes: [queue.length, queue.processing, queue.delayed],
      priorities: keys.map((key) => queue.priorityOf(key)),
      failures: keys.map((key) => queue.numRequeues(key)),
      timers: clock.pendingTimers,
    };
    const wanted: typeof is = {
      got: model.got,
      drained: model.drained,
      sizes: [model.waiting.length, model.processing.size, model.delayed.length],
      priorities: keys.map((key) => model.processing.get(key) ?? 0),
      failures: keys.map((key) => model.failures.get(key) ?? 0),
      timers: model.delayed.length === 0 ? 0 : 1,
    };
    // The cheap comparison comes first, because there are thousands of them.
    if (!isDeepStrictEqual(is, wanted)) expect(is).toEqual(wanted);
  }

  #get(): void {
    const at = this.got.push(null) - 1;
    void this.queue.get().then((key) => (this.got[at] = key));
    this.model.get();
  }
}

it.each([
  ['in the order of arrival', false],
  ['by priority', true],
])('a RateLimitingQueue %s behaves like its model, through shutdown and drain', async (_what, hasPriorities) => {
  const steps = fc.array(step, { minLength: 20, maxLength: 40, size: 'max' });
  await fc.assert(
    fc.asyncProperty(steps, ending, steps, async (before, how, after) => {
      const pair = new Pair(hasPriorities);
      for (const one of before) {
        await pair.take(one);
        await pair.compare();
      }
      await pair.end(how);
      for (const one of after) {
        await pair.compare();
        await pair.take(one);
      }
      await pair.compare();
    }),
    { numRuns: 60 },
  );
});

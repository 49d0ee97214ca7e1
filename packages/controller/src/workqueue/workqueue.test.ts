import { getEventListeners } from 'node:events';
import { VirtualClock } from '@kapstan/api/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  BucketRateLimiter,
  DelayingQueue,
  defaultControllerRateLimiter,
  ExponentialFailureRateLimiter,
  FastSlowRateLimiter,
  MaxOfRateLimiter,
  MaxWaitRateLimiter,
  RateLimitingQueue,
  WorkQueue,
} from './index.ts';

/** True when the promise is settled once all microtasks have run. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => {
    settled = true;
  });
  await new Promise((resolve) => setImmediate(resolve));
  return settled;
}

describe('WorkQueue', () => {
  it('hands a key out once, however often it was added', async () => {
    const queue = new WorkQueue<string>();
    for (const key of ['a', 'b', 'a', 'a']) queue.add(key);
    expect(queue.length).toBe(2);
    expect([await queue.get(), await queue.get()]).toEqual(['a', 'b']);
    expect(queue.length).toBe(0);
  });

  it('gives a key that was added while processed to nobody before done, then once more', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    expect(await queue.get()).toBe('a');
    queue.add('a');
    queue.add('a');
    const next = queue.get();
    expect(await isSettled(next)).toBe(false);
    queue.done('a');
    expect(await next).toBe('a');
    queue.done('a');
    expect(queue.length).toBe(0);
    expect(queue.processing).toBe(0);
  });

  it('ignores done for a key that no worker has, so that it is never handed out twice', async () => {
    const queue = new WorkQueue<string>();
    queue.done('unknown');
    queue.add('a');
    queue.done('a');
    expect([queue.length, queue.processing, await queue.get()]).toEqual([1, 0, 'a']);
    expect([queue.length, queue.processing]).toEqual([0, 1]);
    queue.done('a');
    queue.done('a');
    expect([queue.length, queue.processing]).toEqual([0, 0]);
  });

  it('wakes one waiting worker per key, in the order in which they wait', async () => {
    const queue = new WorkQueue<string>();
    const workers = [queue.get(), queue.get()];
    queue.add('a');
    queue.add('b');
    expect(await Promise.all(workers)).toEqual(['a', 'b']);
  });

  it('hands out what is queued after shutdown, then undefined, and takes nothing new', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    queue.shutDown();
    queue.add('b');
    expect(await queue.get()).toBe('a');
    expect(await queue.get()).toBeUndefined();
  });

  it('hands a key out once that its observer takes while it is told', async () => {
    const taken: Promise<string | undefined>[] = [];
    const added = (key: string): void => {
      queue.add(key);
      taken.push(queue.get());
    };
    const queue: WorkQueue<string> = new WorkQueue({ observer: { added } });
    const waiting = queue.get();
    queue.add('a');
    expect([await Promise.all(taken), queue.length, queue.processing]).toEqual([['a'], 0, 1]);
    queue.shutDown();
    expect(await waiting).toBeUndefined();
  });

  it('wakes every waiting worker at shutdown', async () => {
    const queue = new WorkQueue<string>();
    const workers = [queue.get(), queue.get(), queue.get()];
    queue.shutDown();
    expect(await Promise.all(workers)).toEqual([undefined, undefined, undefined]);
  });

  it('waits at a signal with one listener, however many workers wait', async () => {
    const queue = new WorkQueue<string>();
    const stop = new AbortController();
    const workers = Array.from({ length: 16 }, () => queue.get(stop.signal));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    queue.add('a');
    expect(await workers[0]).toBe('a');
    stop.abort();
    expect(new Set(await Promise.all(workers.slice(1)))).toEqual(new Set([undefined]));
  });

  it('lets a worker give up through its signal and keeps the key for the next', async () => {
    const queue = new WorkQueue<string>();
    const stop = new AbortController();
    const worker = queue.get(stop.signal);
    stop.abort();
    expect(await worker).toBeUndefined();
    queue.add('a');
    expect(await queue.get()).toBe('a');
  });

  it('drains: shutDownWithDrain resolves when the last key in flight is done', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    await queue.get();
    queue.add('a');
    const drained = queue.shutDownWithDrain();
    queue.done('a');
    expect(await isSettled(drained), 'a was added again and is not done').toBe(false);
    expect(await queue.get()).toBe('a');
    queue.done('a');
    await drained;
  });

  it('a later shutDown gives up on a drain', async () => {
    const queue = new WorkQueue<string>();
    queue.add('a');
    await queue.get();
    const drained = queue.shutDownWithDrain();
    expect(await isSettled(drained)).toBe(false);
    queue.shutDown();
    await drained;
  });

  it('tells its depth after each change and completes at shutdown', async () => {
    const queue = new WorkQueue<string>();
    const depths: (number | 'complete')[] = [];
    queue.depth$.subscribe({ next: (depth) => depths.push(depth), complete: () => depths.push('complete') });
    queue.add('a');
    queue.add('b');
    await queue.get();
    queue.done('a');
    await queue.get();
    queue.done('b');
    queue.shutDown();
    expect(depths).toEqual([1, 2, 1, 0, 'complete']);
  });

  it('behaves like its model: a key is queued, processed or both dirty and processed, and nothing is lost', async () => {
    const key = fc.constantFrom('a', 'b', 'c', 'd');
    const commands = fc.array(
      fc.oneof(
        fc.record({ type: fc.constant('add' as const), key }),
        fc.record({ type: fc.constantFrom('get' as const, 'done' as const), key }),
      ),
      { maxLength: 80 },
    );
    await fc.assert(
      fc.asyncProperty(commands, async (program) => {
        const queue = new WorkQueue<string>();
        const model = { order: [] as string[], processing: [] as string[], again: new Set<string>() };
        for (const command of program) {
          if (command.type === 'add') {
            queue.add(command.key);
            if (model.processing.includes(command.key)) model.again.add(command.key);
            else if (!model.order.includes(command.key)) model.order.push(command.key);
          } else if (command.type === 'get' && model.order.length > 0) {
            const expected = model.order.shift() as string;
            model.processing.push(expected);
            expect(await queue.get()).toBe(expected);
          } else if (command.type === 'done' && model.processing.length > 0) {
            const finished = model.processing.shift() as string;
            queue.done(finished);
            if (model.again.delete(finished)) model.order.push(finished);
          }
          expect(queue.length).toBe(model.order.length);
          expect(queue.processing).toBe(model.processing.length);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('does not keep keys that were handed out', async () => {
    const queue = new WorkQueue<number>();
    for (let round = 0; round < 3; round++) {
      for (let key = 0; key < 5000; key++) queue.add(key);
      for (let key = 0; key < 5000; key++) {
        expect(await queue.get()).toBe(key);
        queue.done(key);
      }
    }
    expect(queue.length).toBe(0);
  });
});

describe('DelayingQueue', () => {
  it('adds a key when its time has come, and at once for no delay', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue<string>({ clock });
    queue.addAfter('later', 50);
    queue.addAfter('now', 0);
    queue.addAfter('past', -1);
    expect(queue.length).toBe(2);
    await clock.advance(49);
    expect(queue.length).toBe(2);
    await clock.advance(1);
    expect(queue.length).toBe(3);
  });

  it('keeps the higher of two priorities, whichever came first', async () => {
    for (const priorities of [
      [5, 1],
      [1, 5],
    ]) {
      const clock = new VirtualClock();
      const queue = new DelayingQueue<string>({ clock, priority: {} });
      for (const priority of priorities) queue.addAfter('twice', 100, priority);
      queue.addAfter('between', 50, 3);
      await clock.advance(200);
      expect([await queue.get(), await queue.get()]).toEqual(['twice', 'between']);
      queue.shutDown();
    }
  });

  it('keeps the earlier of two times, whichever came first', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue<string>({ clock });
    queue.addAfter('a', 50);
    queue.addAfter('a', 100);
    queue.addAfter('b', 100);
    queue.addAfter('b', 50);
    expect(queue.delayed).toBe(2);
    await clock.advance(50);
    expect(queue.length).toBe(2);
    for (const key of ['a', 'b']) {
      expect(await queue.get()).toBe(key);
      queue.done(key);
    }
    await clock.advance(1000);
    expect(queue.length, 'the later time is gone').toBe(0);
  });

  it('releases keys in the order of the earliest time that each was given, whatever the calls', async () => {
    const call = fc.record({ key: fc.integer({ min: 0, max: 20 }), delayMs: fc.integer({ min: 1, max: 1000 }) });
    await fc.assert(
      fc.asyncProperty(fc.array(call, { maxLength: 60 }), async (calls) => {
        const clock = new VirtualClock();
        const queue = new DelayingQueue<number>({ clock });
        const earliest = new Map<number, number>();
        for (const { key, delayMs } of calls) {
          queue.addAfter(key, delayMs);
          earliest.set(key, Math.min(delayMs, earliest.get(key) ?? delayMs));
        }
        expect(queue.delayed).toBe(earliest.size);
        await clock.advance(1000);
        const released: number[] = [];
        while (queue.length > 0) released.push((await queue.get()) as number);
        const times = released.map((key) => earliest.get(key));
        expect(times).toEqual([...earliest.values()].sort((a, b) => a - b));
        expect(clock.pendingTimers).toBe(0);
      }),
      { numRuns: 100 },
    );
  });

  it('releases many keys in the order of their times', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue<number>({ clock });
    const delays = [70, 10, 40, 90, 20, 60, 30, 80, 50];
    for (const delayMs of delays) queue.addAfter(delayMs, delayMs);
    await clock.advance(100);
    const order: (number | undefined)[] = [];
    while (queue.length > 0) order.push(await queue.get());
    expect(order).toEqual([...delays].sort((a, b) => a - b));
  });

  it('I9: leaves no timer after shutdown and drops what waits', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue<string>({ clock });
    queue.addAfter('a', 50);
    queue.shutDown();
    queue.addAfter('b', 50);
    expect(clock.pendingTimers).toBe(0);
    await clock.advance(100);
    expect(await queue.get()).toBeUndefined();
  });
});

describe('rate limiters', () => {
  it('ExponentialFailureRateLimiter doubles from base to max per key, without overflow', () => {
    const limiter = new ExponentialFailureRateLimiter<string>({ baseMs: 1, maxMs: 1000 });
    expect(Array.from({ length: 12 }, () => limiter.when('a'))).toEqual([
      1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1000, 1000,
    ]);
    expect(limiter.when('b')).toBe(1);
    expect(limiter.numRequeues('a')).toBe(12);
    limiter.forget('a');
    expect(limiter.numRequeues('a')).toBe(0);
    expect(limiter.when('a')).toBe(1);
    for (let i = 0; i < 2000; i++) limiter.when('b');
    expect(limiter.when('b')).toBe(1000);
  });

  it('FastSlowRateLimiter is fast for a number of tries, then slow', () => {
    const limiter = new FastSlowRateLimiter<string>({ fastMs: 5, slowMs: 10_000, maxFastAttempts: 3 });
    expect(Array.from({ length: 5 }, () => limiter.when('a'))).toEqual([5, 5, 5, 10_000, 10_000]);
    limiter.forget('a');
    expect(limiter.when('a')).toBe(5);
  });

  it('BucketRateLimiter lets a burst through, then one key per interval, over all keys', async () => {
    const clock = new VirtualClock();
    const limiter = new BucketRateLimiter<string>({ perSecond: 10, burst: 2, clock });
    expect([limiter.when('a'), limiter.when('b'), limiter.when('c'), limiter.when('d')]).toEqual([0, 0, 100, 200]);
    await clock.advance(300);
    expect(limiter.when('e')).toBe(0);
    expect(limiter.numRequeues('a')).toBe(0);
  });

  it('MaxOfRateLimiter takes the longest and forgets in all', () => {
    const limiter = new MaxOfRateLimiter<string>([
      new FastSlowRateLimiter({ fastMs: 5, slowMs: 3000, maxFastAttempts: 1 }),
      new ExponentialFailureRateLimiter({ baseMs: 1, maxMs: 1000 }),
    ]);
    expect([limiter.when('a'), limiter.when('a')]).toEqual([5, 3000]);
    expect(limiter.numRequeues('a')).toBe(2);
    limiter.forget('a');
    expect(limiter.numRequeues('a')).toBe(0);
  });

  it('MaxWaitRateLimiter caps', () => {
    const limiter = new MaxWaitRateLimiter(
      new FastSlowRateLimiter<string>({ fastMs: 5, slowMs: 10_000, maxFastAttempts: 1 }),
      { maxMs: 100 },
    );
    expect([limiter.when('a'), limiter.when('a')]).toEqual([5, 100]);
  });

  it("the default is client-go's: 5 ms to 1000 s per key, 10 a second with a burst of 100 over all", () => {
    const limiter = defaultControllerRateLimiter<string>(new VirtualClock());
    expect([limiter.when('a'), limiter.when('a'), limiter.when('a')]).toEqual([5, 10, 20]);
    for (let i = 0; i < 97; i++) limiter.when(`k${i}`);
    expect(limiter.when('one too many')).toBeCloseTo(100);
    for (let i = 0; i < 40; i++) limiter.when('hot');
    expect(limiter.when('hot')).toBe(1_000_000);
  });
});

describe('RateLimitingQueue', () => {
  it('brings a failing key back later and later, and anew after forget', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({
      clock,
      rateLimiter: new ExponentialFailureRateLimiter({ baseMs: 10, maxMs: 1000 }),
    });
    for (const delayMs of [10, 20, 40]) {
      queue.addRateLimited('a');
      await clock.advance(delayMs - 1);
      expect(queue.length).toBe(0);
      await clock.advance(1);
      expect(await queue.get()).toBe('a');
      queue.done('a');
    }
    expect(queue.numRequeues('a')).toBe(3);
    queue.forget('a');
    expect(queue.numRequeues('a')).toBe(0);
  });
});

import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { DelayingQueue, RateLimitingQueue, WorkQueue } from './index.ts';

const agingMs = 100;
const priorityQueue = (clock: VirtualClock) => new WorkQueue<string>({ priority: { agingMs }, clock });

async function drain(queue: WorkQueue<string>): Promise<string[]> {
  const keys: string[] = [];
  while (queue.length > 0) {
    const key = (await queue.get()) as string;
    keys.push(key);
    queue.done(key);
  }
  return keys;
}

describe('a WorkQueue with priorities', () => {
  it('hands out higher priorities first, and equal ones in the order of their arrival', async () => {
    const queue = priorityQueue(new VirtualClock());
    for (const [key, priority] of [
      ['low', -100],
      ['a', 0],
      ['high', 10],
      ['b', 0],
      ['c', 0],
    ] as const)
      queue.add(key, priority);
    expect(await drain(queue)).toEqual(['high', 'a', 'b', 'c', 'low']);
  });

  it('hands out in the order of arrival, whatever the priorities, without the option', async () => {
    const queue = new WorkQueue<string>();
    queue.add('low', -100);
    queue.add('high', 100);
    expect(await drain(queue)).toEqual(['low', 'high']);
  });

  it('takes the higher of two priorities of a waiting key, and never sets one back', async () => {
    const clock = new VirtualClock();
    const queue = priorityQueue(clock);
    queue.add('raised', -100);
    queue.add('kept', 50);
    queue.add('plain', 0);
    queue.add('raised', 100);
    queue.add('kept', -100);
    expect(queue.length).toBe(3);
    expect(await drain(queue)).toEqual(['raised', 'kept', 'plain']);
  });

  it('brings a key that was added while processed back with its new priority', async () => {
    const queue = priorityQueue(new VirtualClock());
    queue.add('a', 7);
    await queue.get();
    expect(queue.priorityOf('a')).toBe(7);
    queue.add('a', 100);
    queue.add('a', 3);
    queue.add('b', 50);
    queue.done('a');
    expect(await queue.get()).toBe('a');
    expect(queue.priorityOf('a')).toBe(100);
  });

  it('serves a low priority within its bound under an endless flood of high ones', async () => {
    const clock = new VirtualClock();
    const queue = priorityQueue(clock);
    queue.add('low', -100);
    let served = 0;
    let lowAfterMs = -1;
    for (let i = 0; lowAfterMs < 0 && i < 20_000; i++) {
      // Two keys arrive for each one that is processed, so the queue only grows.
      queue.add(`high-${i}-a`, 0);
      queue.add(`high-${i}-b`, 0);
      const key = (await queue.get()) as string;
      queue.done(key);
      served++;
      if (key === 'low') lowAfterMs = clock.monotonicNow();
      await clock.advance(100);
    }
    // Keys that arrive after 10 s come behind it. The 200 earlier ones come first, one each 100 ms.
    expect([served, lowAfterMs]).toEqual([201, 20_000]);
  });

  it.each([0, -1, Number.NaN, Number.POSITIVE_INFINITY])('refuses an agingMs of %s', (bad) => {
    expect(() => new WorkQueue({ priority: { agingMs: bad } })).toThrow(
      new TypeError(`agingMs must be above 0, not ${bad}`),
    );
  });
});

describe('priorities of delayed keys', () => {
  it('count from the time at which the key is due, the highest of several', async () => {
    const clock = new VirtualClock();
    const queue = new DelayingQueue<string>({ clock, priority: {} });
    queue.addAfter('a', 50, -100);
    queue.addAfter('a', 80, 5);
    queue.addAfter('b', 50, 1);
    queue.addAfter('now', 0, 2);
    await clock.advance(50);
    expect(await drain(queue)).toEqual(['a', 'now', 'b']);
  });

  it('come along when a key is rate limited', async () => {
    const clock = new VirtualClock();
    const queue = new RateLimitingQueue<string>({ clock, priority: {} });
    queue.addRateLimited('a', 9);
    await clock.advance(5);
    await queue.get();
    expect(queue.priorityOf('a')).toBe(9);
  });
});

describe('the observer of a WorkQueue', () => {
  it('hears of each key once when it needs work, when a worker has it, when it is done, and of retries', async () => {
    const clock = new VirtualClock();
    const heard: string[] = [];
    const note = (what: string) => (key: string) => void heard.push(`${what} ${key}`);
    const observer = {
      added: note('added'),
      started: note('started'),
      finished: note('finished'),
      retried: note('retried'),
    };
    const queue = new DelayingQueue<string>({ clock, observer });
    queue.add('a');
    queue.add('a');
    await queue.get();
    queue.add('a');
    queue.done('a');
    queue.done('a');
    queue.addAfter('b', 10);
    await clock.advance(10);
    expect(heard).toEqual(['added a', 'started a', 'added a', 'finished a', 'retried b', 'added b']);
  });
});

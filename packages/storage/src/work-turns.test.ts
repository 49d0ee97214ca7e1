import type { Clock } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import { beforeEach, describe, expect, it } from 'vitest';
import { WorkTurns } from './work-turns.ts';

let nowMs = 0;
let looks = 0;
const clock = {
  monotonicNow: () => {
    looks++;
    return nowMs;
  },
} as Clock;
let turns: WorkTurns;

beforeEach(() => {
  nowMs = 0;
  looks = 0;
  turns = new WorkTurns(clock);
});

const nextTurn = () => new Promise<void>((resolve) => setImmediate(resolve));

/** Returns work of `steps` steps of a millisecond each, which logs its name at each step. */
function* work(name: string, steps: number, log: string[] = []): SlicedWork<string> {
  for (let step = 0; step < steps; step++) {
    nowMs += 1;
    log.push(name);
    yield;
  }
  return `${name} done`;
}

describe('WorkTurns', () => {
  it('gives the result of small work at once, without a look at the clock', () => {
    expect(turns.run(work('a', 0))).toBe('a done');
    expect(looks).toBe(0);
    expect(turns.run(work('a', 3))).toBe('a done');
  });

  it('gives way after eight milliseconds', async () => {
    const log: string[] = [];
    const result = turns.run(work('a', 20, log));
    expect(result).toBeInstanceOf(Promise);
    expect(log.length).toBeLessThan(11);
    await nextTurn();
    expect(log.length).toBeLessThan(20);
    expect(await result).toBe('a done');
  });

  it('shares the time of a turn among all, and each makes progress', async () => {
    const log: string[] = [];
    const results = ['a', 'b', 'c'].map((name) => turns.run(work(name, 16, log)));
    // Each work makes its first step at once, which shows whether it is small.
    expect(nowMs).toBeLessThan(12);
    expect(await Promise.all(results)).toEqual(['a done', 'b done', 'c done']);
    expect(log.indexOf('c')).toBeLessThan(log.lastIndexOf('a'));
    expect(log.lastIndexOf('b')).toBeGreaterThan(log.lastIndexOf('a') - 20);
  });

  it('gives half of each turn to work that must not wait, however much other work there is, and the rest to the other', async () => {
    const log: string[] = [];
    const others = Array.from({ length: 50 }, (_, index) => turns.run(work(`other ${index}`, 40, log)));
    const before = log.length;
    expect(await turns.runFirst(work('event', 20, log))).toBe('event done');
    const meanwhile = log.slice(before).filter((name) => name !== 'event');
    expect(meanwhile.length).toBeGreaterThan(10);
    expect(meanwhile.length).toBeLessThan(60);
    await Promise.all(others);
  });

  it('lets others run between two turns, and never gives up its share for long', async () => {
    const result = turns.run(work('a', 100));
    let others = 0;
    let isDone = false;
    void Promise.resolve(result).then(() => (isDone = true));
    while (!isDone && others < 1000) {
      others++;
      await nextTurn();
    }
    expect(others).toBeGreaterThan(8);
    expect(others).toBeLessThan(30);
  });

  it('gives up work whose signal has aborted, and ends it', async () => {
    const log: string[] = [];
    let isEnded = false;
    function* endless(): SlicedWork<never> {
      try {
        for (;;) yield* work('gone', 1, log);
      } finally {
        isEnded = true;
      }
    }
    const abort = new AbortController();
    const gone = turns.run(endless(), abort.signal);
    const other = turns.run(work('a', 50), abort.signal);
    await nextTurn();
    abort.abort(new Error('the client has gone'));
    const steps = log.length;
    await expect(gone).rejects.toThrow('the client has gone');
    await expect(other).rejects.toThrow('the client has gone');
    expect([isEnded, log.length]).toEqual([true, steps]);
    expect(await turns.run(work('b', 50))).toBe('b done');
  });

  it('passes on what the work throws, at once and later, and goes on with others', async () => {
    function* failing(steps: number): SlicedWork<never> {
      yield* work('f', steps);
      throw new RangeError('no');
    }
    expect(() => turns.run(failing(2))).toThrow(RangeError);
    const late = turns.run(failing(50));
    const other = turns.run(work('a', 50));
    await expect(late).rejects.toThrow(RangeError);
    expect(await other).toBe('a done');
  });
});

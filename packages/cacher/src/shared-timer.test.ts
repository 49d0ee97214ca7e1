import { VirtualClock } from '@kapstan/api/testing';
import { beforeEach, expect, it } from 'vitest';
import { setSharedTimer } from './shared-timer.ts';

let clock: VirtualClock;
let done: string[];
beforeEach(() => {
  clock = new VirtualClock();
  done = [];
});

const set = (name: string, delayMs: number) => setSharedTimer(clock, () => void done.push(name), delayMs);

it('does what is due within a second in one turn, in the order in which it was set', async () => {
  set('a', 30_000);
  await clock.advance(100);
  set('b', 29_200);
  set('c', 29_900);
  set('d', 29_901);
  expect(clock.pendingTimers).toBe(2);
  await clock.advance(29_899);
  expect(done).toEqual([]);
  await clock.advance(1);
  expect(done).toEqual(['a', 'b', 'c']);
  await clock.advance(1000);
  expect([done, clock.pendingTimers]).toEqual([['a', 'b', 'c', 'd'], 0]);
});

it('leaves no timer behind when all that shared it were cancelled (I9)', async () => {
  const cancelA = set('a', 1000);
  const cancelB = set('b', 1000);
  cancelA();
  cancelA();
  expect(clock.pendingTimers).toBe(1);
  cancelB();
  expect(clock.pendingTimers).toBe(0);
  set('c', 1000);
  cancelB();
  await clock.advance(1000);
  expect(done).toEqual(['c']);
});

it('may be cancelled, or set again, while the others are done', async () => {
  let cancelB = (): void => undefined;
  setSharedTimer(
    clock,
    () => {
      done.push('a');
      cancelB();
      set('again', 0);
    },
    1000,
  );
  cancelB = set('b', 1000);
  await clock.advance(1000);
  expect(done).toEqual(['a', 'again']);
});

it('does the rest when one throws, which is an uncaught error as in a timer of its own', async () => {
  setSharedTimer(
    clock,
    () => {
      throw new Error('broken');
    },
    1000,
  );
  set('b', 1000);
  await expect(clock.advance(1000)).rejects.toThrow('broken');
  await clock.advance(0);
  expect(done).toEqual(['b']);
});

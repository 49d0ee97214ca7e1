import { delay } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { watchfulClock } from './watchful-clock.ts';

it('looks before each timer, so that what waited for one ends by its signal instead of going on', async () => {
  const real = new VirtualClock();
  const lost = new AbortController();
  const log: string[] = [];
  const clock = watchfulClock(real, () => {
    log.push('look');
    if (real.monotonicNow() >= 1000) lost.abort(new Error('lost'));
  });
  clock.setBackgroundTimer(() => log.push('background'), 500);
  const retry = delay(clock, 1000, lost.signal).then(
    () => log.push('sent again'),
    (error: Error) => log.push(error.message),
  );
  await real.advance(1000);
  await retry;
  expect(log).toEqual(['look', 'background', 'look', 'lost']);
  expect([clock.now(), clock.monotonicNow()]).toEqual([real.now(), 1000]);
});

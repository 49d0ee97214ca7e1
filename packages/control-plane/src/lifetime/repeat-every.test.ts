import { VirtualClock } from '@kapstan/api/testing';
import { expect, it } from 'vitest';
import { repeatEvery } from './repeat-every.ts';

it('pauses before each, counted from the end of the one before, and ends with its signal', async () => {
  const clock = new VirtualClock();
  const stop = new AbortController();
  const beganMs = clock.monotonicNow();
  const startedMs: number[] = [];
  const repeated = repeatEvery({ clock, intervalMs: 10, signal: stop.signal }, async () => {
    startedMs.push(clock.monotonicNow() - beganMs);
    await new Promise<void>((resolve) => clock.setTimer(resolve, 5));
  });
  await clock.advance(42);
  expect(startedMs).toEqual([10, 25, 40]);
  stop.abort();
  await clock.advance(100);
  await repeated;
  expect(startedMs).toHaveLength(3);
  expect(clock.pendingTimers).toBe(0);
});

import { describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { Backoff, type BackoffOptions } from './backoff.ts';
import { delay, formatMicroTime, formatTime, parseTime, systemClock } from './clock.ts';

describe('systemClock', () => {
  it('runs timers and cancels them', async () => {
    let cancelled = 0;
    systemClock.setTimer(() => cancelled++, 1)();
    systemClock.setBackgroundTimer(() => cancelled++, 1)();
    const before = systemClock.monotonicNow();
    await new Promise<void>((resolve) => systemClock.setTimer(resolve, 5));
    expect(cancelled).toBe(0);
    expect(systemClock.monotonicNow()).toBeGreaterThan(before);
  });

  it('cuts delays that the platform cannot hold, instead of firing at once', async () => {
    let fired = false;
    const cancel = systemClock.setTimer(() => (fired = true), 2 ** 40);
    await new Promise<void>((resolve) => systemClock.setTimer(resolve, 5));
    cancel();
    expect(fired).toBe(false);
  });
});

describe('delay', () => {
  it('resolves on time, and rejects with the reason of an abort without leaving a timer', async () => {
    const clock = new VirtualClock();
    const done = delay(clock, 10);
    await clock.advance(10);
    await done;
    const abort = new AbortController();
    const aborted = delay(clock, 10, abort.signal);
    abort.abort(new Error('enough'));
    await expect(aborted).rejects.toThrow('enough');
    await expect(delay(clock, 10, abort.signal)).rejects.toThrow('enough');
    expect(clock.pendingTimers).toBe(0);
  });
});

describe('times', () => {
  it('are written with seconds, or microseconds', () => {
    const epochMs = Date.UTC(2026, 6, 24, 1, 2, 3, 456);
    expect(formatTime(epochMs)).toBe('2026-07-24T01:02:03Z');
    expect(formatMicroTime(epochMs)).toBe('2026-07-24T01:02:03.456000Z');
    expect(formatMicroTime(epochMs + 0.789)).toMatch(/^2026-07-24T01:02:03\.4567\d\dZ$/);
    expect(parseTime('2026-07-24T01:02:03Z')).toBe(epochMs - 456);
    expect(parseTime('yesterday')).toBeNaN();
  });
});

describe('Backoff', () => {
  const options: BackoffOptions = { initialMs: 10, maxMs: 100, factor: 2, jitter: 0, resetAfterMs: 0 };
  const take = (backoff: Backoff, count: number): number[] => Array.from({ length: count }, () => backoff.next());

  it('grows to its cap', () => {
    const backoff = new Backoff(options, { clock: new VirtualClock() });
    expect(take(backoff, 6)).toEqual([10, 20, 40, 80, 100, 100]);
  });

  it('adds a random part of each delay', () => {
    const backoff = new Backoff({ ...options, jitter: 1 }, { clock: new VirtualClock(), random: () => 0.5 });
    expect(take(backoff, 3)).toEqual([15, 30, 60]);
  });

  it('counts its reset from its last start, not from the last failure', async () => {
    const clock = new VirtualClock();
    const backoff = new Backoff({ ...options, resetAfterMs: 1000 }, { clock });
    take(backoff, 3);
    await clock.advance(1000);
    expect(backoff.next()).toBe(80);
    await clock.advance(1);
    expect(backoff.next()).toBe(10);
  });
});

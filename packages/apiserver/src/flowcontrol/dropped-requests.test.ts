import { describe, expect, it } from 'vitest';
import { DroppedRequests } from './dropped-requests.ts';

/** Refuses this many requests in each second, and returns the Retry-After after each. */
function refuse(perSecond: readonly number[], begin = 100): number[] {
  const dropped = new DroppedRequests();
  return perSecond.map((count, index) => {
    for (let i = 0; i < count; i++) dropped.record(begin + index);
    return dropped.retryAfterSeconds;
  });
}

describe('Retry-After', () => {
  it('is a second while few requests are refused', () => {
    expect(refuse([1, 1, 1, 2, 2, 1])).toEqual([1, 1, 1, 1, 1, 1]);
  });

  it('doubles while many are refused, at most once in its own time, up to 32 s', () => {
    const seconds = refuse(Array(120).fill(200));
    expect(seconds.slice(0, 9)).toEqual([1, 2, 2, 4, 4, 4, 4, 8, 8]);
    expect(Math.max(...seconds)).toBe(32);
    expect(seconds.at(-1)).toBe(32);
  });

  it('falls by a second when there are few again', () => {
    const dropped = new DroppedRequests();
    for (let second = 100; second < 104; second++) for (let i = 0; i < 50; i++) dropped.record(second);
    expect(dropped.retryAfterSeconds).toBe(4);
    const after = [110, 120, 130].map((second) => {
      dropped.record(second);
      return dropped.retryAfterSeconds;
    });
    expect(after).toEqual([3, 2, 1]);
  });
});

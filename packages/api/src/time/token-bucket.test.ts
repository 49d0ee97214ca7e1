import { beforeEach, describe, expect, it } from 'vitest';
import { VirtualClock } from '../testing/virtual-clock.ts';
import { TokenBucket } from './token-bucket.ts';

describe('TokenBucket', () => {
  let clock: VirtualClock;
  let bucket: TokenBucket;
  beforeEach(() => {
    clock = new VirtualClock();
    bucket = new TokenBucket({ perSecond: 10, burst: 2, clock });
  });

  it('lets a burst through, then makes each taker wait for a token of its own', () => {
    expect([bucket.take(), bucket.take(), bucket.take(), bucket.take()]).toEqual([0, 0, 100, 200]);
  });

  it('fills with time and never beyond its burst', async () => {
    bucket.take();
    bucket.take();
    await clock.advance(100);
    expect([bucket.tryTake(), bucket.tryTake()]).toEqual([true, false]);
    await clock.advance(60_000);
    expect([bucket.tryTake(), bucket.tryTake(), bucket.tryTake()]).toEqual([true, true, false]);
  });

  it('takes back what was not used', () => {
    bucket.take();
    bucket.take();
    expect(bucket.take()).toBe(100);
    bucket.giveBack();
    expect(bucket.take()).toBe(100);
  });

  it.each([
    [{ perSecond: 0, burst: 1 }, 'perSecond must be above 0, got 0'],
    [{ perSecond: 1, burst: 0.5 }, 'burst must be at least 1, got 0.5'],
    [{ perSecond: Number.NaN, burst: 1 }, 'perSecond must be above 0, got NaN'],
  ])('refuses %j', (options, message) => {
    expect(() => new TokenBucket({ ...options, clock })).toThrow(message);
  });
});

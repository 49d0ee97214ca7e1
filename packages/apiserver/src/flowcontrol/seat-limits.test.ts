import { describe, expect, it } from 'vitest';
import type { PriorityLevelConfig } from './flow-schema.ts';
import { adjustLimits, type LevelDemand, nominalLimits, widestRequest } from './seat-limits.ts';

const queuing = { queues: 128, handSize: 6, queueLengthLimit: 50 };
const config = (change: Partial<PriorityLevelConfig>): PriorityLevelConfig => ({
  name: 'a',
  uid: '',
  shares: 20,
  lendablePercent: 50,
  borrowingLimitPercent: undefined,
  queuing,
  ...change,
});
const demand = (change: Partial<LevelDemand>): LevelDemand => ({
  limits: { nominal: 100, min: 50, max: 700 },
  isUnlimited: false,
  highWatermark: 0,
  smoothed: 0,
  current: 75,
  ...change,
});
const currents = (levels: readonly LevelDemand[]): readonly number[] =>
  adjustLimits(levels).limits.map(({ current }) => current);

describe('the limits of a level', () => {
  it('are its part of all seats, rounded up, less what it lends and more what it borrows', () => {
    expect(nominalLimits(config({}), 600, 245)).toEqual({ nominal: 49, min: 24, max: 649 });
    expect(nominalLimits(config({ borrowingLimitPercent: 10 }), 600, 245)).toEqual({ nominal: 49, min: 24, max: 54 });
    expect(nominalLimits(config({ shares: 0 }), 600, 245)).toEqual({ nominal: 0, min: 0, max: 600 });
  });

  it.each([
    [49, 8],
    [245, 37],
    [10, 1],
    [3, 1],
  ])('of %i seats let one request take %i', (nominal, widest) => {
    const limits = { nominal, min: 0, max: 0 };
    expect(widestRequest(config({}), limits)).toBe(Math.max(1, Math.min(widest, Math.floor(nominal / 6))));
    expect(widestRequest(config({ queuing: 'none' }), limits)).toBeUndefined();
  });
});

describe('levels that could use more than others', () => {
  it('borrow the seats that others lend', () => {
    const idle = demand({});
    const busy = demand({ highWatermark: 400, smoothed: 400 });
    expect(currents([idle, busy])).toEqual([50, 150]);
  });

  it('get back at once what they used before, up to their nominal limit', () => {
    const back = demand({ highWatermark: 90, smoothed: 90 });
    const busy = demand({ highWatermark: 400, smoothed: 400 });
    const [own = 0, other = 0] = currents([back, busy]);
    expect(own).toBeGreaterThanOrEqual(90);
    expect(own + other).toBe(200);
  });

  it('keep what they have when nobody may take the seats that are left', () => {
    const fixed = demand({ limits: { nominal: 100, min: 50, max: 60 }, current: 77 });
    expect(currents([fixed])).toEqual([77]);
  });

  it('get only their minimum when requests without a limit take the rest', () => {
    const exempt = demand({ isUnlimited: true, limits: { nominal: 0, min: 0, max: 600 }, highWatermark: 60 });
    expect(currents([exempt, demand({ highWatermark: 80, smoothed: 80 })])).toEqual([60, 50]);
    const some = demand({ isUnlimited: true, limits: { nominal: 0, min: 0, max: 600 }, highWatermark: 35 });
    // 65 seats are left: half of the distance between the minimum and the demand.
    expect(currents([some, demand({ highWatermark: 80, smoothed: 80 })])).toEqual([35, 65]);
  });
});

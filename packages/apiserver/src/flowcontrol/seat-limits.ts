// Divides the server's seats among its levels: the nominal limits by their shares, the current ones by their demand, within the bounds for
// lending and borrowing. It is pure. Used by flow-control.ts. Source: apf_controller.go finishQueueSetReconfigsLocked,
// updateBorrowingLocked.
import { allocate } from './concurrency-allocation.ts';
import type { PriorityLevelConfig } from './flow-schema.ts';

export interface SeatLimits {
  readonly nominal: number;
  /** The nominal limit minus the lendable seats. */
  readonly min: number;
  /** The nominal limit plus the seats that may be borrowed. */
  readonly max: number;
}

/** Share of a level's seats that one request may take. Source: priorityLevelMaxSeatsPercent. */
const widestShare = 0.15;

/** Returns the limits of a level. They are rounded up, so that all together may be a little above the server's. */
export function nominalLimits(config: PriorityLevelConfig, serverSeats: number, allShares: number): SeatLimits {
  const { shares, lendablePercent, borrowingLimitPercent } = config;
  const nominal = allShares === 0 ? 0 : Math.ceil((serverSeats * shares) / allShares);
  const lendable = Math.round((nominal * lendablePercent) / 100);
  const borrowable =
    borrowingLimitPercent === undefined ? serverSeats : Math.round((nominal * borrowingLimitPercent) / 100);
  return { nominal, min: nominal - lendable, max: nominal + borrowable };
}

/** Returns the most seats that one request of the level may take; undefined where the level sets no bound. */
export function widestRequest({ queuing }: PriorityLevelConfig, { nominal }: SeatLimits): number | undefined {
  if (typeof queuing === 'string') return undefined;
  return Math.max(1, Math.min(Math.ceil(nominal * widestShare), Math.floor(nominal / queuing.handSize)));
}

export interface LevelDemand {
  readonly limits: SeatLimits;
  readonly isUnlimited: boolean;
  readonly highWatermark: number;
  readonly smoothed: number;
  /** The limit so far. */
  readonly current: number;
}

export interface CurrentLimit {
  readonly current: number;
  /** The limit of the level for a fair fraction of 1. */
  readonly target: number;
}

export interface AdjustedLimits {
  /** Limits in the order of the levels. */
  readonly limits: readonly CurrentLimit[];
  /** 0 when there was nothing to divide. */
  readonly fairFraction: number;
}

/** Returns the limits until the next adjustment. */
export function adjustLimits(levels: readonly LevelDemand[]): AdjustedLimits {
  const lows = levels.map(lowestLimit);
  const sumOf = (value: (level: LevelDemand, index: number) => number): number =>
    levels.reduce((sum, level, index) => sum + value(level, index), 0);
  const ifLimited = (value: (level: LevelDemand, index: number) => number): number =>
    sumOf((level, index) => (level.isUnlimited ? 0 : value(level, index)));
  const all = sumOf(({ limits }) => limits.nominal);
  // Levels without a limit take the seats that they use; the rest is divided.
  const left = all - sumOf(({ isUnlimited }, index) => (isUnlimited ? (lows[index] ?? 0) : 0));
  const minSum = ifLimited(({ limits }) => limits.min);
  const lowSum = ifLimited((_, index) => lows[index] ?? 0);
  const targets = levels.map(({ smoothed, isUnlimited }, index) =>
    isUnlimited ? (lows[index] ?? 0) : Math.max(lows[index] ?? 0, smoothed),
  );
  const withTargets = (currents: readonly number[], fairFraction: number): AdjustedLimits => ({
    limits: currents.map((current, index) => ({ current, target: targets[index] ?? 0 })),
    fairFraction,
  });
  const keepingUnlimited = (limitOf: (level: LevelDemand, index: number) => number): number[] =>
    levels.map((level, index) => (level.isUnlimited ? (lows[index] ?? 0) : limitOf(level, index)));
  if (left <= minSum)
    return withTargets(
      keepingUnlimited(({ limits }) => limits.min),
      0,
    );
  if (left <= lowSum) {
    const fraction = (left - minSum) / (lowSum - minSum);
    const between = ({ limits: { min } }: LevelDemand, index: number): number =>
      min + Math.round(((lows[index] ?? 0) - min) * fraction);
    return withTargets(keepingUnlimited(between), 0);
  }
  return withTargets(...allocated({ levels, all, lows, targets, keepingUnlimited }));
}

interface Division {
  readonly levels: readonly LevelDemand[];
  /**
   * Sum of all nominal limits. As in Kubernetes, it is divided completely, although levels without a limit use some of it (nominalCLSum).
   */
  readonly all: number;
  readonly lows: readonly number[];
  readonly targets: readonly number[];
  readonly keepingUnlimited: (limitOf: (level: LevelDemand, index: number) => number) => number[];
}

function allocated({ levels, all, lows, targets, keepingUnlimited }: Division): [readonly number[], number] {
  const items = levels.flatMap(({ limits, isUnlimited }, index) =>
    isUnlimited ? [] : [{ target: targets[index] ?? 0, lowerBound: lows[index] ?? 0, upperBound: limits.max }],
  );
  const division = allocate(all, items);
  // Levels that may not borrow cannot take all seats together, so each keeps its own.
  if (division === undefined) return [keepingUnlimited(({ current }) => current), 0];
  const parts = division.parts[Symbol.iterator]();
  const currents = keepingUnlimited(() => Math.round(parts.next().value ?? 0));
  return [currents, division.fairFraction];
}

/** Returns the lowest limit that a level may get now: its peak use, but at least its minimum and at most its nominal limit. */
function lowestLimit({ limits, isUnlimited, highWatermark }: LevelDemand): number {
  return isUnlimited
    ? Math.max(limits.min, highWatermark)
    : Math.max(limits.min, Math.min(limits.nominal, highWatermark));
}

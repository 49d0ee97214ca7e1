// Divides the server's seats among the priority levels, as even a share of each level's target as its bounds allow. Pure. Used by
// seat-limits.ts. Source: util/flowcontrol/conc_alloc.go.

/** A level that gets a part of the whole. */
export interface AllocationItem {
  /** The amount that the level could use. At least the lower bound. */
  readonly target: number;
  readonly lowerBound: number;
  readonly upperBound: number;
}

export interface Allocation {
  readonly parts: readonly number[];
  /** The fraction of its target that a level gets unless one of its bounds applies. */
  readonly fairFraction: number;
}

/** Smaller targets count as this much, because bounds are divided by them. */
const minTarget = 0.001;
const tolerance = 1e-7;

/**
 * Returns parts that sum to `sum`: each is `fairFraction` times the target if that lies within the bounds, otherwise the bound. Returns
 * undefined when the bounds allow no such sum.
 */
export function allocate(sum: number, items: readonly AllocationItem[]): Allocation | undefined {
  const lowSum = sumOf(items, ({ lowerBound }) => lowerBound);
  const highSum = sumOf(items, ({ upperBound }) => upperBound);
  if (sum < 0 || lowSum - sum > tolerance || sum - highSum > tolerance) return undefined;
  if (items.some(({ target, lowerBound, upperBound }) => target < lowerBound || upperBound < lowerBound))
    return undefined;
  if (sum === 0) return { parts: items.map(() => 0), fairFraction: 0 };
  const fairFraction = fractionFor(sum, items);
  const parts = items.map((item) =>
    Math.max(item.lowerBound, Math.min(item.upperBound, fairFraction * targetOf(item))),
  );
  return { parts, fairFraction };
}

/**
 * Raises the fraction from bound to bound until the parts sum to `sum`. Between two bounds the sum grows evenly, by the targets of the items
 * that are at neither bound.
 */
function fractionFor(sum: number, items: readonly AllocationItem[]): number {
  const bounds = items
    .flatMap((item) => [
      { at: item.lowerBound / targetOf(item), slope: targetOf(item) },
      { at: item.upperBound / targetOf(item), slope: -targetOf(item) },
    ])
    .sort((a, b) => a.at - b.at);
  let fraction = bounds[0]?.at ?? 0;
  let soFar = sumOf(items, ({ lowerBound }) => lowerBound);
  let slope = 0;
  for (const bound of bounds) {
    const atBound = soFar + (bound.at - fraction) * slope;
    if (atBound >= sum && slope > 0) return fraction + (sum - soFar) / slope;
    soFar = atBound;
    fraction = bound.at;
    slope += bound.slope;
  }
  return fraction;
}

function targetOf({ target }: AllocationItem): number {
  return Math.max(target, minTarget);
}

function sumOf<T>(items: readonly T[], amountOf: (item: T) => number): number {
  return items.reduce((sum, item) => sum + amountOf(item), 0);
}

// Range: an estimated size or cost, from the lowest to the highest. Numbers are unsigned 64-bit integers; sums and
// products that do not fit stay at the largest.

/** Minimum and maximum of a size or a cost. */
export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

export const largest: bigint = 2n ** 64n - 1n;
const tooLarge = 2 ** 64;

export const zero: Range = { min: 0n, max: 0n };
export const one: Range = { min: 1n, max: 1n };
/** A size about which nothing is known. */
export const unknownSize: Range = { min: 0n, max: largest };

export function exactly(value: bigint | number): Range {
  const whole = BigInt(value);
  return { min: whole, max: whole };
}

function saturated(value: bigint): bigint {
  return value > largest ? largest : value;
}

export function add(a: Range, b: Range): Range {
  return { min: saturated(a.min + b.min), max: saturated(a.max + b.max) };
}

export function multiply(a: Range, b: Range): Range {
  return { min: saturated(a.min * b.min), max: saturated(a.max * b.max) };
}

/** Rounds up. As in Go the product is computed in doubles, so large sizes lose digits. */
export function scale(range: Range, factor: number): Range {
  return { min: scaleOne(range.min, factor), max: scaleOne(range.max, factor) };
}

function scaleOne(value: bigint, factor: number): bigint {
  const product = Math.ceil(Number(value) * factor);
  return product >= tooLarge ? largest : BigInt(product);
}

/** Returns the smallest range that contains both. */
export function union(a: Range, b: Range): Range {
  return { min: smaller(a.min, b.min), max: largerOf(a.max, b.max) };
}

export function smaller(a: bigint, b: bigint): bigint {
  if (a < b) return a;
  return b;
}

function largerOf(a: bigint, b: bigint): bigint {
  if (a > b) return a;
  return b;
}

// Range: an estimated size or cost, from the least to the most. Numbers are unsigned integers of 64 bits; sums and products that
// do not fit stay at the largest.

export interface Range {
  readonly min: bigint;
  readonly max: bigint;
}

export const largest: bigint = 2n ** 64n - 1n;
const tooLarge = 2 ** 64;

export const zero: Range = { min: 0n, max: 0n };
export const one: Range = { min: 1n, max: 1n };
/** A size that nobody knows. */
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

/** Rounds up. The product is one of doubles, as in Go, so large sizes lose digits. */
export function scale(range: Range, factor: number): Range {
  return { min: scaleOne(range.min, factor), max: scaleOne(range.max, factor) };
}

function scaleOne(value: bigint, factor: number): bigint {
  const product = Math.ceil(Number(value) * factor);
  return product >= tooLarge ? largest : BigInt(product);
}

/** The smallest range that holds both. */
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

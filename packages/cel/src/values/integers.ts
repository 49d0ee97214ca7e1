// 64-bit integers: a plain number if that is exact, otherwise a bigint. Each integer has only one form, so === compares
// two.

export const minSafe: bigint = BigInt(Number.MIN_SAFE_INTEGER);
export const maxSafe: bigint = BigInt(Number.MAX_SAFE_INTEGER);
const minInt64 = -(2n ** 63n);
const maxInt64 = 2n ** 63n - 1n;
const uint64Size = 2n ** 64n;

/** A signed 64-bit integer. */
export type Int = number | bigint;

export const int64Range: { has(value: bigint): boolean } = {
  has: (value) => value >= minInt64 && value <= maxInt64,
};

export const uint64Range: { has(value: bigint): boolean } = {
  has: (value) => value >= 0n && value < uint64Size,
};

/** Returns the single form of an integer. The caller has checked that it fits 64 bits. */
export function intOf(value: bigint): Int {
  return value >= minSafe && value <= maxSafe ? Number(value) : value;
}

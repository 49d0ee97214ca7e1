// Amount: a quantity as apimachinery holds it: digits with a scale, or a decimal of any size. Which of the two it is decides
// whether it counts as an integer: 1000m does not, though it is equal to 1.
import { int64Range } from '../values/integers.ts';

/** `value · 10^scale`; undefined for a decimal. */
export type Amount = { readonly value: bigint; readonly scale: number } | undefined;

const form = /^([+-]?)(\d*)(?:\.(\d*))?([A-Za-z]*)([+-]?\d*)$/;

const decimalScales: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);

const binaryShifts: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

/** Most digits that are held with a scale. */
const maxDigits = 18;
const smallestScale = -9;

/** The amount of a text that is a quantity. */
export function readAmount(text: string): Amount {
  const [, sign = '', whole = '', fraction = '', suffix = '', exponent = ''] = form.exec(text) ?? [];
  const digits = whole.replace(/^0+(?=\d)/, '');
  const shift = binaryShifts.get(suffix);
  const decimalScale = exponent === '' ? decimalScales.get(suffix) : Number(exponent);
  const read =
    shift === undefined ? decimal({ digits, fraction, scale: decimalScale ?? 0 }) : binary(digits, fraction, shift);
  return read && sign === '-' ? { ...read, value: -read.value } : read;
}

function decimal({ digits, fraction, scale }: { digits: string; fraction: string; scale: number }): Amount {
  if (digits.length + fraction.length > maxDigits || scale - fraction.length < smallestScale) return undefined;
  return { value: BigInt(digits + fraction), scale: scale - fraction.length };
}

function binary(digits: string, fraction: string, shift: number): Amount {
  const precision = 15 - digits.length - Math.trunc((shift * 3) / 10) - 1;
  const value = BigInt(digits) << BigInt(shift);
  return fraction === '' && precision >= 0 && int64Range.has(value) ? { value, scale: 0 } : undefined;
}

/** The sum, which is a decimal when its digits do not fit. */
export function addAmounts(left: Amount, right: Amount): Amount {
  if (left === undefined || right === undefined) return undefined;
  if (right.value === 0n) return left;
  if (left.value === 0n) return right;
  const scale = Math.min(left.scale, right.scale);
  const [a, b] = [rescaled(left, scale), rescaled(right, scale)];
  if (a === undefined || b === undefined) return undefined;
  return int64Range.has(a + b) ? { value: a + b, scale } : undefined;
}

function rescaled({ value, scale }: NonNullable<Amount>, to: number): bigint | undefined {
  if (scale - to > 2 * maxDigits) return undefined;
  const scaled = value * 10n ** BigInt(scale - to);
  return int64Range.has(scaled) ? scaled : undefined;
}

/** The amount as an integer of 64 bits, or undefined when it is held with decimals or does not fit. */
export function integerOf(amount: Amount): bigint | undefined {
  if (amount === undefined || amount.scale < 0) return undefined;
  return amount.value === 0n ? 0n : rescaled(amount, 0);
}

/** The double that Go computes, which need not be the nearest one. */
export function approximate(amount: NonNullable<Amount>): number {
  return amount.scale === 0 ? Number(amount.value) : Number(amount.value) * Number(`1e${amount.scale}`);
}

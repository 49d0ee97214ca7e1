// Amount: a quantity as apimachinery represents it: digits with a scale, in 64 bits or as a decimal of any size. The
// representation decides whether it counts as an integer: 1.5Gi does not, although it is a whole number.
import { int64Range } from '../values/integers.ts';

/** `value · 10^scale` */
export interface Amount {
  readonly value: bigint;
  readonly scale: number;
  readonly isDecimal: boolean;
}

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

/** Maximum number of digits kept in 64 bits. */
const maxDigits = 18;
const smallestScale = -9;
const maxBinary = 2n ** 63n - 1n;

/** Returns the amount of a text that is a quantity. */
export function readAmount(text: string): Amount {
  const [, sign = '', whole = '', fraction = '', suffix = '', exponent = ''] = form.exec(text) ?? [];
  const digits = whole.replace(/^0+(?=\d)/, '');
  const shift = binaryShifts.get(suffix);
  const decimalScale = exponent === '' ? (decimalScales.get(suffix) ?? 0) : Number(exponent);
  const amount = shift === undefined ? decimal(digits, fraction, decimalScale) : binary(digits, fraction, shift);
  return sign === '-' ? negative(amount) : amount;
}

function decimal(digits: string, fraction: string, exponent: number): Amount {
  const scale = exponent - fraction.length;
  const isDecimal = digits.length + fraction.length > maxDigits || scale < smallestScale;
  return rounded({ value: BigInt(digits + fraction), scale, isDecimal });
}

function binary(digits: string, fraction: string, shift: number): Amount {
  const precision = 15 - digits.length - Math.trunc((shift * 3) / 10) - 1;
  const value = BigInt(digits + fraction) << BigInt(shift);
  const isDecimal = fraction !== '' || precision < 0 || !int64Range.has(value);
  // Binary amounts end at 2^63 - 1.
  if (value / 10n ** BigInt(fraction.length) > maxBinary) return { value: maxBinary, scale: 0, isDecimal: true };
  return rounded({ value, scale: -fraction.length, isDecimal });
}

/** Digits below a billionth are rounded away from zero. */
function rounded(amount: Amount): Amount {
  const excess = smallestScale - amount.scale;
  if (excess <= 0) return amount;
  if (excess > 2_000) return { ...amount, value: amount.value === 0n ? 0n : 1n, scale: smallestScale };
  const divisor = 10n ** BigInt(excess);
  const value = (amount.value + divisor - 1n) / divisor;
  return { ...amount, value, scale: smallestScale };
}

export function negative(amount: Amount): Amount {
  // In Go the smallest 64-bit integer has no negation.
  return { ...amount, value: amount.isDecimal ? -amount.value : BigInt.asIntN(64, -amount.value) };
}

/** Scales differ by more only in amounts that no quantity of Kubernetes has. */
const maxShift = 4_000;

/** Returns the sum, which is a decimal when its digits do not fit. */
export function addAmounts(left: Amount, right: Amount): Amount {
  const isDecimal = left.isDecimal || right.isDecimal;
  if (!isDecimal && right.value === 0n) return left;
  if (!isDecimal && left.value === 0n) return right;
  const scale = Math.min(left.scale, right.scale);
  const [a, b] = [rescaled(left, scale), rescaled(right, scale)];
  const value = a + b;
  return { value, scale, isDecimal: isDecimal || ![a, b, value].every((part) => int64Range.has(part)) };
}

function rescaled({ value, scale }: Amount, to: number): bigint {
  return value * 10n ** BigInt(Math.min(scale - to, maxShift));
}

/** Returns the amount as a 64-bit integer, or undefined when it is a decimal or does not fit. */
export function integerOf(amount: Amount): bigint | undefined {
  if (amount.isDecimal || amount.scale < 0) return undefined;
  if (amount.value === 0n) return 0n;
  const whole = amount.scale > maxDigits ? undefined : rescaled(amount, 0);
  return whole !== undefined && int64Range.has(whole) ? whole : undefined;
}

/** Returns the double that Go computes, which need not be the nearest one. */
export function approximate({ value, scale }: Amount): number {
  return scale === 0 ? Number(value) : Number(value) * Number(`1e${scale}`);
}

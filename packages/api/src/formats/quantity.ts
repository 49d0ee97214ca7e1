// Amounts of resources: "100m", "1.5Gi", "12e6", by the rules of apimachinery's api/resource. They are exact up to
// 2,000 digits, and no operation costs more than arithmetic on that many, because clients choose both digits and
// exponent.

/** How an amount is printed: with k, M, G; with Ki, Mi, Gi; or with e3, e6. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

interface QuantityParts {
  /** The amount is `unscaled · 10^scale`. */
  readonly unscaled: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** The original text, if it is canonical for Kubernetes. */
  readonly text?: string | undefined;
}

/**
 * An amount. Immutable. Make one with {@link parseQuantity}.
 *
 * @example
 * ```ts
 * import { parseQuantity } from '@kapstan/api';
 *
 * const limit = parseQuantity('1Gi');
 * console.log(limit.compare(parseQuantity('1000M')) > 0); // true
 * ```
 */
export class Quantity {
  readonly #unscaled: bigint;
  readonly #scale: number;
  readonly format: QuantityFormat;
  readonly #text: string | undefined;

  constructor(parts: QuantityParts) {
    this.#unscaled = parts.unscaled;
    this.#scale = parts.scale;
    this.format = parts.format;
    this.#text = parts.text;
  }

  /** -1, 0 or 1. */
  get sign(): number {
    return this.#unscaled === 0n ? 0 : this.#unscaled < 0n ? -1 : 1;
  }

  /** Returns a negative number, 0 or a positive number, whatever the formats. */
  compare(other: Quantity): number {
    if (this.sign !== other.sign) return this.sign < other.sign ? -1 : 1;
    // Neither amount has that many digits, so the one with the larger unit is larger.
    if (Math.abs(this.#scale - other.#scale) > mostDigits) return this.#scale > other.#scale ? this.sign : -this.sign;
    const scale = Math.min(this.#scale, other.#scale);
    const difference = this.#at(scale) - other.#at(scale);
    return difference === 0n ? 0 : difference < 0n ? -1 : 1;
  }

  /**
   * Returns the sum in the format of this amount, or of the other if this one is 0. Beyond two thousand digits it is
   * rounded away from zero; an amount smaller than all of these digits is ignored.
   */
  add(other: Quantity): Quantity {
    const format = this.sign === 0 ? other.format : this.format;
    if (other.sign === 0 || this.sign === 0) return (other.sign === 0 ? this : other).#as(format);
    if (Math.abs(this.#scale - other.#scale) > 2 * mostDigits) {
      return (this.#scale > other.#scale ? this : other).#as(format);
    }
    const scale = Math.min(this.#scale, other.#scale);
    return new Quantity({ ...shortened(this.#at(scale) + other.#at(scale), scale), format });
  }

  /** Returns the difference in the format of this amount, or of the other if this one is 0. */
  subtract(other: Quantity): Quantity {
    return this.add(other.negate());
  }

  negate(): Quantity {
    return new Quantity({ unscaled: -this.#unscaled, scale: this.#scale, format: this.format });
  }

  /**
   * Returns the amount in units of 10^scale (-3: thousandths), rounded away from zero. It gets at most 100 zeros, so a
   * larger amount is cut to that. Source: Quantity.ScaledValue.
   */
  scaledValue(scale = 0): bigint {
    if (this.#scale >= scale) return this.#at(Math.max(scale, this.#scale - mostZeros));
    return divideAwayFromZero(this.#unscaled, 10n ** BigInt(scale - this.#scale));
  }

  /**
   * Returns the amount rounded away from zero to whole units of 10^scale; the amount itself when it needs no rounding.
   * Source: Quantity.RoundUp.
   */
  roundedUp(scale: number): Quantity {
    if (this.#scale >= scale) return this;
    const rounded = new Quantity({ unscaled: this.scaledValue(scale), scale, format: this.format });
    return rounded.compare(this) === 0 ? this : rounded;
  }

  /** Returns the nearest double. */
  toNumber(): number {
    return Number(`${this.#unscaled}e${this.#scale}`);
  }

  /** Returns the canonical text. Source: Quantity.CanonicalizeBytes. */
  toString(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.#unscaled === 0n) return '0';
    if (this.format === 'BinarySI' && this.#scale <= mostZeros && this.#isBinaryExact())
      return formatBinary(this.scaledValue());
    return formatDecimal(this.#unscaled, this.#scale, this.format);
  }

  toJSON(): string {
    return this.toString();
  }

  /** Small and fractional amounts are printed as decimals, which avoids rounding. */
  #isBinaryExact(): boolean {
    const whole = this.scaledValue();
    if (whole > -1024n && whole < 1024n) return false;
    return this.#scale >= 0 || whole * 10n ** BigInt(-this.#scale) === this.#unscaled;
  }

  /** Returns the amount in units of 10^scale; `scale` must not be above its own. */
  #at(scale: number): bigint {
    if (this.#unscaled === 0n) return 0n;
    return this.#unscaled * 10n ** BigInt(Math.min(this.#scale - scale, 2 * mostDigits));
  }

  /** Returns the same amount without the text that it was read from. */
  #as(format: QuantityFormat): Quantity {
    return new Quantity({ unscaled: this.#unscaled, scale: this.#scale, format });
  }
}

const decimalSuffixes: ReadonlyMap<string, number> = new Map([
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
const decimalNames: ReadonlyMap<number, string> = new Map(
  [...decimalSuffixes].map(([name, exponent]) => [exponent, name]),
);
const binaryNames: readonly string[] = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const maxInt64 = 9_223_372_036_854_775_807n;
const maxDigits = 18;
const smallestScale = -9;
/**
 * Maximum number of digits of a parsed amount. Kubernetes accepts any number of them, and needs seconds for a million.
 */
const maxReadDigits = 1_000;
/** Maximum number of digits of a computed amount. */
const mostDigits = 2 * maxReadDigits;
/**
 * Maximum number of zeros after the digits of a whole number, which is used for remainders and comparisons with much
 * smaller numbers.
 */
const mostZeros = 100;
const mostUnscaled = 10n ** BigInt(mostDigits);
/** Kubernetes keeps the lowest 32 bits of a larger exponent, so that 1e4294967296 is 1; here it is refused. */
const largestExponent = 2_147_483_647;

// Parsed amounts. The same few are in all pods, and are read several times in each write.
const quantities = new Map<string, Quantity>();
const maxQuantities = 2_000;
// Longest text kept. V8 copies slices this short; a longer one would keep the whole body from which it was cut.
const maxKeptLength = 12;

/**
 * Parses an amount. Amounts below 1n are rounded away from zero. Throws TypeError with Kubernetes' text. Source:
 * ParseQuantity.
 */
export function parseQuantity(text: string): Quantity {
  const known = quantities.get(text);
  if (known !== undefined) return known;
  const quantity = readQuantity(text);
  if (text.length > maxKeptLength) return quantity;
  if (quantities.size >= maxQuantities) quantities.clear();
  quantities.set(text, quantity);
  return quantity;
}

function readQuantity(text: string): Quantity {
  const { sign, whole, fraction, suffix: suffixText } = partsOf(text);
  const suffix = parseSuffix(suffixText);
  if (suffix === undefined) throw new TypeError("unable to parse quantity's suffix");
  // Kubernetes uses this text for digits that it cannot read.
  if (whole.length + fraction.length > maxReadDigits) throw new TypeError('unable to parse numeric part of quantity');
  const digits = `${whole === '' ? '0' : whole}${fraction}`;
  const positive = BigInt(digits) * (suffix.base === 2 ? 2n ** BigInt(suffix.exponent) : 1n);
  const amount = clamp(positive, (suffix.base === 10 ? suffix.exponent : 0) - fraction.length, suffix.format);
  const isFraction = amount.unscaled > 0n && amount.scale < 0 && amount.unscaled < 10n ** BigInt(-amount.scale);
  const format = suffix.format === 'BinarySI' && isFraction ? 'DecimalSI' : suffix.format;
  const isCanonical = isWrittenCanonically({ digits, fractionDigits: fraction.length, suffix });
  const unscaled = sign === '-' ? -amount.unscaled : amount.unscaled;
  return new Quantity({ unscaled, scale: amount.scale, format, text: isCanonical ? text : undefined });
}

interface WrittenParts {
  readonly sign: string;
  /** The whole part without leading zeros. */
  readonly whole: string;
  readonly fraction: string;
  readonly suffix: string;
}

/**
 * Splits a text in one pass. A pattern would read a run of digits from each of its places, because digits may belong to
 * the number and to the suffix. Source: parseQuantityString.
 */
function partsOf(text: string): WrittenParts {
  const start = text[0] === '-' || text[0] === '+' ? 1 : 0;
  const wholeStart = endOfRun(text, start, zeros);
  const wholeEnd = endOfRun(text, wholeStart, digitRun);
  const fractionStart = text[wholeEnd] === '.' ? wholeEnd + 1 : wholeEnd;
  const fractionEnd = fractionStart === wholeEnd ? wholeEnd : endOfRun(text, fractionStart, digitRun);
  const lettersEnd = endOfRun(text, fractionEnd, suffixLetters);
  const exponentStart = text[lettersEnd] === '-' || text[lettersEnd] === '+' ? lettersEnd + 1 : lettersEnd;
  if (text === '' || endOfRun(text, exponentStart, digitRun) < text.length) {
    throw new TypeError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  return {
    sign: text.slice(0, start),
    whole: text.slice(wholeStart, wholeEnd),
    fraction: text.slice(fractionStart, fractionEnd),
    suffix: text.slice(fractionEnd),
  };
}

/** `run`: a sticky pattern of one repeated character class, which V8 matches many times faster than a loop. */
function endOfRun(text: string, start: number, run: RegExp): number {
  run.lastIndex = start;
  run.test(text);
  return run.lastIndex;
}

const zeros = /0*/y;
const digitRun = /[0-9]*/y;
const suffixLetters = /[eEinumkKMGTP]*/y;

/** Returns a whole number as an amount; default format DecimalSI. */
export function quantityOf(value: number | bigint, format: QuantityFormat = 'DecimalSI'): Quantity {
  return new Quantity({ unscaled: BigInt(value), scale: 0, format });
}

interface Suffix {
  readonly base: 2 | 10;
  readonly exponent: number;
  readonly format: QuantityFormat;
}

function parseSuffix(text: string): Suffix | undefined {
  const decimal = decimalSuffixes.get(text);
  if (decimal !== undefined) return { base: 10, exponent: decimal, format: 'DecimalSI' };
  const binary = binaryNames.indexOf(text);
  if (binary > 0) return { base: 2, exponent: binary * 10, format: 'BinarySI' };
  if (!/^[eE][+-]?[0-9]+$/.test(text)) return undefined;
  const exponent = Number(text.slice(1));
  return Math.abs(exponent) > largestExponent ? undefined : { base: 10, exponent, format: 'DecimalExponent' };
}

/**
 * Rounds up an amount finer than the smallest unit, so that a tiny request does not become zero. Binary amounts are capped at 2^63 - 1.
 */
function clamp(
  unscaled: bigint,
  scale: number,
  format: QuantityFormat,
): { readonly unscaled: bigint; readonly scale: number } {
  if (unscaled === 0n) return { unscaled, scale: 0 };
  if (scale < smallestScale - mostDigits) return { unscaled: 1n, scale: smallestScale };
  if (scale < smallestScale) {
    return { unscaled: divideAwayFromZero(unscaled, 10n ** BigInt(smallestScale - scale)), scale: smallestScale };
  }
  // A binary amount has no exponent of ten, so its scale is not above 0.
  const isTooLarge = format === 'BinarySI' && unscaled > maxInt64 * 10n ** BigInt(-scale);
  return isTooLarge ? { unscaled: maxInt64, scale: 0 } : { unscaled, scale };
}

/**
 * True if Kubernetes keeps the text, because its quick check takes it for canonical. The check accepts some others too
 * ("1.500", "+5Ki"), which are also kept. Source: ParseQuantity, the fast path.
 */
function isWrittenCanonically(written: {
  readonly digits: string;
  readonly fractionDigits: number;
  readonly suffix: Suffix;
}): boolean {
  const { digits, fractionDigits, suffix } = written;
  if (suffix.format === 'BinarySI') {
    const digitsLeft = 15 - digits.length - Math.trunc((suffix.exponent * 3) / 10) - 1;
    return fractionDigits === 0 && digitsLeft >= 0 && (BigInt(digits) & 7n) !== 0n;
  }
  const scale = suffix.exponent - fractionDigits;
  if (digits.length > maxDigits || scale < smallestScale) return false;
  return scale % 3 === 0 && !digits.endsWith('000') && !digits.startsWith('0');
}

function formatBinary(value: bigint): string {
  let mantissa = value;
  let power = 0;
  while (mantissa % 1024n === 0n && power < binaryNames.length - 1) {
    mantissa /= 1024n;
    power++;
  }
  return `${mantissa}${binaryNames[power]}`;
}

/** Prints the shortest mantissa with an exponent that is a multiple of three. */
function formatDecimal(unscaled: bigint, scale: number, format: QuantityFormat): string {
  const all = unscaled.toString();
  // A loop, because a pattern for the end tries every run of zeros within.
  let digits = all.length;
  while (all[digits - 1] === '0') digits -= 1;
  const trimmed = all.slice(0, digits);
  const exponent = scale + all.length - trimmed.length;
  const excess = ((exponent % 3) + 3) % 3;
  const mantissa = trimmed + '0'.repeat(excess);
  const rounded = exponent - excess;
  if (format === 'DecimalExponent' || rounded > mostDigits) return rounded === 0 ? mantissa : `${mantissa}e${rounded}`;
  // There is no suffix beyond exa, so the mantissa grows instead (Kubernetes loses the exponent here).
  const named = Math.min(rounded, 18);
  return `${mantissa}${'0'.repeat(rounded - named)}${decimalNames.get(named) ?? `e${named}`}`;
}

/** Returns the amount, cut to the number of digits that are kept. */
function shortened(unscaled: bigint, scale: number): { readonly unscaled: bigint; readonly scale: number } {
  let [kept, unit] = [unscaled, scale];
  while (kept > mostUnscaled || kept < -mostUnscaled) {
    kept = divideAwayFromZero(kept, 10n ** BigInt(maxReadDigits));
    unit += maxReadDigits;
  }
  return { unscaled: kept, scale: unit };
}

function divideAwayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (quotient * divisor === value) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

// Amounts of resources: "100m", "1.5Gi", "12e6". Exact at any size. Rules of apimachinery's api/resource.

/** How an amount is printed: with k, M, G; with Ki, Mi, Gi; or with e3, e6. */
export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

interface QuantityParts {
  /** The amount is `unscaled · 10^scale`. */
  readonly unscaled: bigint;
  readonly scale: number;
  readonly format: QuantityFormat;
  /** As it was written, where Kubernetes takes that for canonical. */
  readonly text?: string | undefined;
}

/** An amount. Immutable. Make one with {@link parseQuantity} or {@link quantityOf}. */
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

  /** Negative, 0 or positive, whatever the formats. */
  compare(other: Quantity): number {
    const scale = Math.min(this.#scale, other.#scale);
    const difference = this.#at(scale) - other.#at(scale);
    return difference === 0n ? 0 : difference < 0n ? -1 : 1;
  }

  /** The sum, in the format of this one, or of the other when this one is 0. */
  add(other: Quantity): Quantity {
    const scale = Math.min(this.#scale, other.#scale);
    const format = this.sign === 0 ? other.format : this.format;
    return new Quantity({ unscaled: this.#at(scale) + other.#at(scale), scale, format });
  }

  /** The difference, in the format of this one, or of the other when this one is 0. */
  subtract(other: Quantity): Quantity {
    return this.add(other.negate());
  }

  negate(): Quantity {
    return new Quantity({ unscaled: -this.#unscaled, scale: this.#scale, format: this.format });
  }

  /** The amount in units of 10^scale (-3: thousandths), rounded away from zero. Source: Quantity.ScaledValue. */
  scaledValue(scale = 0): bigint {
    if (this.#scale >= scale) return this.#at(scale);
    return divideAwayFromZero(this.#unscaled, 10n ** BigInt(scale - this.#scale));
  }

  /** The nearest double. */
  toNumber(): number {
    return Number(`${this.#unscaled}e${this.#scale}`);
  }

  /** The canonical text. Source: Quantity.CanonicalizeBytes. */
  toString(): string {
    if (this.#text !== undefined) return this.#text;
    if (this.#unscaled === 0n) return '0';
    if (this.format === 'BinarySI' && this.#isBinaryExact()) return formatBinary(this.scaledValue());
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

  /** The amount in units of 10^scale; `scale` is not above the own one. */
  #at(scale: number): bigint {
    return this.#unscaled * 10n ** BigInt(this.#scale - scale);
  }
}

const shape = /^([+-]?)0*([0-9]*)(?:\.([0-9]*))?([eEinumkKMGTP]*[-+]?[0-9]*)$/;
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
// A bound on what "1e999999999" may cost: far above anything an int32 exponent is used for.
const largestExponent = 100_000;

// The same few amounts stand in all pods, and are read several times in each write.
const quantities = new Map<string, Quantity>();
const maxQuantities = 2_000;
// Nor does a kept text hold on to more: V8 copies slices that are so short, where a longer one keeps the whole body it was cut from.
const maxKeptLength = 12;

/** Reads an amount. Throws TypeError with the text of Kubernetes. Amounts below 1n are rounded away from zero. Source: ParseQuantity. */
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
  const match = text === '' ? null : shape.exec(text);
  if (match === null) {
    throw new TypeError("quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'");
  }
  const [, sign = '', whole = '', fraction = '', suffixText = ''] = match;
  const suffix = parseSuffix(suffixText);
  if (suffix === undefined) throw new TypeError("unable to parse quantity's suffix");
  const digits = `${whole === '' ? '0' : whole}${fraction}`;
  const positive = BigInt(digits) * (suffix.base === 2 ? 2n ** BigInt(suffix.exponent) : 1n);
  const amount = clamp(positive, (suffix.base === 10 ? suffix.exponent : 0) - fraction.length, suffix.format);
  const isFraction = amount.unscaled > 0n && amount.scale < 0 && amount.unscaled < 10n ** BigInt(-amount.scale);
  const format = suffix.format === 'BinarySI' && isFraction ? 'DecimalSI' : suffix.format;
  const isCanonical = isWrittenCanonically({ digits, fractionDigits: fraction.length, suffix });
  const unscaled = sign === '-' ? -amount.unscaled : amount.unscaled;
  return new Quantity({ unscaled, scale: amount.scale, format, text: isCanonical ? text : undefined });
}

/** A whole number as an amount; default format DecimalSI. */
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

/** If you want some resources, you get some: what is too fine is rounded up. Binary amounts end at 2^63 - 1. */
function clamp(
  unscaled: bigint,
  scale: number,
  format: QuantityFormat,
): { readonly unscaled: bigint; readonly scale: number } {
  if (scale < smallestScale) {
    return { unscaled: divideAwayFromZero(unscaled, 10n ** BigInt(smallestScale - scale)), scale: smallestScale };
  }
  const isTooLarge = format === 'BinarySI' && unscaled > maxInt64 * 10n ** BigInt(-scale);
  return isTooLarge ? { unscaled: maxInt64, scale: 0 } : { unscaled, scale };
}

/**
 * Kubernetes keeps the text of an amount that its quick check takes for canonical. The check lets some others through
 * ("1.500", "+5Ki"), and those are kept too. Source: ParseQuantity, the fast path.
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

/** The shortest mantissa with an exponent that is a multiple of three. */
function formatDecimal(unscaled: bigint, scale: number, format: QuantityFormat): string {
  const all = unscaled.toString();
  // By index: a pattern for the end looks at each run of zeros within, from each of its places.
  let digits = all.length;
  while (all[digits - 1] === '0') digits -= 1;
  const trimmed = all.slice(0, digits);
  const exponent = scale + all.length - trimmed.length;
  const excess = ((exponent % 3) + 3) % 3;
  const mantissa = trimmed + '0'.repeat(excess);
  const rounded = exponent - excess;
  if (format === 'DecimalExponent') return rounded === 0 ? mantissa : `${mantissa}e${rounded}`;
  // Beyond exa there is no name: the mantissa grows instead (Kubernetes loses the exponent here).
  const named = Math.min(rounded, 18);
  return `${mantissa}${'0'.repeat(rounded - named)}${decimalNames.get(named) ?? `e${named}`}`;
}

function divideAwayFromZero(value: bigint, divisor: bigint): bigint {
  const quotient = value / divisor;
  if (quotient * divisor === value) return quotient;
  return value < 0n ? quotient - 1n : quotient + 1n;
}

// Formats doubles as Go does.

/** From this exponent on, %g with the shortest digits uses the scientific form. */
const scientificFrom = 6;

/** Formats like Go's %g with the shortest digits: `1.5`, `1e+06`, `+Inf`. */
export function formatDoubleG(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  if (!Number.isFinite(value)) return value > 0 ? '+Inf' : '-Inf';
  if (value === 0) return Object.is(value, -0) ? '-0' : '0';
  const [mantissa = '', exponentText = ''] = value.toExponential().split('e');
  const exponent = Number(exponentText);
  if (exponent >= -4 && exponent < scientificFrom) return formatDoubleF(value);
  const digits = Math.abs(exponent).toString().padStart(2, '0');
  return `${mantissa}e${exponent < 0 ? '-' : '+'}${digits}`;
}

/** Formats like Go's FormatFloat(value, 'f', -1, 64): the shortest digits without an exponent. */
export function formatDoubleF(value: number): string {
  if (!Number.isFinite(value)) return Number.isNaN(value) ? 'NaN' : value > 0 ? '+Inf' : '-Inf';
  const text = Object.is(value, -0) ? '-0' : String(value);
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponentText = ''] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponentText);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  return `${sign}${digits.padEnd(point, '0')}`;
}

/** Formats like Go's %.{precision}f, exactly for every number of digits. */
export function formatFixed(value: number, precision: number): string {
  if (!Number.isFinite(value)) return formatDoubleF(value);
  const { sign, numerator, power } = exactParts(value);
  const scaled = roundedDivision(numerator * 10n ** BigInt(precision), power);
  const digits = scaled.toString().padStart(precision + 1, '0');
  const whole = digits.slice(0, digits.length - precision);
  return `${sign}${whole}${precision === 0 ? '' : `.${digits.slice(digits.length - precision)}`}`;
}

/** Returns the exact value of a double as numerator / 2^power, or numerator · 2^-power. */
function exactParts(value: number): { readonly sign: string; readonly numerator: bigint; readonly power: number } {
  const view = new DataView(new ArrayBuffer(8));
  view.setFloat64(0, value);
  const bits = view.getBigUint64(0);
  const exponent = Number((bits >> 52n) & 0x7ffn);
  const fraction = bits & 0xf_ffff_ffff_ffffn;
  const numerator = exponent === 0 ? fraction : fraction | (1n << 52n);
  return { sign: bits >> 63n === 1n ? '-' : '', numerator, power: 1075 - Math.max(exponent, 1) };
}

/** Returns numerator / 2^power, rounding ties to even. */
function roundedDivision(numerator: bigint, power: number): bigint {
  if (power <= 0) return numerator << BigInt(-power);
  return roundedRatio(numerator, 1n << BigInt(power));
}

/** Formats like Go's %.{precision}e: one digit before the point, ties to even, at least two digits of exponent. */
export function formatScientific(value: number, precision: number): string {
  if (!Number.isFinite(value)) return formatDoubleF(value);
  const { sign, numerator, power } = exactParts(value);
  if (numerator === 0n) return `${sign}${withPoint('0'.repeat(precision + 1))}e+00`;
  const guess = Number(value.toExponential().split('e')[1]);
  const [digits, exponent] = scientificDigits({ numerator, power }, { precision, guess });
  const exponentDigits = Math.abs(exponent).toString().padStart(2, '0');
  return `${sign}${withPoint(digits)}e${exponent < 0 ? '-' : '+'}${exponentDigits}`;
}

function withPoint(digits: string): string {
  return digits.length === 1 ? digits : `${digits[0]}.${digits.slice(1)}`;
}

/** Returns `precision + 1` digits and the exponent of the first; rounding may carry into one more digit. */
function scientificDigits(
  exact: { readonly numerator: bigint; readonly power: number },
  { precision, guess }: { readonly precision: number; readonly guess: number },
): [digits: string, exponent: number] {
  const shift = precision - guess;
  const scaled =
    shift >= 0
      ? roundedDivision(exact.numerator * 10n ** BigInt(shift), exact.power)
      : roundedRatio(
          exact.numerator << BigInt(Math.max(0, -exact.power)),
          (10n ** BigInt(-shift)) << BigInt(Math.max(0, exact.power)),
        );
  const digits = scaled.toString();
  return digits.length > precision + 1 ? [digits.slice(0, -1), guess + 1] : [digits, guess];
}

function roundedRatio(numerator: bigint, divisor: bigint): bigint {
  const quotient = numerator / divisor;
  const twice = (numerator % divisor) * 2n;
  return twice > divisor || (twice === divisor && quotient % 2n === 1n) ? quotient + 1n : quotient;
}

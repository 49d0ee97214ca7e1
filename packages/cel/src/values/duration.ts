// CelDuration: a span of time in nanoseconds, like Go's time.Duration: at most 292 years.
import { CelBox } from './cel-box.ts';
import { formatDoubleF } from './go-number.ts';

const nanosPerSecond = 1_000_000_000n;

/** A value of the type `google.protobuf.Duration`. */
export class CelDuration extends CelBox {
  readonly kind = 'duration';
  /** A signed integer of 64 bits. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    super();
    this.nanos = nanos;
  }

  /** Seconds as a double, like Go's Seconds. */
  get seconds(): number {
    return Number(this.nanos / nanosPerSecond) + Number(this.nanos % nanosPerSecond) / 1e9;
  }

  override toString(): string {
    return `${formatDoubleF(this.seconds)}s`;
  }
}

const units: ReadonlyMap<string, bigint> = new Map([
  ['ns', 1n],
  ['us', 1_000n],
  ['\u00b5s', 1_000n],
  ['\u03bcs', 1_000n],
  ['ms', 1_000_000n],
  ['s', nanosPerSecond],
  ['m', 60n * nanosPerSecond],
  ['h', 3_600n * nanosPerSecond],
]);

const maxMagnitude = 2n ** 63n;
const part = /(\d*)(?:\.(\d*))?([^\d.]+)/y;

/** Parses a duration like Go's time.ParseDuration: `1h30m`, `-1.5s`. Returns undefined for other text. */
export function parseGoDuration(text: string): CelDuration | undefined {
  const isNegative = text.startsWith('-');
  const rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === '0') return new CelDuration(0n);
  let total = 0n;
  part.lastIndex = 0;
  let at = 0;
  while (at < rest.length) {
    part.lastIndex = at;
    const nanos = partNanos(part.exec(rest));
    if (nanos === undefined) return undefined;
    total += nanos;
    if (total > maxMagnitude) return undefined;
    at = part.lastIndex;
  }
  if (rest === '' || (!isNegative && total === maxMagnitude)) return undefined;
  return new CelDuration(isNegative ? -total : total);
}

function partNanos(match: RegExpExecArray | null): bigint | undefined {
  if (match === null) return undefined;
  const [, whole = '', fraction = '', name = ''] = match;
  const unit = units.get(name);
  if (unit === undefined || whole + fraction === '') return undefined;
  const digits = whole.replace(/^0+/, '');
  // A longer number is too large, and would be slow to read.
  if (digits.length > 19) return undefined;
  const nanos = BigInt(digits) * unit + fractionNanos(fraction, unit);
  return nanos > maxMagnitude ? undefined : nanos;
}

/** Digits that do not fit into a 64-bit integer are ignored, and the product is computed in doubles, as in Go. */
function fractionNanos(fraction: string, unit: bigint): bigint {
  if (fraction === '') return 0n;
  let value = 0n;
  let scale = 1;
  for (const digit of fraction) {
    if (value > (maxMagnitude - 1n) / 10n) break;
    const next = value * 10n + BigInt(digit);
    if (next > maxMagnitude) break;
    value = next;
    scale *= 10;
  }
  return BigInt(Math.trunc(Number(value) * (Number(unit) / scale)));
}

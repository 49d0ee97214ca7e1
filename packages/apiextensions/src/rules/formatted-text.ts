// Reads texts of formats that expressions see as times and bytes. Source: kube-openapi pkg/validation/strfmt.
import { parseInt64 } from '@kapstan/api/internal';
import { CelDuration, CelFailure, parseGoDuration, parseTimestamp } from '@kapstan/cel';

type ReadText = (text: string) => unknown;

/** Returns how texts of a format are read; undefined for formats whose values stay texts. */
export function formattedText(format: string): ReadText | undefined {
  return readers.get(format);
}

const readers: ReadonlyMap<string, ReadText> = new Map([
  ['duration', readDuration],
  ['date', (text: string) => readTime(text, `${text}T00:00:00Z`, 'date')],
  ['date-time', readDateTime],
  ['byte', readBytes],
]);

function readTime(text: string, timestamp: string, what: string): unknown {
  const time = parseTimestamp(timestamp);
  if (time !== undefined && time !== 'overflow') return time;
  return new CelFailure(
    `Invalid ${what} formatted string ${text}: parsing time ${JSON.stringify(text)}: not a ${what}`,
  );
}

/** An empty text means the beginning of 1970, and a time without an offset is in UTC. */
function readDateTime(text: string): unknown {
  if (text === '') return parseTimestamp('1970-01-01T00:00:00Z');
  const isLocal = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?$/.test(text);
  return readTime(text, isLocal ? `${text}Z` : text, 'date-time');
}

/** Units by all their names; of the last name a prefix suffices. */
const units: readonly (readonly [nanos: bigint, ...names: string[]])[] = [
  [1n, 'ns', 'nano'],
  [1_000n, 'us', '\u00b5s', 'micro'],
  [1_000_000n, 'ms', 'milli'],
  [1_000_000_000n, 's', 'sec'],
  [60_000_000_000n, 'm', 'min'],
  [3_600_000_000_000n, 'h', 'hr', 'hour'],
  [86_400_000_000_000n, 'd', 'day'],
  [604_800_000_000_000n, 'w', 'wk', 'week'],
];

/** Reads durations as Go writes them, or amounts of time anywhere in the text: `2 weeks and 1 day`. */
function readDuration(text: string): unknown {
  const plain = parseGoDuration(text);
  if (plain !== undefined) return plain;
  const invalid = (why: string): CelFailure => new CelFailure(`Invalid duration ${text}: ${why}`);
  let nanos: bigint | undefined;
  for (const [, amount = '', name = ''] of text.matchAll(/(?<!\d)(\d+)\s*([A-Za-z\u00b5]+)/g)) {
    const count = parseInt64(amount);
    if (count === undefined) return invalid(`strconv.Atoi: parsing "${amount}": value out of range`);
    const unit = unitOf(name.toLowerCase());
    if (unit !== undefined) nanos = BigInt.asIntN(64, (nanos ?? 0n) + count * unit);
  }
  return nanos === undefined ? invalid(`unable to parse ${text} as duration`) : new CelDuration(nanos);
}

function unitOf(name: string): bigint | undefined {
  return units.find(([, ...names]) => names.includes(name) || name.startsWith(names.at(-1) ?? ''))?.[0];
}

/** Decodes URL-safe base64, as Kubernetes does, although the format check accepts only the standard alphabet. */
function readBytes(text: string): unknown {
  const wrong = /[^A-Za-z0-9_\-=\r\n]/.exec(text);
  if (wrong !== null) {
    const why = `illegal base64 data at input byte ${wrong.index}`;
    return new CelFailure(`Invalid byte formatted string ${text}: ${why}`);
  }
  return new Uint8Array(Buffer.from(text, 'base64url'));
}

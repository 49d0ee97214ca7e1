// Reads timestamps as Go's time.Parse reads RFC 3339, with Go's errors, and writes the one form that Kubernetes uses.
// Used by typed-decoder.ts for meta/v1 Time and MicroTime.
import { formatTime, parseTime } from '@kapstan/api';

export type TimePrecision = 'seconds' | 'micros';

const layouts: Readonly<Record<TimePrecision, string>> = {
  seconds: '2006-01-02T15:04:05Z07:00',
  micros: '2006-01-02T15:04:05.000000Z07:00',
};

/** A piece of a layout: its name in Go's errors, and the pattern of its text. */
type LayoutElement = readonly [name: string, pattern: RegExp];

const dateAndTime: readonly LayoutElement[] = [
  ['2006', /\d{4}/y],
  ['-', /-/y],
  ['01', /\d\d/y],
  ['-', /-/y],
  ['02', /\d\d/y],
  ['T', /T/y],
  ['15', /\d\d/y],
  [':', /:/y],
  ['04', /\d\d/y],
  [':', /:/y],
  ['05', /\d\d/y],
];
const zone: LayoutElement = ['Z07:00', /Z|[+-]\d\d:\d\d/y];
const elements: Readonly<Record<TimePrecision, readonly LayoutElement[]>> = {
  seconds: [...dateAndTime, ['', /(?:[.,]\d+)?/y], zone],
  micros: [...dateAndTime, ['.000000', /[.,]\d{6}/y], zone],
};

/** The error for a text that is not a valid time. The message is Go's. */
export class GoTimeError extends Error {}

/** Returns the canonical form in UTC. Throws {@link GoTimeError}. */
export function canonicalTime(text: string, precision: TimePrecision): string {
  const parts = split(text, precision);
  const fault = rangeFault(parts);
  if (fault !== undefined) throw new GoTimeError(`parsing time ${JSON.stringify(text)}: ${fault} out of range`);
  const utc = formatTime(parseTime(`${parts.slice(0, 11).join('')}${parts[12]}`));
  return precision === 'seconds' ? utc : `${utc.slice(0, -1)}.${(parts[11] ?? '').slice(1)}Z`;
}

function split(text: string, precision: TimePrecision): readonly string[] {
  const parts: string[] = [];
  let at = 0;
  for (const [name, pattern] of elements[precision]) {
    pattern.lastIndex = at;
    const part = pattern.exec(text)?.[0];
    if (part === undefined) throw new GoTimeError(cannotParse(text, precision, [text.slice(at), name]));
    parts.push(part);
    at += part.length;
  }
  if (at < text.length) {
    throw new GoTimeError(`parsing time ${JSON.stringify(text)}: extra text: ${JSON.stringify(text.slice(at))}`);
  }
  return parts;
}

function cannotParse(text: string, precision: TimePrecision, [rest, name]: readonly [string, string]): string {
  return `parsing time ${JSON.stringify(text)} as "${layouts[precision]}": cannot parse ${JSON.stringify(rest)} as "${name}"`;
}

function rangeFault(parts: readonly string[]): string | undefined {
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = [0, 2, 4, 6, 8, 10].map((i) =>
    Number(parts[i]),
  );
  if (month < 1 || month > 12) return 'month';
  if (hour > 23) return 'hour';
  if (minute > 59) return 'minute';
  if (second > 59) return 'second';
  if (day < 1 || day > daysIn(year, month)) return 'day';
  const offset = parts[12] ?? 'Z';
  if (offset === 'Z') return undefined;
  if (Number(offset.slice(1, 3)) > 23) return 'time zone offset hour';
  return Number(offset.slice(4)) > 59 ? 'time zone offset minute' : undefined;
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}

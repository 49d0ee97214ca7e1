// Time zones: a name of the IANA database, or an offset such as `-08:00`.
import { goQuote, toDate } from '@kapstan/api/internal';
import { CelFailure } from '../values/failure.ts';

/** Returns the seconds to add to UTC in a zone at a moment, or the error for an unknown zone. */
export function zoneOffset(zone: string, seconds: number): number | CelFailure {
  const colon = zone.indexOf(':');
  if (colon < 0) return namedOffset(zone, seconds);
  const hours = goInt(zone.slice(0, colon));
  if (hours instanceof CelFailure) return hours;
  const minutes = goInt(zone.slice(colon + 1));
  if (minutes instanceof CelFailure) return minutes;
  return (zone.startsWith('-') ? hours * 60 - minutes : hours * 60 + minutes) * 60;
}

function goInt(text: string): number | CelFailure {
  if (/^[+-]?\d{1,15}$/.test(text)) return Number(text);
  return new CelFailure(`strconv.Atoi: parsing ${goQuote(text)}: invalid syntax`);
}

const formats = new Map<string, Intl.DateTimeFormat | undefined>();
const maxFormats = 1000;

function namedOffset(zone: string, seconds: number): number | CelFailure {
  if (zone === '' || zone === 'UTC') return 0;
  if (zone.includes('..') || zone.startsWith('/') || zone.includes('\\')) {
    return new CelFailure('time: invalid location name');
  }
  const format = formatOf(zone);
  if (format === undefined) return new CelFailure(`unknown time zone ${zone}`);
  return localSeconds(format, seconds) - seconds;
}

function formatOf(zone: string): Intl.DateTimeFormat | undefined {
  if (formats.has(zone)) return formats.get(zone);
  if (formats.size >= maxFormats) formats.clear();
  const format = /^[A-Z][\w+-]*(?:\/[\w+-]+)*$/i.test(zone) ? newFormat(zone) : undefined;
  formats.set(zone, format);
  return format;
}

function newFormat(timeZone: string): Intl.DateTimeFormat | undefined {
  const digits = {
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  } as const;
  try {
    return new Intl.DateTimeFormat('en-US', {
      ...digits,
      timeZone,
      era: 'short',
      hourCycle: 'h23',
      calendar: 'iso8601',
    });
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

/** Returns the local time of the zone as seconds since 1970. */
function localSeconds(format: Intl.DateTimeFormat, seconds: number): number {
  const parts = new Map(format.formatToParts(toDate(seconds * 1000)).map(({ type, value }) => [type, value]));
  const number = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.get(type));
  const year = /^B/.test(parts.get('era') ?? '') ? 1 - number('year') : number('year');
  const date = toDate(0);
  date.setUTCFullYear(year, number('month') - 1, number('day'));
  return date.getTime() / 1000 + number('hour') * 3600 + number('minute') * 60 + number('second');
}

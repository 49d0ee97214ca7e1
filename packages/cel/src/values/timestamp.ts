// CelTimestamp: a moment with nanoseconds, in the years 1 to 9999, with its original offset (which only its text
// shows).
import { CelBox } from './cel-box.ts';

const minSeconds = -62_135_596_800;
const maxSeconds = 253_402_300_799;
const nanosPerSecond = 1_000_000_000n;

/** A value of the type `google.protobuf.Timestamp`. */
export class CelTimestamp extends CelBox {
  readonly kind = 'timestamp';
  /** Seconds since 1970, rounded down. */
  readonly seconds: number;
  readonly nanos: number;
  readonly offsetSeconds: number;

  constructor(seconds: number, nanos = 0, offsetSeconds = 0) {
    super();
    this.seconds = seconds;
    this.nanos = nanos;
    this.offsetSeconds = offsetSeconds;
  }

  /** Nanoseconds since 1970. */
  get totalNanos(): bigint {
    return BigInt(this.seconds) * nanosPerSecond + BigInt(this.nanos);
  }

  /** Returns the moment some nanoseconds later, or undefined when it is out of range. */
  plus(nanos: bigint): CelTimestamp | undefined {
    const total = this.totalNanos + nanos;
    const rest = ((total % nanosPerSecond) + nanosPerSecond) % nanosPerSecond;
    const seconds = Number((total - rest) / nanosPerSecond);
    return isInRange(seconds) ? new CelTimestamp(seconds, Number(rest), this.offsetSeconds) : undefined;
  }

  /** Returns RFC 3339 with the original offset. */
  override toString(): string {
    const fields = civilFields(this.seconds + this.offsetSeconds);
    const date = `${pad(fields.year, 4)}-${pad(fields.month)}-${pad(fields.day)}`;
    const time = `${pad(fields.hour)}:${pad(fields.minute)}:${pad(fields.second)}`;
    const fraction = this.nanos === 0 ? '' : `.${pad(this.nanos, 9).replace(/0+$/, '')}`;
    return `${date}T${time}${fraction}${this.#zone()}`;
  }

  #zone(): string {
    if (this.offsetSeconds === 0) return 'Z';
    const minutes = Math.trunc(Math.abs(this.offsetSeconds) / 60);
    return `${this.offsetSeconds < 0 ? '-' : '+'}${pad(Math.trunc(minutes / 60))}:${pad(minutes % 60)}`;
  }
}

export function isInRange(seconds: number): boolean {
  return seconds >= minSeconds && seconds <= maxSeconds;
}

function pad(value: number, digits = 2): string {
  return String(value).padStart(digits, '0');
}

export interface CivilFields {
  readonly year: number;
  /** Month, 1 to 12. */
  readonly month: number;
  readonly day: number;
  readonly hour: number;
  readonly minute: number;
  readonly second: number;
  /** 0 for Sunday. */
  readonly weekday: number;
  /** 1 = the first of January. */
  readonly yearDay: number;
}

const secondsPerDay = 86_400;
const monthDays = [31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31];

/** Returns the calendar fields of seconds since 1970, in UTC. */
export function civilFields(seconds: number): CivilFields {
  const days = Math.floor(seconds / secondsPerDay);
  const rest = seconds - days * secondsPerDay;
  // Counts days since 1 March of the year 0, in eras of 400 years.
  const shifted = days + 719_468;
  const era = Math.floor(shifted / 146_097);
  const dayOfEra = shifted - era * 146_097;
  const yearOfEra = Math.floor(
    (dayOfEra - Math.floor(dayOfEra / 1460) + Math.floor(dayOfEra / 36_524) - Math.floor(dayOfEra / 146_096)) / 365,
  );
  const dayOfYear = dayOfEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100));
  const shiftedMonth = Math.floor((5 * dayOfYear + 2) / 153);
  const day = dayOfYear - Math.floor((153 * shiftedMonth + 2) / 5) + 1;
  const month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9;
  const year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0);
  return {
    year,
    month,
    day,
    hour: Math.floor(rest / 3600),
    minute: Math.floor((rest % 3600) / 60),
    second: rest % 60,
    weekday: (((days + 4) % 7) + 7) % 7,
    yearDay: days - daysBefore(year, 1, 1) + 1,
  };
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function daysIn(year: number, month: number): number {
  return month === 2 && isLeap(year) ? 29 : (monthDays[month - 1] ?? 0);
}

/** Returns the days from 1970 to a date. */
function daysBefore(year: number, month: number, day: number): number {
  const shiftedYear = month <= 2 ? year - 1 : year;
  const era = Math.floor(shiftedYear / 400);
  const yearOfEra = shiftedYear - era * 400;
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + day - 1;
  const dayOfEra = yearOfEra * 365 + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100) + dayOfYear;
  return era * 146_097 + dayOfEra - 719_468;
}

const form = /^(\d{4})-(\d{2})-(\d{2})T(\d{1,2}):(\d{2}):(\d{2})(?:[.,](\d+))?(?:Z|([-+])(\d{2}):(\d{2}))$/;

/**
 * Parses RFC 3339 like Go's time.Parse, which also accepts an hour of one digit and a comma before the fraction.
 * Returns undefined for other text, and 'overflow' when the moment is out of range.
 */
export function parseTimestamp(text: string): CelTimestamp | 'overflow' | undefined {
  const match = form.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map(Number);
  if (month < 1 || month > 12 || day < 1 || day > daysIn(year, month)) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const [fraction = '', sign = '+', offsetHours = '0', offsetMinutes = '0'] = match.slice(7);
  if (Number(offsetHours) > 24 || Number(offsetMinutes) > 60) return undefined;
  const offset = (sign === '-' ? -1 : 1) * (Number(offsetHours) * 3600 + Number(offsetMinutes) * 60);
  const seconds = daysBefore(year, month, day) * secondsPerDay + hour * 3600 + minute * 60 + second - offset;
  if (!isInRange(seconds)) return 'overflow';
  return new CelTimestamp(seconds, Number(fraction.slice(0, 9).padEnd(9, '0')), offset === 0 ? 0 : offset);
}

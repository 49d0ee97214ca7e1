// Fields of timestamps, in UTC or in a time zone, and whole units of durations.
import { type FunctionDeclaration, memberOverload } from '../types/function-declaration.ts';
import type { CelDuration } from '../values/duration.ts';
import { isFailure } from '../values/failure.ts';
import { intOf } from '../values/integers.ts';
import { type CelTimestamp, type CivilFields, civilFields } from '../values/timestamp.ts';
import { zoneOffset } from './time-zone.ts';

type Field = (fields: CivilFields, timestamp: CelTimestamp) => number;

interface TimeFunction {
  readonly name: string;
  readonly id: string;
  readonly field: Field;
  /** Id and nanoseconds of the unit, if durations have it too. */
  readonly unit?: readonly [id: string, nanos: bigint];
}

function timeFunction({ name, id, field, unit }: TimeFunction): FunctionDeclaration {
  const inUtc = (timestamp: CelTimestamp): number => field(civilFields(timestamp.seconds), timestamp);
  const inZone = (timestamp: CelTimestamp, zone: string): unknown => {
    const offset = zoneOffset(zone, timestamp.seconds);
    return isFailure(offset) ? offset : field(civilFields(timestamp.seconds + offset), timestamp);
  };
  const overloads = [
    memberOverload(id, 'timestamp -> int', inUtc),
    memberOverload(`${id}_with_tz`, 'timestamp, string -> int', inZone),
  ];
  if (unit === undefined) return { name, overloads };
  const [unitId, nanos] = unit;
  const whole = (duration: CelDuration): unknown => intOf(duration.nanos / nanos);
  return { name, overloads: [...overloads, memberOverload(unitId, 'duration -> int', whole)] };
}

export const timeFunctions: readonly FunctionDeclaration[] = [
  timeFunction({ name: 'getFullYear', id: 'timestamp_to_year', field: ({ year }) => year }),
  timeFunction({ name: 'getMonth', id: 'timestamp_to_month', field: ({ month }) => month - 1 }),
  timeFunction({ name: 'getDayOfYear', id: 'timestamp_to_day_of_year', field: ({ yearDay }) => yearDay - 1 }),
  timeFunction({ name: 'getDayOfMonth', id: 'timestamp_to_day_of_month', field: ({ day }) => day - 1 }),
  timeFunction({ name: 'getDate', id: 'timestamp_to_day_of_month_1_based', field: ({ day }) => day }),
  timeFunction({ name: 'getDayOfWeek', id: 'timestamp_to_day_of_week', field: ({ weekday }) => weekday }),
  timeFunction({
    name: 'getHours',
    id: 'timestamp_to_hours',
    field: ({ hour }) => hour,
    unit: ['duration_to_hours', 3_600_000_000_000n],
  }),
  timeFunction({
    name: 'getMinutes',
    id: 'timestamp_to_minutes',
    field: ({ minute }) => minute,
    unit: ['duration_to_minutes', 60_000_000_000n],
  }),
  timeFunction({
    name: 'getSeconds',
    id: 'timestamp_to_seconds',
    field: ({ second }) => second,
    unit: ['duration_to_seconds', 1_000_000_000n],
  }),
  timeFunction({
    name: 'getMilliseconds',
    id: 'timestamp_to_milliseconds',
    field: (_, { nanos }) => Math.floor(nanos / 1_000_000),
    unit: ['duration_to_milliseconds', 1_000_000n],
  }),
];

import { expect, it } from 'vitest';
import { cronScheduleError } from './cron-schedule.ts';

it.each([
  '* * * * *',
  '*/5 0-6,12 1 jan-mar MON',
  '0 0 ? * 0',
  '1-30/2 * * * *',
  '5/15 * * * *',
  '@hourly',
  '@every 1h30m',
])('%s is a schedule', (schedule) => {
  expect(cronScheduleError(schedule)).toBeUndefined();
});

it.each([
  ['', 'empty spec string'],
  ['* * * *', 'expected exactly 5 fields, found 4: [* * * *]'],
  ['60 * * * *', 'end of range (60) above maximum (59): 60'],
  ['* * 0 * *', 'beginning of range (0) below minimum (1): 0'],
  ['5-1 * * * *', 'beginning of range (5) beyond end of range (1): 5-1'],
  ['*/0 * * * *', 'step of range should be a positive number: */0'],
  ['1-2-3 * * * *', 'too many hyphens: 1-2-3'],
  ['1/2/3 * * * *', 'too many slashes: 1/2/3'],
  ['x * * * *', 'failed to parse int from x: strconv.Atoi: parsing "x": invalid syntax'],
  ['@fortnightly', 'unrecognized descriptor: @fortnightly'],
  ['@every soon', 'failed to parse duration @every soon: time: invalid duration "soon"'],
])('"%s" is none', (schedule, error) => {
  expect(cronScheduleError(schedule)).toBe(error);
});

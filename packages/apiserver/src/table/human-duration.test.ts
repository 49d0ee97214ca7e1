import { expect, it } from 'vitest';
import { humanDuration } from './human-duration.ts';

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;

it.each([
  [-2 * second, '<invalid>'],
  [-second, '0s'],
  [999, '0s'],
  [119 * second, '119s'],
  [120 * second, '2m'],
  [125 * second, '2m5s'],
  [10 * minute + 5 * second, '10m'],
  [179 * minute, '179m'],
  [3 * hour, '3h'],
  [7 * hour + 59 * minute, '7h59m'],
  [8 * hour + 59 * minute, '8h'],
  [47 * hour, '47h'],
  [48 * hour, '2d'],
  [50 * hour, '2d2h'],
  [8 * day + 5 * hour, '8d'],
  [729 * day, '729d'],
  [730 * day, '2y'],
  [735 * day, '2y5d'],
  [8 * 365 * day + day, '8y'],
])('%d ms print as %s', (durationMs, text) => {
  expect(humanDuration(durationMs)).toBe(text);
});

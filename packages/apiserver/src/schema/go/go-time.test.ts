import { describe, expect, it } from 'vitest';
import { canonicalTime, type TimePrecision } from './go-time.ts';

describe('timestamps as Go reads them', () => {
  it.each<readonly [text: string, precision: TimePrecision, canonical: string]>([
    ['2024-01-02T03:04:05Z', 'seconds', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05.999999999Z', 'seconds', '2024-01-02T03:04:05Z'],
    ['2024-01-02T03:04:05,5+05:30', 'seconds', '2024-01-01T21:34:05Z'],
    ['2024-02-29T23:30:00-01:00', 'seconds', '2024-03-01T00:30:00Z'],
    ['0001-01-01T00:00:00Z', 'seconds', '0001-01-01T00:00:00Z'],
    ['2024-01-02T03:04:05.000001Z', 'micros', '2024-01-02T03:04:05.000001Z'],
  ])('%s (%s) is %s', (text, precision, canonical) => {
    expect(canonicalTime(text, precision)).toBe(canonical);
  });

  const layout = '"2006-01-02T15:04:05Z07:00"';
  it.each<readonly [text: string, message: string]>([
    ['', `parsing time "" as ${layout}: cannot parse "" as "2006"`],
    ['2024', `parsing time "2024" as ${layout}: cannot parse "" as "-"`],
    ['2024-1-02T03:04:05Z', `parsing time "2024-1-02T03:04:05Z" as ${layout}: cannot parse "1-02T03:04:05Z" as "01"`],
    ['2024-01-02 03:04:05Z', `parsing time "2024-01-02 03:04:05Z" as ${layout}: cannot parse " 03:04:05Z" as "T"`],
    ['2024-01-02T03:04:05', `parsing time "2024-01-02T03:04:05" as ${layout}: cannot parse "" as "Z07:00"`],
    ['2024-01-02T03:04:05Zx', 'parsing time "2024-01-02T03:04:05Zx": extra text: "x"'],
    ['2024-13-02T03:04:05Z', 'parsing time "2024-13-02T03:04:05Z": month out of range'],
    ['2023-02-29T03:04:05Z', 'parsing time "2023-02-29T03:04:05Z": day out of range'],
    ['2024-01-02T24:04:05Z', 'parsing time "2024-01-02T24:04:05Z": hour out of range'],
    ['2024-01-02T03:60:05Z', 'parsing time "2024-01-02T03:60:05Z": minute out of range'],
    ['2024-01-02T03:04:60Z', 'parsing time "2024-01-02T03:04:60Z": second out of range'],
  ])('%j is refused', (text, message) => {
    expect(() => canonicalTime(text, 'seconds')).toThrow(message);
  });
});

import { describe, expect, it } from 'vitest';
import { parseDuration } from './duration.ts';

describe('parseDuration', () => {
  it.each([
    ['0', 0],
    ['30s', 30_000],
    ['1h2m3.5s', 3_723_500],
    ['-1.5m', -90_000],
    ['.5s', 500],
    ['100us', 0.1],
  ])('%s', (text, ms) => {
    expect(parseDuration(text)).toBeCloseTo(ms);
  });

  it.each([
    ['', 'time: invalid duration ""'],
    ['x', 'time: invalid duration "x"'],
    ['5', 'time: missing unit in duration "5"'],
    ['5d', 'time: unknown unit "d" in duration "5d"'],
    ['s', 'time: invalid duration "s"'],
  ])('%s is none', (text, error) => {
    expect(parseDuration(text)).toEqual({ error });
  });
});

import { describe, expect, it } from 'vitest';
import { parseRevision } from '../objects/resource-version.ts';
import { parseInt64, readDecimal } from './parse-int64.ts';

const digits = (count: number, digit = '9'): string => digit.repeat(count);

describe('an integer', () => {
  it.each<[string, bigint | undefined]>([
    ['0', 0n],
    ['-0', 0n],
    ['+7', 7n],
    ['007', 7n],
    ['-9223372036854775808', -9_223_372_036_854_775_808n],
    ['18446744073709551615', 18_446_744_073_709_551_615n],
    [`${digits(1_000_000, '0')}12`, 12n],
    [digits(21), undefined],
    [digits(1_000_000), undefined],
    ['', undefined],
    ['-', undefined],
    ['1e3', undefined],
    [' 1', undefined],
  ])('%.24s is read as a number of at most 64 bits', (text, value) => {
    expect(readDecimal(text)).toBe(value);
  });

  it('fits an int64 or is not accepted', () => {
    expect(['9223372036854775807', '9223372036854775808', '-9223372036854775809'].map(parseInt64)).toEqual([
      ...[9_223_372_036_854_775_807n, undefined, undefined],
    ]);
  });

  it.each([
    ['a revision', () => parseRevision(digits(3_000_000))],
    ['an int64', () => parseInt64(digits(3_000_000))],
  ])('of millions of digits is refused without being computed: %s', (_, read) => {
    const before = process.cpuUsage();
    expect(read()).toBeUndefined();
    const { user, system } = process.cpuUsage(before);
    // BigInt takes more than a second of CPU for it.
    expect((user + system) / 1000).toBeLessThan(500);
  });
});

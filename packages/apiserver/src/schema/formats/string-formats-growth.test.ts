import { describe, expect, it } from 'vitest';
import { cpuGrowth } from '../../testing/cpu-growth.ts';
import { isOfFormat } from './string-formats.ts';

// Long values that take most time in a format, or would if something were read again and again.
const hostile: readonly (readonly [format: string, before: string, repeated: string])[] = [
  ['uri', '/', 'ü'],
  ['uri', '/', '%41'],
  ['uri', 'http://', '%e4'],
  ['uri', 'http://[::1%25', '%20'],
  ['email', '', 'a b '],
  ['email', '', '"a" '],
  ['email', 'g:', 'a@b,'],
  ['email', 'a@b (', '('],
  ['email', 'a@b (', '=?utf-8?q?x?= '],
  ['email', '', '=?utf-8?q?=41?= '],
  ['ipv6', '', '0:'],
  ['cidr', '', '0'],
  ['isbn', '', ' 1'],
  ['creditcard', '', ' 1'],
  ['duration', '', '0h'],
  ['duration', '', '1'],
  ['duration', '', '1 x '],
  ['date-time', '2020-01-01T', 't'],
];

describe('the cost of formats', () => {
  it.each(hostile)('of %s grows like the length of %s%s...', (format, before, repeated) => {
    const prepare = (n: number) => {
      const text = before + repeated.repeat(n);
      return () => isOfFormat(text, format);
    };
    expect(cpuGrowth(prepare, 10_000)).toBeLessThan(9);
  });
});

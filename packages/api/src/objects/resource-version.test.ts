import { describe, expect, it } from 'vitest';
import { compareResourceVersions, formatRevision, parseRevision, toRevision } from './resource-version.ts';

describe('resource versions', () => {
  it.each([
    ['', 0],
    ['0', 0],
    ['1', 1],
    ['007', 7],
    ['9007199254740991', Number.MAX_SAFE_INTEGER],
    ['9007199254740992', Number.MAX_SAFE_INTEGER],
    ['18446744073709551615', Number.MAX_SAFE_INTEGER],
    ['18446744073709551616', undefined],
    ['-1', undefined],
    ['+1', undefined],
    ['1.0', undefined],
    ['0x1', undefined],
    [' 1', undefined],
    ['abc', undefined],
  ])('reads %j as %s', (text, revision) => {
    expect(parseRevision(text)).toBe(revision);
  });

  it('makes revisions of safe integers only', () => {
    expect(formatRevision(toRevision(42))).toBe('42');
    for (const value of [-1, 0.5, 2 ** 53, Number.NaN]) expect(() => toRevision(value)).toThrow(TypeError);
    expect(['18446744073709551615', '18446744073709551616', ''].map(parseRevision)).toEqual([
      Number.MAX_SAFE_INTEGER,
      undefined,
      0,
    ]);
  });

  it.each([
    ['1', '2', -1],
    ['2', '1', 1],
    ['9', '10', -1],
    ['10', '10', 0],
    ['99999999999999999999999', '100000000000000000000000', -1],
  ])('orders %s and %s', (a, b, order) => {
    expect(Math.sign(compareResourceVersions(a, b))).toBe(order);
  });

  it.each(['', '0', '01', '-1', 'a', '1 '])('refuses to order %j', (text) => {
    expect(() => compareResourceVersions(text, '1')).toThrow('resource version is not well formed');
    expect(() => compareResourceVersions('1', text)).toThrow(TypeError);
  });
});

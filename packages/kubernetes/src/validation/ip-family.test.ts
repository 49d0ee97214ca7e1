import { isIPv6 } from 'node:net';
import { describe, expect, it } from 'vitest';
import { isIpv6 } from './ip-family.ts';

describe('isIpv6', () => {
  it.each([
    '::1',
    '::',
    'fe80::1%eth0',
    '::ffff:10.0.0.1',
    '1:2:3:4:5:6:7:8',
    '10.0.0.1',
    '',
    'localhost',
    'a:b',
    '1::2::3',
    'None',
  ])('says of %j what node:net says', (text) => {
    expect(isIpv6(text)).toBe(isIPv6(text));
  });

  it('knows both kinds', () => {
    expect([isIpv6('::1'), isIpv6('10.0.0.1')]).toEqual([true, false]);
  });
});

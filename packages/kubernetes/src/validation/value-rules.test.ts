import { describe, expect, it } from 'vitest';
import {
  cidrErrors,
  configKeyErrors,
  envNameErrors,
  ipErrors,
  percentErrors,
  portErrors,
  specialIpErrors,
  strictCidrErrors,
  wildcardSubdomainErrors,
} from './value-rules.ts';

describe('single values', () => {
  it.each<[string, readonly string[], readonly string[]]>([
    ['an IPv4 address', ipErrors('10.0.0.1'), []],
    ['an IPv6 address', ipErrors('2001:db8::1'), []],
    ['no zone', ipErrors('fe80::1%eth0'), ['must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)']],
    ['no leading zeros', ipErrors('10.0.01.1'), ['must not have leading 0s']],
    ['no IPv4 in IPv6', ipErrors('::ffff:10.0.0.1'), ['must not be an IPv4-mapped IPv6 address']],
    ['a network', cidrErrors('10.0.0.0/8'), []],
    ['an IPv6 network', cidrErrors('2001:db8::/64'), []],
    ['a network without other bits', strictCidrErrors('10.0.0.0/8'), []],
    ['no bits beyond the mask', strictCidrErrors('10.1.0.0/8'), ['must not have bits set beyond the prefix length']],
    [
      'no leading zeros in a network',
      strictCidrErrors('01.0.0.0/8'),
      ['must not have leading 0s in IP or prefix length'],
    ],
    ['no leading zeros in a mask', strictCidrErrors('1.0.0.0/08'), ['must not have leading 0s in IP or prefix length']],
    [
      'no network of IPv4 in IPv6',
      strictCidrErrors('::ffff:10.0.0.0/104'),
      ['must not have an IPv4-mapped IPv6 address'],
    ],
    [
      'no network that is none',
      strictCidrErrors('x'),
      ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
    ],
    [
      'no mask above 32',
      cidrErrors('10.0.0.0/33'),
      ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
    ],
    [
      'no network without a mask',
      cidrErrors('10.0.0.0'),
      ['must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)'],
    ],
    [
      'no loopback for endpoints',
      specialIpErrors('127.0.0.1'),
      ['may not be in the loopback range (127.0.0.0/8, ::1/128)'],
    ],
    ['an address with leading zeros, which is told elsewhere', specialIpErrors('01.1.1.1'), []],
    ['no unspecified address', specialIpErrors('::'), ['may not be unspecified (0.0.0.0 or ::)']],
    [
      'no link-local address',
      specialIpErrors('169.254.1.1'),
      ['may not be in the link-local range (169.254.0.0/16, fe80::/10)'],
    ],
    ['a port', portErrors(443), []],
    ['a port name', portErrors('http-2'), []],
    ['no port 0', portErrors(0), ['must be between 1 and 65535, inclusive']],
    ['no long port name', portErrors('a-name-of-a-port-x'), ['must be no more than 15 characters']],
    ['no digits alone as a port name', portErrors('80'), ['must contain at least one letter (a-z)']],
    ['no two hyphens in a port name', portErrors('a--b'), ['must not contain consecutive hyphens']],
    ['a percentage', percentErrors('25%'), []],
    ['a key of a config map', configKeyErrors('key.name'), []],
    ['no key that leads up', configKeyErrors('..a'), ["must not start with '..'"]],
    ['an environment variable with odd characters', envNameErrors('a.b-c d'), []],
    ['a wildcard host', wildcardSubdomainErrors('*.example.com'), []],
  ])('%s', (_name, errors, expected) => {
    expect(errors).toEqual(expected);
  });

  it('an environment variable has no "=" in its name', () => {
    expect(envNameErrors('a=b')).toHaveLength(1);
  });
});

import { describe, expect, it } from 'vitest';
import { publishedAddress } from './published-address.ts';

const address = (family: 'IPv4' | 'IPv6', text: string, internal = false) =>
  ({ family, address: text, internal, netmask: '', mac: '', cidr: null, scopeid: 0 }) as const;
const interfaces = {
  lo: [address('IPv4', '127.0.0.1', true), address('IPv6', '::1', true)],
  eth0: [address('IPv6', 'fe80::1'), address('IPv6', 'fd00::7'), address('IPv4', '169.254.0.3')],
  eth1: [address('IPv4', '10.0.0.7')],
};

describe('the address that others are told', () => {
  it.each([
    [{}, '10.0.0.7'],
    [{ bindAddress: '127.0.0.1' }, '10.0.0.7'],
    [{ bindAddress: '0.0.0.0' }, '10.0.0.7'],
    [{ bindAddress: '::' }, '10.0.0.7'],
    [{ bindAddress: '192.168.1.2' }, '192.168.1.2'],
    [{ bindAddress: '192.168.1.2', advertiseAddress: '8.8.4.4' }, '8.8.4.4'],
    [{ advertiseAddress: 'api.example' }, '10.0.0.7'],
    [{ advertiseAddress: '127.0.0.2' }, '10.0.0.7'],
  ])('of %j is %s', (options, expected) => {
    expect(publishedAddress(options, interfaces)).toBe(expected);
  });

  it('is one of IPv6 where there is no other, and none where nobody else can come', () => {
    expect(publishedAddress({}, { eth0: interfaces.eth0 })).toBe('fd00::7');
    expect(publishedAddress({}, { lo: interfaces.lo })).toBeUndefined();
  });
});

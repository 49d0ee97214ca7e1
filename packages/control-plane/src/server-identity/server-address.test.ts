import { describe, expect, it } from 'vitest';
import { certificateHosts, reachableUrl } from './server-address.ts';

describe('reachableUrl', () => {
  it.each([
    ['127.0.0.1', undefined, 'https://127.0.0.1:6443', 'https://127.0.0.1:6443'],
    [undefined, undefined, 'https://127.0.0.1:6443', 'https://127.0.0.1:6443'],
    ['0.0.0.0', undefined, 'https://0.0.0.0:6443', 'https://127.0.0.1:6443'],
    ['0.0.0.0', '192.0.2.7', 'https://0.0.0.0:6443', 'https://192.0.2.7:6443'],
    ['::', undefined, 'https://[::]:6443', 'https://[::1]:6443'],
    ['::', '2001:db8::1', 'https://[::]:6443', 'https://[2001:db8::1]:6443'],
    ['192.0.2.1', '192.0.2.7', 'https://192.0.2.1:6443', 'https://192.0.2.1:6443'],
  ])('on %s, advertised as %s: %s is %s', (bindAddress, advertiseAddress, url, reachable) => {
    const address = { ...(bindAddress && { bindAddress }), ...(advertiseAddress && { advertiseAddress }) };
    expect(reachableUrl(url, address)).toBe(reachable);
  });
});

describe('certificateHosts', () => {
  it('are what is listened on and what is advertised', () => {
    expect(certificateHosts({})).toEqual([]);
    expect(certificateHosts({ bindAddress: '192.0.2.1', advertiseAddress: 'a.example' })).toEqual([
      '192.0.2.1',
      'a.example',
    ]);
  });

  it('are all of the machine where all are listened on', () => {
    const hosts = certificateHosts({ bindAddress: '0.0.0.0', advertiseAddress: '192.0.2.7' });
    expect(hosts).toContain('127.0.0.1');
    expect(hosts.at(-1)).toBe('192.0.2.7');
    expect(hosts).not.toContain('0.0.0.0');
  });
});

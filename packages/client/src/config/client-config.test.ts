import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { clientDefaults, resolveClientOptions } from './client-config.ts';
import { serverUrl } from './create-transport.ts';

describe('ClientOptions', () => {
  it('document the defaults that they have', async () => {
    const source = await readFile(new URL('./client-config.ts', import.meta.url), 'utf8');
    for (const [name, value] of Object.entries(clientDefaults)) {
      const comment = new RegExp(`/\\*\\*([^/]*)\\*/\\s*readonly ${name}\\?`).exec(source)?.[1] ?? '';
      const [, digits = '', unit] = /Default (\d[\d ]*\d|\d+)( MiB)?/.exec(comment) ?? [];
      expect([name, Number(digits.replaceAll(' ', '')) * (unit ? 1_048_576 : 1)]).toEqual([name, value]);
    }
  });

  it('refuse negative numbers and take undefined for absence', () => {
    expect(() => resolveClientOptions({ timeoutMs: -1 })).toThrow('timeoutMs must be a number of at least 0, not -1');
    expect(() => resolveClientOptions({ pageSize: Number.NaN })).toThrow(
      'pageSize must be a number of at least 0, not NaN',
    );
    expect(resolveClientOptions({ timeoutMs: 0, maxRetries: undefined } as never)).toMatchObject({
      timeoutMs: 0,
      maxRetries: 10,
    });
  });
});

describe('ClientConfig', () => {
  it.each([
    ['https://h:6443/prefix', {}, 'https://h:6443/prefix'],
    ['h:8080', {}, 'http://h:8080/'],
    ['h:6443', { ca: 'PEM' }, 'https://h:6443/'],
    ['h', { insecureSkipVerify: true }, 'https://h/'],
    ['h', { insecureSkipVerify: false }, 'http://h/'],
    ['[::1]:80', {}, 'http://[::1]/'],
    ['', {}, 'http://localhost/'],
  ])('reads the server %j with %j', (server, tls, expected) => {
    expect(serverUrl(server, tls).href).toBe(expected);
  });

  it.each([['ftp://h'], ['h/path'], ['http://'], ['a b']])('refuses the server %j', (server) => {
    expect(() => serverUrl(server, {})).toThrow(`host must be a URL or a host:port pair: ${JSON.stringify(server)}`);
  });

  const exec = { apiVersion: 'client.authentication.k8s.io/v1', command: 'x', interactiveMode: 'Never' };
  const credentials = { headers: () => ({}) };
  it.each([
    [{ token: 't', username: 'u' }, 'username/password or bearer token may be set, but not both'],
    [{ credentials, token: 't' }, 'credentials may not be combined'],
    [{ credentials, exec }, 'credentials may not be combined'],
    [
      { tls: { ca: 'PEM', insecureSkipVerify: true } },
      'specifying a root certificates file with the insecure flag is not allowed',
    ],
    [{ tls: { cert: 'PEM' } }, 'a client certificate and its key must be specified together'],
    [{ impersonate: { groups: ['g'] } }, 'without impersonating a user'],
    [{ proxyUrl: 'socks4://p' }, 'unsupported scheme "socks4"'],
    [{ exec: { ...exec, command: '' } }, 'command must be specified'],
  ])('contradicting itself is refused: %j', (config, message) => {
    expect(() => new Client({ server: 'https://h', ...config })).toThrow(message);
  });

  it.each([
    [{ qps: 0, burst: 1 }, 'rateLimit.qps must be above 0'],
    [{ qps: 1, burst: 0 }, 'rateLimit.burst must be at least 1'],
  ])('a rate limit %j is refused', (rateLimit, message) => {
    expect(() => new Client({ server: 'https://h' }, { rateLimit })).toThrow(message);
  });
});

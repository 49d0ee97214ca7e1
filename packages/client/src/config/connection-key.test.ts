import { systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { describe, expect, it } from 'vitest';
import { parseKubeconfig } from '../index.ts';
import { clientConfigOf } from '../kubeconfig/kubeconfig-client.ts';
import type { ClientConfig } from './client-config.ts';
import { connectionKey } from './connection-key.ts';

const server = new URL('https://api.example:6443');
const place = { server, proxyUrl: undefined, clock: systemClock, http2: undefined };
const full = {
  server: server.href,
  tls: { ca: 'A', caFile: 'a', cert: 'C', certFile: 'c', key: 'K', keyFile: 'k', serverName: 's' },
  exec: { apiVersion: 'v1', command: 'x', args: ['a'], env: [{ name: 'N', value: 'v' }], interactiveMode: 'Never' },
  oidc: {
    issuerUrl: 'https://i',
    clientId: 'c',
    clientSecret: 's',
    idToken: 'i',
    refreshToken: 'r',
    ca: 'A',
    caFile: 'a',
  },
  token: 't',
  tokenFile: 'f',
  username: 'u',
  password: 'p',
} as const satisfies ClientConfig;

const variants: Record<string, ClientConfig> = {
  ...Object.fromEntries(
    Object.keys(full.tls).map((name) => [`tls.${name}`, { ...full, tls: { ...full.tls, [name]: 'other' } }]),
  ),
  ...Object.fromEntries(
    Object.keys(full.oidc).map((name) => [`oidc.${name}`, { ...full, oidc: { ...full.oidc, [name]: 'other' } }]),
  ),
  ...Object.fromEntries(
    (['token', 'tokenFile', 'username', 'password'] as const).map((name) => [name, { ...full, [name]: 'other' }]),
  ),
  'tls.insecureSkipVerify': { ...full, tls: { ...full.tls, insecureSkipVerify: true } },
  'exec.apiVersion': { ...full, exec: { ...full.exec, apiVersion: 'v2' } },
  'exec.command': { ...full, exec: { ...full.exec, command: 'y' } },
  'exec.args': { ...full, exec: { ...full.exec, args: ['a', ''] } },
  'exec.env': { ...full, exec: { ...full.exec, env: [{ name: 'N', value: 'w' }] } },
  'exec.interactiveMode': { ...full, exec: { ...full.exec, interactiveMode: 'Always' } },
  'exec.provideClusterInfo': { ...full, exec: { ...full.exec, provideClusterInfo: true } },
  'exec.installHint': { ...full, exec: { ...full.exec, installHint: 'h' } },
  'exec.clusterConfig': { ...full, exec: { ...full.exec, clusterConfig: { audience: 'x' } } },
  'the proxy that a plugin is told': { ...full, proxyUrl: 'http://p' },
  'whether a plugin is told not to compress': { ...full, disableCompression: true },
  'oidc.persist': { ...full, oidc: { ...full.oidc, persist: () => undefined } },
  credentials: { ...full, credentials: { headers: () => ({}) } },
};

describe('what clients must have in common to share connections', () => {
  it.each(Object.entries(variants))('is among others %s', (_, config) => {
    expect(connectionKey(config, place)).not.toBe(connectionKey(full, place));
  });

  it.each([
    ['server', { ...place, server: new URL('https://api.example:6443/base') }],
    ['proxy', { ...place, proxyUrl: 'http://p' }],
    ['clock', { ...place, clock: new VirtualClock() }],
    ['use of HTTP/2', { ...place, http2: { readIdleMs: 30_000, pingTimeoutMs: 15_000 } }],
  ])('is the %s', (_, other) => {
    expect(connectionKey(full, other)).not.toBe(connectionKey(full, place));
  });

  it('is nothing else, and values count, not objects', () => {
    const copy = { ...structuredClone(full), namespace: 'x', impersonate: { user: 'bob' } };
    expect(connectionKey(copy, place)).toBe(connectionKey(full, place));
  });

  it('shows no secret', () => {
    expect(connectionKey({ ...full, token: 'top-secret' }, place)).toMatch(/^[A-Za-z0-9+/]{43}=$/);
  });

  it('is the same for one user of one kubeconfig that is read twice', () => {
    const text = `{apiVersion: v1, kind: Config, current-context: c, contexts: [{name: c, context: {cluster: k, user: u}}],
      clusters: [{name: k, cluster: {server: "https://x"}}],
      users: [{name: u, user: {auth-provider: {name: oidc, config: {idp-issuer-url: "https://i", client-id: i}}}}]}`;
    const read = (file: string): ClientConfig =>
      clientConfigOf({ ...parseKubeconfig(text), userFiles: new Map([['u', file]]) });
    expect(read('/a').oidc?.persist).toBeTypeOf('function');
    expect(connectionKey(read('/a'), place)).toBe(connectionKey(read('/a'), place));
    expect(connectionKey(read('/a'), place)).not.toBe(connectionKey(read('/b'), place));
  });
});

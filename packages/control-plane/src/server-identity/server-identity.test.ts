import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type LogFields, type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { createIssuer } from '@kapstan/controller/certificates';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';
import { ConfigMap, Namespace } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { ServerIdentity, type ServerIdentityOptions } from './server-identity.ts';

const namespace = 'kube-system';
const authentication = { namespace, name: 'extension-apiserver-authentication' };
const tracking = { namespace, name: 'kube-apiserver-legacy-service-account-token-tracking' };
const nowMs = Date.parse('2026-03-01T12:00:00Z');
const dayMs = 86_400_000;
let dataDir: string;
let plane: ControlPlane;
let client: ResourceClient;
let clock: VirtualClock;
let errors: LogFields[];

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-identity-'));
  plane = await startControlPlane({ dataDir, http: 'off' });
  client = plane.client;
  clock = new VirtualClock({ startMs: nowMs });
  errors = [];
});
afterEach(async () => {
  await plane.close();
  await rm(dataDir, { recursive: true });
});

function identity(options: Partial<ServerIdentityOptions> = {}): ServerIdentity {
  const logger = { ...silentLogger, error: (_text: string, fields?: LogFields) => void errors.push(fields ?? {}) };
  return new ServerIdentity({
    client,
    hostname: 'vm',
    port: 6443,
    trusted: () => trusts(),
    hasLease: true,
    clock,
    logger,
    ...options,
  });
}

const trusts = (...clientAuthorities: string[]) => ({ clientAuthorities, frontProxies: undefined });
const leases = async () => client.list(Lease, { namespace });
const authority = async (atMs: number) =>
  (await createIssuer(undefined, { nowMs: atMs, lifetimeMs: 10 * dayMs })).authority.cert;
const authoritiesOf = async () => (await client.get(ConfigMap, authentication)).data?.['client-ca-file'];

it('keeps a lease while it lives, anew each 10 s and when somebody took it away, and takes it with it', async () => {
  const kept = identity();
  await kept.start();
  const [lease] = await leases();
  expect(lease).toMatchObject({
    metadata: {
      name: expect.stringMatching(/^apiserver-[0-9a-f]{26}$/),
      labels: { 'apiserver.kubernetes.io/identity': 'kube-apiserver', 'kubernetes.io/hostname': 'vm' },
    },
    spec: { leaseDurationSeconds: 3600, renewTime: '2026-03-01T12:00:00.000000Z' },
  });
  expect(lease?.spec?.holderIdentity?.startsWith(`${lease.metadata?.name}_`)).toBe(true);
  const renewed = (text: string) =>
    vi.waitFor(async () => expect((await leases()).map(({ spec }) => spec?.renewTime)).toEqual([text]), 10_000);
  const next = async (): Promise<void> => {
    await vi.waitFor(() => expect(clock.msToNextTimer).toBe(10_000), 10_000);
    clock.advance(10_000);
  };
  await next();
  await renewed('2026-03-01T12:00:10.000000Z');
  await client.delete(Lease, { namespace, name: lease?.metadata?.name ?? '' });
  await next();
  await renewed('2026-03-01T12:00:20.000000Z');
  await kept.close();
  expect(await leases()).toEqual([]);
  expect(errors).toEqual([]);
});

it('names servers of one machine apart, and one that comes back as before', async () => {
  const [one, other] = [identity(), identity({ port: 6444 })];
  await one.start();
  await other.start();
  const names = (await leases()).map(({ metadata }) => metadata?.name);
  expect(new Set(names).size).toBe(2);
  await identity().start();
  expect((await leases()).map(({ metadata }) => metadata?.name)).toEqual(names);
  await one.close();
  await other.close();
});

it('makes a namespace anew that has to be there and was deleted', async () => {
  const kept = identity();
  await kept.start();
  const name = 'kube-node-lease';
  const last = await client.delete(Namespace, { name }).then(() => client.get(Namespace, { name }));
  await client.update(Namespace, { ...structuredClone(last), spec: { finalizers: [] } } as Namespace, {
    subresource: 'finalize',
  });
  await expect(client.get(Namespace, { name })).rejects.toThrow('not found');
  clock.advance(60_000);
  await vi.waitFor(async () => {
    const { metadata, status } = await client.get(Namespace, { name });
    expect([metadata?.uid === last.metadata?.uid, status?.phase]).toEqual([false, 'Active']);
  });
  await kept.close();
  expect(errors).toEqual([]);
});

it('removes the leases of servers that have said nothing for as long as they last, and no others', async () => {
  const labels = { 'apiserver.kubernetes.io/identity': 'kube-apiserver' };
  const lease = (name: string, spec: object, own: Readonly<Record<string, string>> = labels) =>
    client.create(Lease, { metadata: { namespace, name, labels: own }, spec });
  const at = (ms: number): object => ({
    renewTime: new Date(ms).toISOString().replace('Z', '000Z'),
    leaseDurationSeconds: 60,
  });
  await lease('gone', at(nowMs - 60_001));
  await lease('just', at(nowMs - 60_000));
  await lease('untold', {});
  await lease('elects', at(nowMs - dayMs), { app: 'controller' });
  const kept = identity();
  await kept.start();
  const names = async () =>
    (await leases()).map(({ metadata }) => metadata?.name).filter((name) => !name?.startsWith('api'));
  expect(await names()).toEqual(['elects', 'just']);
  clock.advance(3_600_000);
  await vi.waitFor(async () => expect(await names()).toEqual(['elects']));
  await kept.close();
});

it('publishes the authorities of its clients beside those of other servers, without those that have run out', async () => {
  const [own, others, old] = [await authority(nowMs), await authority(nowMs), await authority(nowMs - 11 * dayMs)];
  const broken = '-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n-----BEGIN CERTIFICATE-----\n';
  const data = { 'client-ca-file': `junk ${others}${old}${broken}`, 'requestheader-allowed-names': '[]' };
  await client.create(ConfigMap, { metadata: authentication, data });
  const kept = identity({ trusted: () => trusts(own, own) });
  await kept.start();
  const lines = (text = ''): string => text.replaceAll('\r', '').replace(/\n+/g, '\n');
  expect(lines(await authoritiesOf())).toBe(lines(`${others}${own}`));
  expect((await client.get(ConfigMap, authentication)).data?.['requestheader-allowed-names']).toBe('[]');
  const version = (await client.get(ConfigMap, authentication)).metadata?.resourceVersion;
  const again = identity({ trusted: () => trusts(own), port: 6444 });
  await again.start();
  await again.close();
  expect((await client.get(ConfigMap, authentication)).metadata?.resourceVersion).toBe(version);
  await client.delete(ConfigMap, authentication);
  clock.advance(60_000);
  await vi.waitFor(async () => expect(lines(await authoritiesOf())).toBe(lines(own)));
  await kept.close();
});

it.for([
  ['keeps a date', '2025-12-31', '2025-12-31'],
  ['mends what is none', '2025-13-45', '2026-03-01'],
] as const)('%s in the config map of token tracking', async ([, present, expected]) => {
  await client.create(ConfigMap, { metadata: tracking, data: { since: present } });
  const kept = identity();
  await kept.start();
  expect((await client.get(ConfigMap, tracking)).data).toEqual({ since: expected });
  await kept.close();
});

it('begins to track tokens on its first day', async () => {
  const kept = identity();
  await kept.start();
  expect((await client.get(ConfigMap, tracking)).data).toEqual({ since: '2026-03-01' });
  await kept.close();
});

it('has no lease where it must not write by itself, and the config maps nevertheless', async () => {
  const kept = identity({ hasLease: false });
  await kept.start();
  expect(await leases()).toEqual([]);
  expect((await client.get(ConfigMap, tracking)).data).toEqual({ since: '2026-03-01' });
  await kept.close();
});

it('tells the log what the store refuses, and starts and ends nevertheless', async () => {
  await plane.close();
  const kept = identity();
  await kept.start();
  await kept.close();
  expect(new Set(errors.map(({ kept: name }) => name))).toEqual(
    new Set(['lease', 'leases of others', 'client authorities', 'token tracking', 'first namespaces']),
  );
});

it('is kept by a server that is asked to, and by no other', async () => {
  const dirs = [join(dataDir, 'quiet'), join(dataDir, 'kept')] as const;
  const quiet = await startControlPlane({ dataDir: dirs[0] });
  expect(await quiet.client.list(Lease, { namespace })).toEqual([]);
  await expect(quiet.client.get(ConfigMap, tracking)).rejects.toSatisfy(isNotFound);
  await quiet.close();
  const server = await startControlPlane({ dataDir: dirs[1], identity: 'on' });
  expect(await server.client.list(Lease, { namespace })).toHaveLength(1);
  expect((await server.client.get(ConfigMap, authentication)).data?.['client-ca-file']).toContain(server.caCert.trim());
  await server.close();
});

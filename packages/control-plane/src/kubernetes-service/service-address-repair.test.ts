// Tests for services without IPAddresses and for IPAddresses without services.
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Event, Service } from '@kapstan/kinds/core/v1';
import { IPAddress, ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { ServiceAddressRepair } from './service-address-repair.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let dataDir: string;
let clock: VirtualClock;
let plane: ControlPlane;
let client: ResourceClient;
let repair: ServiceAddressRepair | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-addresses-'));
  clock = new VirtualClock({ startMs: Date.parse('2026-03-01T12:00:00Z') });
  plane = await startControlPlane({ dataDir, http: 'off', clock });
  client = plane.client;
});
afterEach(async () => {
  await repair?.close();
  await plane.close();
  await rm(dataDir, { recursive: true });
});

const make = (name: string, clusterIP: string, spec: object = {}): Promise<Service> =>
  client.create(Service, {
    metadata: { name, namespace: 'default' },
    spec: { clusterIP, ports: [{ port: 80 }], ...spec },
  });
const ours = {
  'ipaddress.kubernetes.io/ip-family': 'IPv4',
  'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
};
const makeAddress = (name: string, parent: string, labels: Record<string, string> = ours, resource = 'services') =>
  client.create(IPAddress, {
    metadata: { name, labels },
    spec: { parentRef: { resource, namespace: 'default', name: parent } },
  });
const forget = (name: string): Promise<unknown> => client.delete(IPAddress, { name });

function newRepair(): ServiceAddressRepair {
  repair = new ServiceAddressRepair({ client, ownRange: '10.96.0.0/16', clock, logger: silentLogger });
  return repair;
}
const lookAtAll = (): Promise<void> => newRepair().lookAtAll();

/** Returns all addresses with the name of the service that each points to. */
const taken = async (): Promise<Record<string, string>> =>
  Object.fromEntries(
    (await client.list(IPAddress)).map(({ metadata, spec }) => [metadata?.name ?? '', spec?.parentRef?.name ?? '']),
  );
const said = async (): Promise<string[]> =>
  (await client.list(Event, { namespace: 'default' })).map(({ reason, message }) => `${reason}: ${message}`);
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 30_000, interval: 5 });

describe('a service', () => {
  it('gets the IPAddress that it lacks, as one that was made before there were any', async () => {
    await make('web', '10.96.0.20');
    await forget('10.96.0.20');
    await lookAtAll();
    expect(await client.get(IPAddress, { name: '10.96.0.20' })).toMatchObject({
      metadata: { labels: ours },
      spec: { parentRef: { resource: 'services', namespace: 'default', name: 'web' } },
    });
    await eventually(async () =>
      expect(await said()).toEqual([
        'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.96.0.20 is not allocated; repairing',
      ]),
    );
  });

  it('gets it when the server starts on such a store, before any other can have the address', async () => {
    await make('web', '10.96.0.20');
    await forget('10.96.0.20');
    await plane.close();
    plane = await startControlPlane({ dataDir, http: 'off', clock });
    ({ client } = plane);
    await expect(make('other', '10.96.0.20')).rejects.toThrow('provided IP is already allocated');
  });

  it.each([
    ['points to nothing', () => makeAddress('10.96.0.20', 'gone')],
    ['points to something else', () => makeAddress('10.96.0.20', 'web', ours, 'gateways')],
    [
      'has no label of its manager',
      () => makeAddress('10.96.0.20', 'web', { ...ours, 'ipaddress.kubernetes.io/managed-by': 'x' }),
    ],
    [
      'has the label of another family',
      () => makeAddress('10.96.0.20', 'web', { ...ours, 'ipaddress.kubernetes.io/ip-family': 'IPv6' }),
    ],
  ])('gets another IPAddress for one that %s', async (_how, makeWrong) => {
    await make('web', '10.96.0.20');
    await forget('10.96.0.20');
    await makeWrong();
    await lookAtAll();
    const { metadata, spec } = await client.get(IPAddress, { name: '10.96.0.20' });
    expect([metadata?.labels, spec?.parentRef?.resource, spec?.parentRef?.name]).toEqual([ours, 'services', 'web']);
  });

  it('that shares its address with another is told of, and the other keeps it', async () => {
    await make('first', '10.96.0.20');
    await forget('10.96.0.20');
    await make('second', '10.96.0.20');
    await lookAtAll();
    expect(await taken()).toEqual({ '10.96.0.20': 'second' });
    await eventually(async () =>
      expect(await said()).toEqual([
        'ClusterIPAlreadyAllocated: Cluster IP [IPv4]:10.96.0.20 was assigned to multiple services; please recreate service',
      ]),
    );
  });

  it('whose address is in no network is told of, and gets none', async () => {
    await make('web', '10.96.0.20');
    await forget('10.96.0.20');
    await client.create(ServiceCIDR, { metadata: { name: 'kubernetes' }, spec: { cidrs: ['10.97.0.0/24'] } });
    await lookAtAll();
    expect(await taken()).toEqual({});
    await eventually(async () =>
      expect(await said()).toEqual([
        'ClusterIPOutOfRange: Cluster IP [IPv4]: 10.96.0.20 is not within any configured Service CIDR; please recreate service',
      ]),
    );
  });

  it.each([
    ['is headless', { clusterIP: 'None' }],
    ['lies outside', { clusterIP: '', type: 'ExternalName', externalName: 'x.example' }],
  ])('that %s needs none', async (_how, spec) => {
    await make('web', '', spec);
    await lookAtAll();
    expect([await taken(), await said()]).toEqual([{}, []]);
  });
});

describe('an IPAddress', () => {
  it.each([
    { afterMs: 60_000, left: { '10.96.0.9': 'gone' } },
    { afterMs: 61_000, left: {} },
  ])('without its service is kept for a minute: after $afterMs ms there is $left', async ({ afterMs, left }) => {
    await makeAddress('10.96.0.9', 'gone');
    await clock.advance(afterMs);
    await lookAtAll();
    expect(await taken()).toEqual(left);
  });

  it.each([
    { afterMs: 4000, left: { '10.96.0.9': 'web', '10.96.0.20': 'web' } },
    { afterMs: 5000, left: { '10.96.0.20': 'web' } },
  ])('that its service does not have is kept for 5 s: after $afterMs ms there is $left', async ({ afterMs, left }) => {
    await make('web', '10.96.0.20');
    await clock.advance(1000);
    await makeAddress('10.96.0.9', 'web');
    await clock.advance(afterMs);
    await lookAtAll();
    expect(await taken()).toEqual(left);
  });

  it('of the second of its service may be the younger one, and is kept as long', async () => {
    await make('web', '10.96.0.20');
    await makeAddress('10.96.0.9', 'web');
    await clock.advance(4000);
    await lookAtAll();
    expect(await taken()).toEqual({ '10.96.0.9': 'web', '10.96.0.20': 'web' });
  });

  it('of a service that lies outside is kept for a minute', async () => {
    await make('web', '', { type: 'ExternalName', externalName: 'x.example' });
    await makeAddress('10.96.0.9', 'web');
    await clock.advance(59_000);
    await lookAtAll();
    expect(await taken()).toEqual({ '10.96.0.9': 'web' });
    await clock.advance(1000);
    await newRepair().lookAtAll();
    expect(await taken()).toEqual({});
  });

  it('of ours that points to no service goes', async () => {
    await makeAddress('10.96.0.9', 'x', ours, 'gateways');
    await lookAtAll();
    expect(await taken()).toEqual({});
    await eventually(async () =>
      expect(await said()).toEqual([
        'IPAddressNotAllocated: IPAddress 10.96.0.9 appears to have been modified, not referencing a Service &ParentReference{Group:,Resource:gateways,Namespace:default,Name:x,}: cleaning up',
      ]),
    );
  });

  it('of another manager is left alone', async () => {
    await makeAddress('10.96.0.9', 'gone', {});
    await clock.advance(100_000);
    await lookAtAll();
    expect(await taken()).toEqual({ '10.96.0.9': 'gone' });
  });
});

describe('while the server runs', () => {
  it('an IPAddress that somebody deletes comes back, and one that leaked goes after its minute', async () => {
    await make('web', '10.96.0.20');
    newRepair().follow();
    await makeAddress('10.96.0.9', 'gone');
    await forget('10.96.0.20');
    await eventually(async () => {
      await clock.advance(10);
      expect(await taken()).toEqual({ '10.96.0.20': 'web', '10.96.0.9': 'gone' });
    });
    await eventually(async () => {
      await clock.advance(1000);
      expect(await taken()).toEqual({ '10.96.0.20': 'web' });
    });
    await eventually(async () =>
      expect((await said()).sort()).toEqual([
        'ClusterIPNotAllocated: Cluster IP [IPv4]: 10.96.0.20 is not allocated; repairing',
        'IPAddressNotAllocated: IPAddress: 10.96.0.9 for Service default/gone appears to have leaked: cleaning up',
      ]),
    );
  });

  it('services that come and go are nothing to tell of', async () => {
    newRepair().follow();
    for (let round = 0; round < 20; round++) {
      await make('web', '10.96.0.20');
      await client.delete(Service, { namespace: 'default', name: 'web' });
      await clock.advance(10);
    }
    await make('web', '10.96.0.20');
    await eventually(async () => expect(await taken()).toEqual({ '10.96.0.20': 'web' }));
    await repair?.close();
    expect(await said()).toEqual([]);
    await client.delete(Service, { namespace: 'default', name: 'web' });
    await expect(client.get(IPAddress, { name: '10.96.0.20' })).rejects.toSatisfy(isNotFound);
  });
});

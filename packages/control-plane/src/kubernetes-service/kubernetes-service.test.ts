import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Logger, type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Endpoints, Service } from '@kapstan/kinds/core/v1';
import { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import { builtinResources } from '@kapstan/kubernetes';
import type { Engine } from '@kapstan/storage';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { KubernetesService, type KubernetesServiceOptions } from './kubernetes-service.ts';
import { ownLeases, type ServerLeases, sharedLeases } from './server-leases.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const target = { namespace: 'default', name: 'kubernetes' };
let dataDir: string;
let engine: Engine & { close(): Promise<void> };
let plane: ControlPlane;
let client: ResourceClient;
let clock: VirtualClock;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-service-'));
  clock = new VirtualClock();
  engine = await openLmdbEngine({ dataDir: join(dataDir, 'store'), clock });
  plane = await startControlPlane({ dataDir, engine, http: 'off' });
  client = plane.client;
});
afterEach(async () => {
  await plane.close();
  await engine.close();
  await rm(dataDir, { recursive: true });
});

function leases(): ServerLeases {
  const endpoints = builtinResources().find(({ resource }) => resource === 'endpoints');
  if (endpoints === undefined) throw new Error('there are no endpoints');
  const storedAs = { mediaType: 'application/vnd.kubernetes.protobuf', isShared: true } as const;
  return sharedLeases({ engine, endpoints, storedAs, ttlSeconds: 15 });
}

function service(options: Partial<KubernetesServiceOptions> = {}): KubernetesService {
  return new KubernetesService({
    client,
    clusterIp: '10.96.0.1',
    address: '10.0.0.1',
    port: 6443,
    leases: ownLeases(),
    isAlone: true,
    clock,
    logger: silentLogger,
    ...options,
  });
}

async function shown(): Promise<{ readonly addresses: string[]; readonly ports: unknown[]; readonly slice: unknown }> {
  const { subsets = [] } = await client.get(Endpoints, target);
  const { endpoints, ports } = await client.get(EndpointSlice, target);
  return {
    addresses: subsets.flatMap(({ addresses = [] }) => addresses.map(({ ip }) => ip)),
    ports: subsets.flatMap((subset) => (subset.ports ?? []).map(({ port }) => port)),
    slice: [(endpoints ?? []).map(({ addresses }) => addresses[0]), (ports ?? []).map(({ port }) => port)],
  };
}

/** Wraps the client and counts how often it reads the service. */
function watched(): { readonly client: ResourceClient; looks(): number } {
  let looks = 0;
  const get: ResourceClient['get'] = (token, ...rest) => {
    if (token.kind === 'Service') looks++;
    return client.get(token, ...rest);
  };
  const handler: ProxyHandler<ResourceClient> = {
    get: (whole, name) => {
      const member: unknown = Reflect.get(whole, name);
      if (name === 'get') return get;
      return typeof member === 'function' ? member.bind(whole) : member;
    },
  };
  return { client: new Proxy(client, handler), looks: () => looks };
}

describe('the service "kubernetes"', () => {
  it('is as kube-apiserver makes it, with its endpoints and their slice', async () => {
    const kept = service();
    await kept.start();
    expect(await client.get(Service, target)).toMatchObject({
      metadata: { labels: { component: 'apiserver', provider: 'kubernetes' } },
      spec: {
        type: 'ClusterIP',
        clusterIP: '10.96.0.1',
        clusterIPs: ['10.96.0.1'],
        ipFamilies: ['IPv4'],
        ipFamilyPolicy: 'SingleStack',
        internalTrafficPolicy: 'Cluster',
        sessionAffinity: 'None',
        ports: [{ name: 'https', protocol: 'TCP', port: 443, targetPort: 6443 }],
      },
    });
    const endpoints = await client.get(Endpoints, target);
    expect(endpoints.metadata?.labels).toEqual({ 'endpointslice.kubernetes.io/skip-mirror': 'true' });
    expect(endpoints.subsets).toEqual([
      { addresses: [{ ip: '10.0.0.1' }], ports: [{ name: 'https', port: 6443, protocol: 'TCP' }] },
    ]);
    expect(await client.get(EndpointSlice, target)).toMatchObject({
      metadata: { labels: { 'kubernetes.io/service-name': 'kubernetes' } },
      addressType: 'IPv4',
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: true } }],
      ports: [{ name: 'https', port: 6443, protocol: 'TCP' }],
    });
    await kept.close();
    expect(await shown()).toEqual({ addresses: [], ports: [], slice: [[], []] });
    expect((await client.get(Service, target)).spec?.clusterIP).toBe('10.96.0.1');
  });

  it('writes nothing where all is as it should be, and mends what is not', async () => {
    const counted = watched();
    const kept = service({ client: counted.client });
    await kept.start();
    const before = (await client.get(EndpointSlice, target)).metadata?.resourceVersion;
    clock.advance(10_000);
    await vi.waitFor(() => expect(counted.looks()).toBe(2));
    // The endpoints are deleted together with the service.
    await client.delete(Service, target);
    expect((await client.get(EndpointSlice, target)).metadata?.resourceVersion).toBe(before);
    await client.update(EndpointSlice, { ...(await client.get(EndpointSlice, target)), endpoints: [] });
    // Each check has to end before the interval of the next can begin.
    await vi.waitFor(async () => {
      clock.advance(1000);
      expect(await shown()).toEqual({ addresses: ['10.0.0.1'], ports: [6443], slice: [['10.0.0.1'], [6443]] });
    });
    expect((await client.get(Service, target)).spec?.clusterIP).toBe('10.96.0.1');
    await kept.close();
  });

  it('leaves what somebody changed in it, and has the new port of a server that is alone', async () => {
    await service().start();
    const made = await client.get(Service, target);
    await client.update(Service, { ...made, metadata: { ...made.metadata, labels: { mine: 'yes' } } });
    const again = service({ port: 7443 });
    await again.start();
    expect((await client.get(Service, target)).metadata?.labels).toEqual({ mine: 'yes' });
    expect(await shown()).toMatchObject({ addresses: ['10.0.0.1'], ports: [7443], slice: [['10.0.0.1'], [7443]] });
    await again.close();
  });

  it('is an IPv6 slice for addresses of IPv6, in place of one of IPv4', async () => {
    const first = service();
    await first.start();
    await first.close();
    const second = service({ address: 'fd00::7' });
    await second.start();
    expect(await client.get(EndpointSlice, target)).toMatchObject({
      addressType: 'IPv6',
      endpoints: [{ addresses: ['fd00::7'] }],
    });
    await second.close();
  });

  it('has no endpoints where somebody else keeps them, or this server has no address', async () => {
    for (const options of [{ leases: 'none' }, { address: undefined }] as const) {
      const kept = service(options);
      await kept.start();
      expect((await client.get(Service, target)).spec?.clusterIP).toBe('10.96.0.1');
      await expect(client.get(Endpoints, target)).rejects.toThrow('not found');
      await kept.close();
    }
  });

  it('is tried again when it could not be made, and the log says so', async () => {
    const errors: unknown[] = [];
    const logger: Logger = { ...silentLogger, error: (_text, fields) => void errors.push(fields?.error) };
    await client.create(Service, {
      metadata: { namespace: 'default', name: 'first' },
      spec: { clusterIP: '10.96.0.1', ports: [{ port: 1 }] },
    });
    const kept = service({ logger });
    await kept.start();
    expect(errors).toEqual([expect.stringContaining('provided IP is already allocated')]);
    await client.delete(Service, { namespace: 'default', name: 'first' });
    await vi.waitFor(async () => {
      clock.advance(1000);
      expect(await shown()).toMatchObject({ addresses: ['10.0.0.1'] });
    });
    await kept.close();
  });
});

describe('several servers on one store', () => {
  it('are all endpoints; one that stops is none at once, one that is gone is none after its time', async () => {
    const make = (address: string): KubernetesService => service({ address, leases: leases(), isAlone: false });
    const [one, two, three] = [make('10.0.0.10'), make('10.0.0.9'), make('10.0.0.11')];
    await one.start();
    await two.start();
    await three.start();
    expect((await shown()).addresses).toEqual(['10.0.0.9', '10.0.0.10', '10.0.0.11']);
    await two.close();
    expect(await shown()).toMatchObject({
      addresses: ['10.0.0.10', '10.0.0.11'],
      slice: [['10.0.0.10', '10.0.0.11'], [6443]],
    });
    await three.close();
    await one.close();
    expect((await shown()).addresses).toEqual([]);
  });

  it('renew their leases, which end with their time', async () => {
    const shared = leases();
    await shared.renew('10.0.0.1');
    await shared.renew('10.0.0.2');
    expect(await shared.list()).toEqual(['10.0.0.1', '10.0.0.2']);
    expect(await shared.release('10.0.0.2')).toBe(true);
    expect(await shared.release('10.0.0.2')).toBe(false);
    for (let i = 0; i < 12; i++) {
      clock.advance(10_000);
      expect(await shared.list()).toContain('10.0.0.1');
      await shared.renew('10.0.0.1');
    }
    expect(await shared.list()).toEqual(['10.0.0.1']);
    clock.advance(120_000);
    await vi.waitFor(async () => expect(await shared.list()).toEqual([]));
    await shared.close();
  });
});

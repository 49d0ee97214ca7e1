import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type ResourceClient, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { Event } from '@kapstan/kinds/core/v1';
import { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { DefaultServiceCidr, type DefaultServiceCidrOptions } from './default-service-cidr.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const target = { name: 'kubernetes' };
let dataDir: string;
let plane: ControlPlane;
let client: ResourceClient;
let clock: VirtualClock;
let kept: DefaultServiceCidr | undefined;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-cidr-'));
  plane = await startControlPlane({ dataDir, http: 'off' });
  client = plane.client;
  clock = new VirtualClock({ startMs: Date.parse('2026-03-01T12:00:00Z') });
});
afterEach(async () => {
  await kept?.close();
  await plane.close();
  await rm(dataDir, { recursive: true });
});

async function keep(options: Partial<DefaultServiceCidrOptions> = {}): Promise<void> {
  kept = new DefaultServiceCidr({ client, cidrs: ['10.96.0.0/16'], clock, logger: silentLogger, ...options });
  await kept.start();
}

const shown = (): Promise<ServiceCIDR> => client.get(ServiceCIDR, target);
const create = (cidrs: string[]): Promise<ServiceCIDR> =>
  client.create(ServiceCIDR, { metadata: target, spec: { cidrs } });
const said = async () =>
  (await client.list(Event, { namespace: 'default' })).map(({ reason, message, type }) => [type, reason, message]);
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 8000, interval: 5 });

/** Texts of kube-apiserver. */
const ready = {
  type: 'Ready',
  status: 'True',
  reason: '',
  message: 'Kubernetes default Service CIDR is ready',
  lastTransitionTime: '2026-03-01T12:00:00Z',
};

const withCondition = async (status: 'True' | 'False' | 'Unknown'): Promise<void> => {
  const present = await create(['10.96.0.0/16']);
  const condition = { ...ready, status, reason: 'Moved', message: 'the network went', type: 'Ready' };
  await client.update(ServiceCIDR, { ...present, status: { conditions: [condition] } }, { subresource: 'status' });
};

describe('the ServiceCIDR "kubernetes"', () => {
  it('is made and declared ready, as kube-apiserver does it', async () => {
    await keep();
    const { spec, status, metadata } = await shown();
    expect(spec).toEqual({ cidrs: ['10.96.0.0/16'] });
    expect(status).toEqual({ conditions: [ready] });
    const managers = (metadata?.managedFields ?? []).map(({ manager, operation, subresource }) => ({
      manager,
      operation,
      subresource,
    }));
    expect(managers).toContainEqual({
      manager: 'kubernetes-service-cidr-controller',
      operation: 'Apply',
      subresource: 'status',
    });
  });

  it('is made anew within 10 s of its deletion, and not written where it is as it should be', async () => {
    await keep();
    const { metadata } = await shown();
    await client.delete(ServiceCIDR, target);
    clock.advance(10_000);
    const again = await eventually(async () => {
      const present = await shown();
      expect(present.status?.conditions).toMatchObject([{ status: 'True' }]);
      return present;
    });
    expect(again.metadata?.uid).not.toBe(metadata?.uid);
    await kept?.close();
    await keep();
    expect((await shown()).metadata?.resourceVersion).toBe(again.metadata?.resourceVersion);
  });

  it('is declared ready when it is there without a word about it, or with an unknown one', async () => {
    await create(['10.96.0.0/16']);
    await keep();
    expect((await shown()).status?.conditions).toEqual([ready]);
    await kept?.close();
    await client.delete(ServiceCIDR, target);
    await withCondition('Unknown');
    await keep();
    expect((await shown()).status?.conditions).toMatchObject([{ status: 'True', message: ready.message }]);
  });

  it('stays as it is where it has other networks, which an event tells once', async () => {
    await create(['192.168.0.0/24']);
    const [warnings, read]: [string[], { looks: number }] = [[], { looks: 0 }];
    const get: ResourceClient['get'] = (...call) => {
      read.looks++;
      return client.get(...call);
    };
    const logger = { ...silentLogger, warn: (text: string) => void warnings.push(text) };
    const counted = new Proxy(client, {
      get: (whole, key) => (key === 'get' ? get : Reflect.get(whole, key).bind(whole)),
    });
    await keep({ client: counted, logger });
    const message =
      'The default ServiceCIDR [192.168.0.0/24] does not match the controller flag configurations [10.96.0.0/16]';
    const expected = [['Warning', 'KubernetesDefaultServiceCIDRInconsistent', message]];
    await eventually(async () => expect(await said()).toEqual(expected));
    // The second check has ended when the third begins.
    await eventually(async () => {
      clock.advance(10_000);
      expect(read.looks).toBeGreaterThanOrEqual(3);
    });
    expect(warnings).toEqual([message]);
    const { spec, status } = await shown();
    expect({ spec, conditions: status?.conditions }).toEqual({ spec: { cidrs: ['192.168.0.0/24'] } });
  });

  it('stays unready where somebody has said so, which an event tells', async () => {
    await withCondition('False');
    await keep();
    const expected = [['Warning', 'Moved', 'Configuration matches, but the network went']];
    await eventually(async () => expect(await said()).toEqual(expected));
    expect((await shown()).status?.conditions).toMatchObject([{ status: 'False', reason: 'Moved' }]);
  });

  it('is left alone while it is being deleted', async () => {
    await client.create(ServiceCIDR, {
      metadata: { ...target, finalizers: ['example.com/hold'] },
      spec: { cidrs: ['10.96.0.0/16'] },
    });
    await client.delete(ServiceCIDR, target);
    const before = await shown();
    await keep();
    expect(await shown()).toEqual(before);
  });

  it('tells the log what the store refuses, and starts and ends nevertheless', async () => {
    const errors: string[] = [];
    await plane.close();
    await keep({ logger: { ...silentLogger, error: (text) => void errors.push(text) } });
    expect(errors).toContain('could not reconcile the default ServiceCIDR; retrying');
  });

  it.each([
    ['off', undefined],
    ['none', ['10.97.0.0/16']],
  ] as const)('of a server whose endpoint reconciler is "%s" says %j', async (endpointReconciler, cidrs) => {
    const directory = join(dataDir, 'served');
    const serviceClusterIpRange = '10.97.7.1/16';
    const server = await startControlPlane({ dataDir: directory, endpointReconciler, serviceClusterIpRange });
    const reading = server.client.get(ServiceCIDR, target);
    if (cidrs === undefined) await expect(reading).rejects.toSatisfy(isNotFound);
    else expect((await reading).spec?.cidrs).toEqual(cidrs);
    await server.close();
  });
});

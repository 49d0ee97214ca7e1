import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isForbidden, type KubernetesObject, resource } from '@kapstan/api';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, PersistentVolumeClaim, Pod, ResourceQuota, Secret, Service } from '@kapstan/kinds/core/v1';
import { DeviceClass, ResourceClaim } from '@kapstan/kinds/resource.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane;
const namespace = 'default';
const admission = { enabled: [], disabled: ['ServiceAccount'] };

async function start(controlLoops: readonly string[] = ['resourcequota']): Promise<void> {
  controlPlane = await startControlPlane({ dataDir, http: 'off', controlLoops, admission });
}

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-quotas-'));
  await start();
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const create = <T extends KubernetesObject>(kind: Parameters<ControlPlane['client']['create']>[0], object: object) =>
  controlPlane.client.create(kind, object as T) as Promise<T>;
const quota = (name: string, hard: object, spec: object = {}): Promise<ResourceQuota> =>
  create(ResourceQuota, { metadata: { name, namespace }, spec: { hard, ...spec } });
const configMap = (name: string): Promise<ConfigMap> => create(ConfigMap, { metadata: { name, namespace } });
const pod = (name: string, requests: object, spec: object = {}): Promise<Pod> =>
  create(Pod, {
    metadata: { name, namespace },
    spec: { containers: [{ name: 'c', image: 'i', resources: { requests } }], ...spec },
  });

async function usedOf(name: string): Promise<Readonly<Record<string, unknown>> | undefined> {
  return (await controlPlane.client.get(ResourceQuota, { namespace, name })).status?.used;
}
const becomes = (name: string, used: object | undefined): Promise<void> =>
  vi.waitFor(async () => expect(await usedOf(name)).toEqual(used), { timeout: 8000, interval: 5 });
async function hardOf(name: string): Promise<object | undefined> {
  return (await controlPlane.client.get(ResourceQuota, { namespace, name })).status?.hard;
}
/** Waits until requests are compared with the quota. */
const isEnforced = (why: RegExp, attempt: () => Promise<unknown>): Promise<void> =>
  vi.waitFor(() => expect(attempt()).rejects.toThrow(why), { timeout: 8000, interval: 5 });
const dryMap = () => controlPlane.client.create(ConfigMap, { metadata: { name: 'dry', namespace } }, { dryRun: true });

describe('the resource quota loop', () => {
  it('counts what is there when a quota is made, whatever the kind, and what its limits are', async () => {
    await configMap('a');
    await create(Secret, { metadata: { name: 's', namespace } });
    await create(Service, {
      metadata: { name: 's', namespace },
      spec: {
        type: 'NodePort',
        ports: [{ port: 80 }, { port: 81, name: 'b' }].map((port, at) => ({ name: `p${at}`, ...port })),
      },
    });
    await create(PersistentVolumeClaim, {
      metadata: { name: 'c', namespace },
      spec: { accessModes: ['ReadWriteOnce'], storageClassName: 'gold', resources: { requests: { storage: '1Gi' } } },
    });
    await create(Deployment, {
      metadata: { name: 'd', namespace },
      spec: {
        selector: { matchLabels: { a: 'b' } },
        template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
      },
    });
    const gpus = { 'example.com/gpu': '2' };
    const resources = { requests: { cpu: '1500m', memory: '1Gi', ...gpus }, limits: gpus };
    await pod('p', {}, { containers: [{ name: 'c', image: 'i', resources }] });
    const hard = {
      'count/configmaps': '9',
      configmaps: '9',
      secrets: '9',
      services: '9',
      'services.nodeports': '9',
      'services.loadbalancers': '9',
      persistentvolumeclaims: '9',
      'requests.storage': '9Gi',
      'gold.storageclass.storage.k8s.io/requests.storage': '9Gi',
      'lead.storageclass.storage.k8s.io/persistentvolumeclaims': '1',
      'count/deployments.apps': '9',
      pods: '9',
      'requests.cpu': '9',
      memory: '9Gi',
      'limits.cpu': '9',
      'requests.example.com/gpu': '9',
    };
    await quota('q', hard);
    await becomes('q', {
      'count/configmaps': '1',
      configmaps: '1',
      secrets: '1',
      services: '1',
      'services.nodeports': '2',
      'services.loadbalancers': '0',
      persistentvolumeclaims: '1',
      'requests.storage': '1Gi',
      'gold.storageclass.storage.k8s.io/requests.storage': '1Gi',
      'lead.storageclass.storage.k8s.io/persistentvolumeclaims': '0',
      'count/deployments.apps': '1',
      pods: '1',
      'requests.cpu': '1500m',
      memory: '1Gi',
      'limits.cpu': '0',
      'requests.example.com/gpu': '2',
    });
    expect(await hardOf('q')).toEqual(hard);
  });

  it('gives back what was deleted, and follows its limits', async () => {
    await quota('q', { 'count/configmaps': '2', pods: '1' });
    await becomes('q', { 'count/configmaps': '0', pods: '0' });
    await configMap('a');
    await configMap('b');
    await isEnforced(/exceeded quota: q, requested: count\/configmaps=1, used: count\/configmaps=2/, dryMap);
    await controlPlane.client.delete(ConfigMap, { namespace, name: 'a' });
    await becomes('q', { 'count/configmaps': '1', pods: '0' });
    const { spec, ...rest } = await controlPlane.client.get(ResourceQuota, { namespace, name: 'q' });
    await controlPlane.client.update(ResourceQuota, { ...rest, spec: { ...spec, hard: { secrets: '3' } } });
    await becomes('q', { secrets: '0' });
  });

  it('gives back what a finished pod needed, and what a service no longer is', async () => {
    await quota('q', { pods: '3', 'count/pods': '3', 'requests.cpu': '3', 'services.nodeports': '3' });
    await becomes('q', { pods: '0', 'count/pods': '0', 'requests.cpu': '0', 'services.nodeports': '0' });
    await vi.waitFor(() => expect(pod('x', {})).rejects.toThrow(/must specify/), { timeout: 8000 });
    const running = await pod('p', { cpu: '2' });
    const service = await create<Service>(Service, {
      metadata: { name: 's', namespace },
      spec: { type: 'NodePort', ports: [{ port: 80 }] },
    });
    expect(await usedOf('q')).toEqual({ pods: '1', 'count/pods': '1', 'requests.cpu': '2', 'services.nodeports': '1' });
    await controlPlane.client.update(Pod, { ...running, status: { phase: 'Succeeded' } }, { subresource: 'status' });
    await becomes('q', { pods: '0', 'count/pods': '1', 'requests.cpu': '0', 'services.nodeports': '1' });
    const { nodePort: _, ...port } = service.spec?.ports?.[0] ?? { port: 80 };
    await controlPlane.client.update(Service, {
      ...service,
      spec: { ...service.spec, type: 'ClusterIP', ports: [port] },
    });
    await becomes('q', { pods: '0', 'count/pods': '1', 'requests.cpu': '0', 'services.nodeports': '0' });
  });

  it('charges the resizing of a pod, and gives back what it no longer has', async () => {
    await quota('q', { 'requests.cpu': '3' });
    await becomes('q', { 'requests.cpu': '0' });
    const running = await pod('p', { cpu: '1' });
    const resized = (cpu: string): Promise<Pod> => {
      const containers = (running.spec?.containers ?? []).map((each) => ({
        ...each,
        resources: { requests: { cpu } },
      }));
      const { resourceVersion: _, ...metadata } = running.metadata ?? {};
      const next = { ...running, metadata, spec: { ...running.spec, containers } };
      return controlPlane.client.update(Pod, next as Pod, { subresource: 'resize' });
    };
    await vi.waitFor(async () => expect((await usedOf('q'))?.['requests.cpu']).toBe('1'));
    await resized('3');
    expect(await usedOf('q')).toEqual({ 'requests.cpu': '3' });
    await expect(resized('4')).rejects.toThrow(
      'pods "p" is forbidden: exceeded quota: q, requested: requests.cpu=1, used: requests.cpu=3, limited: requests.cpu=3',
    );
    await controlPlane.client.delete(Pod, { namespace, name: 'p' }, { gracePeriodSeconds: 0 });
    await becomes('q', { 'requests.cpu': '0' });
  });

  it('counts custom resources as soon as they are served', async () => {
    await quota('q', { 'count/foos.example.com': '1' });
    await becomes('q', undefined);
    await vi.waitFor(async () => expect(await hardOf('q')).toEqual({ 'count/foos.example.com': '1' }), {
      timeout: 8000,
    });
    const names = { plural: 'foos', singular: 'foo', kind: 'Foo', listKind: 'FooList' };
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
    await create(CustomResourceDefinition, {
      metadata: { name: 'foos.example.com' },
      spec: {
        group: 'example.com',
        scope: 'Namespaced',
        names,
        versions: [{ name: 'v1', served: true, storage: true, schema }],
      },
    });
    await becomes('q', { 'count/foos.example.com': '0' });
    const foo = resource<KubernetesObject>({
      group: 'example.com',
      version: 'v1',
      kind: 'Foo',
      plural: 'foos',
      scope: 'Namespaced',
    });
    await create(foo, { metadata: { name: 'a', namespace } });
    await expect(create(foo, { metadata: { name: 'b', namespace } })).rejects.toThrow(
      'foos.example.com "b" is forbidden: exceeded quota: q, requested: count/foos.example.com=1, used: count/foos.example.com=1, limited: count/foos.example.com=1',
    );
    await controlPlane.client.delete(foo, { namespace, name: 'a' });
    await becomes('q', { 'count/foos.example.com': '0' });
  });

  it('counts devices by class, and by the extended resource that a class serves', async () => {
    await create(DeviceClass, { metadata: { name: 'gpu' }, spec: { extendedResourceName: 'example.com/gpu' } });
    const hard = {
      'gpu.deviceclass.resource.k8s.io/devices': '5',
      'requests.example.com/gpu': '5',
      'count/resourceclaims.resource.k8s.io': '5',
    };
    await quota('q', hard);
    await becomes('q', Object.fromEntries(Object.keys(hard).map((name) => [name, '0'])));
    const claim = (name: string, request: object) =>
      create(ResourceClaim, {
        metadata: { name, namespace },
        spec: { devices: { requests: [{ name: 'r', ...request }] } },
      });
    const exactly = { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 3 };
    await vi.waitFor(
      () =>
        expect(claim('all', { exactly: { deviceClassName: 'gpu', allocationMode: 'All' } })).rejects.toThrow(
          /devices=32/,
        ),
      { timeout: 8000 },
    );
    await claim('a', { exactly });
    expect(await usedOf('q')).toEqual({
      'gpu.deviceclass.resource.k8s.io/devices': '3',
      'requests.example.com/gpu': '3',
      'count/resourceclaims.resource.k8s.io': '1',
    });
    await expect(claim('b', { exactly })).rejects.toThrow(
      /exceeded quota: q, requested: gpu.deviceclass.resource.k8s.io\/devices=3,requests.example.com\/gpu=3/,
    );
    const firstAvailable = [
      { name: 'x', deviceClassName: 'gpu', count: 1 },
      { name: 'y', deviceClassName: 'gpu', count: 2 },
    ];
    await claim('c', { firstAvailable });
    expect(await usedOf('q')).toMatchObject({ 'gpu.deviceclass.resource.k8s.io/devices': '5' });
  });

  it('looks again after a charge whose write failed, and after a stop between charge and write', async () => {
    await quota('q', { 'count/configmaps': '5' });
    await becomes('q', { 'count/configmaps': '0' });
    await configMap('a');
    await vi.waitFor(async () => expect(await usedOf('q')).toEqual({ 'count/configmaps': '1' }));
    await expect(configMap('a')).rejects.toThrow(/already exists/);
    await becomes('q', { 'count/configmaps': '1' });
    await controlPlane.close();
    // The state that a server left when it was killed between charge and write.
    await start(['none']);
    const charged = await controlPlane.client.get(ResourceQuota, { namespace, name: 'q' });
    const status = { ...charged.status, used: { 'count/configmaps': '4' } };
    await controlPlane.client.update(ResourceQuota, { ...charged, status }, { subresource: 'status' });
    await controlPlane.close();
    await start();
    await becomes('q', { 'count/configmaps': '1' });
  });

  it('lets exactly 100 of 200 creates at once through a quota of 100, also while others are deleted and fail', async () => {
    for (let at = 0; at < 20; at++) await configMap(`old${at}`);
    await quota('q', { 'count/configmaps': '100' });
    await becomes('q', { 'count/configmaps': '20' });
    const deletions = Array.from({ length: 20 }, (_, at) =>
      controlPlane.client.delete(ConfigMap, { namespace, name: `old${at}` }),
    );
    const results = await Promise.allSettled(
      Array.from({ length: 200 }, (_, at) => configMap(at % 10 === 0 ? 'same' : `n${at}`)),
    );
    await Promise.all(deletions);
    const there = await controlPlane.client.list(ConfigMap, { namespace });
    expect(there.length).toBeLessThanOrEqual(100);
    const refused = results.flatMap((result) =>
      result.status === 'rejected' && isForbidden(result.reason) ? [result] : [],
    );
    expect(refused.length).toBeGreaterThan(50);
    await becomes('q', { 'count/configmaps': String(there.length) });
    const rest = await Promise.allSettled(Array.from({ length: 100 }, (_, at) => configMap(`more${at}`)));
    expect(rest.filter(({ status }) => status === 'fulfilled')).toHaveLength(100 - there.length);
    await becomes('q', { 'count/configmaps': '100' });
  });
});

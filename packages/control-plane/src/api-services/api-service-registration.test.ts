import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type ResourceClient, silentLogger, systemClock } from '@kapstan/api';
import { ResourceCatalog } from '@kapstan/apiserver';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import { PostStartHooks } from '../lifetime/post-start-hooks.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';
import { ApiServiceRegistration } from './api-service-registration.ts';
import { automanagedLabel } from './desired-api-services.ts';

// These tests start whole servers; the first start takes seconds on a busy machine.
vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

let dataDir: string;
let plane: ControlPlane;
let client: ResourceClient;
let running: ApiServiceRegistration[];
/** Stands in for a server's catalog. */
let served: ResourceCatalog;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-apiservices-'));
  plane = await startControlPlane({ dataDir, http: 'off' });
  client = plane.client;
  running = [];
  served = new ResourceCatalog();
  install('', 'v1', 'pods');
  install('apps', 'v1', 'deployments');
  install('apps', 'v1', 'statefulsets');
  install('apiregistration.k8s.io', 'v1', 'apiservices');
  install('unknown.k8s.io', 'v1', 'things');
});
afterEach(async () => {
  for (const each of running) await each.close();
  await plane.close();
  await rm(dataDir, { recursive: true });
});

function install(group: string, version: string, resource: string, isCustom = false): void {
  served.install({ definition: { group, version, resource, isCustom } as never, store: undefined as never });
}

function register(ofServer: ResourceCatalog = served): {
  readonly registration: ApiServiceRegistration;
  readonly hooks: PostStartHooks;
} {
  const hooks = new PostStartHooks({ registersApiServices: true });
  const registration = new ApiServiceRegistration({
    client,
    served: ofServer,
    hooks,
    clock: systemClock,
    logger: silentLogger,
  });
  running.push(registration);
  return { registration, hooks };
}

const eventually = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 8000, interval: 5 });
const names = async (): Promise<(string | undefined)[]> =>
  (await client.list(APIService)).map(({ metadata }) => metadata?.name).sort();
const condition = async (name: string) => (await client.get(APIService, { name })).status?.conditions?.[0];
const ownHook = /aggregator|apiservice|autoregistration/;
const unfinished = async (hooks: PostStartHooks): Promise<string[]> => {
  const checks = hooks.healthChecks.filter(({ name }) => ownHook.test(name));
  const failed = await Promise.all(
    checks.map(async ({ name, check }) => ((await check()) === undefined ? [] : [name])),
  );
  return failed.flat();
};

it('registers each version of a group that has a priority, as local and available, and says so in its checks', async () => {
  const { registration, hooks } = register();
  const missing = 'missing APIService: [v1. v1.apps]';
  expect([registration.healthCheck.name, String(await registration.healthCheck.check())]).toEqual([
    'autoregister-completion',
    `Error: ${missing}`,
  ]);
  expect(await unfinished(hooks)).toHaveLength(8);
  await registration.start();
  expect(await names()).toEqual(['v1.', 'v1.apps']);
  const { metadata, spec } = await client.get(APIService, { name: 'v1.apps' });
  expect([metadata?.labels, spec]).toEqual([
    { [automanagedLabel]: 'onstart' },
    { group: 'apps', version: 'v1', groupPriorityMinimum: 17_800, versionPriority: 15 },
  ]);
  expect((await client.get(APIService, { name: 'v1.' })).spec).toEqual({
    version: 'v1',
    groupPriorityMinimum: 18_000,
    versionPriority: 1,
  });
  expect(await condition('v1.apps')).toMatchObject({
    type: 'Available',
    status: 'True',
    reason: 'Local',
    message: 'Local APIServices are always available',
  });
  await eventually(() => expect(registration.healthCheck.check()).toBeUndefined());
  expect(await unfinished(hooks)).toEqual([]);
});

it('what is built in is put right at a start and left alone after it', async () => {
  const { registration } = register();
  await registration.start();
  await client.delete(APIService, { name: 'v1.' });
  const apps = await client.get(APIService, { name: 'v1.apps' });
  await client.update(APIService, { ...apps, spec: { ...apps.spec, versionPriority: 3 } as never });
  // A definition that is installed now is registered after all earlier changes were handled.
  install('example.com', 'v1', 'widgets', true);
  await eventually(async () => expect(await names()).toEqual(['v1.apps', 'v1.example.com']));
  expect((await client.get(APIService, { name: 'v1.apps' })).spec?.versionPriority).toBe(3);
  await registration.close();
  await register().registration.start();
  expect(await names()).toEqual(['v1.', 'v1.apps', 'v1.example.com']);
  expect((await client.get(APIService, { name: 'v1.apps' })).spec?.versionPriority).toBe(15);
});

it('what stands for a definition comes back, is put right, and goes with it', async () => {
  install('example.com', 'v1', 'widgets', true);
  await register().registration.start();
  const target = { name: 'v1.example.com' };
  const before = await client.get(APIService, target);
  expect([before.metadata?.labels, before.spec]).toEqual([
    { [automanagedLabel]: 'true' },
    { group: 'example.com', version: 'v1', groupPriorityMinimum: 1000, versionPriority: 100 },
  ]);
  await client.delete(APIService, target);
  const back = await eventually(() => client.get(APIService, target));
  expect(back.metadata?.uid).not.toBe(before.metadata?.uid);
  await client.update(APIService, { ...back, spec: { ...back.spec, versionPriority: 7 } as never });
  await eventually(async () => expect((await client.get(APIService, target)).spec?.versionPriority).toBe(100));
  served.remove('example.com', 'v1', 'widgets');
  await eventually(async () => expect(await names()).toEqual(['v1.', 'v1.apps']));
});

it('what a definition takes over from a built-in resource comes back from then on, which one more resource does not change', async () => {
  install('batch', 'v1', 'jobs');
  await register().registration.start();
  install('apps', 'v1', 'widgets', true);
  install('batch', 'v1', 'jobs', true);
  await client.delete(APIService, { name: 'v1.apps' });
  await client.delete(APIService, { name: 'v1.batch' });
  const back = await eventually(() => client.get(APIService, { name: 'v1.batch' }));
  expect([back.metadata?.labels, back.spec?.versionPriority]).toEqual([{ [automanagedLabel]: 'true' }, 100]);
  expect(await names()).toEqual(['v1.', 'v1.batch']);
});

it('a server that does not serve a definition leaves what another one registered for it', async () => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  await client.create(CustomResourceDefinition, {
    metadata: { name: 'widgets.example.com' },
    spec: {
      group: 'example.com',
      scope: 'Namespaced',
      names: { plural: 'widgets', kind: 'Widget' },
      versions: [{ name: 'v1', served: true, storage: true, schema }],
    },
  } as never);
  install('example.com', 'v1', 'widgets', true);
  await register().registration.start();
  const target = { name: 'v1.example.com' };
  const { uid } = (await client.get(APIService, target)).metadata ?? {};
  const other = new ResourceCatalog();
  for (const { definition, store } of served.all()) if (!definition.isCustom) other.install({ definition, store });
  const { registration } = register(other);
  await registration.start();
  other.install({
    definition: { group: 'other.com', version: 'v1', resource: 'others', isCustom: true } as never,
    store: undefined as never,
  });
  await eventually(async () => expect(await names()).toContain('v1.other.com'));
  expect((await client.get(APIService, target)).metadata?.uid).toBe(uid);
  await client.delete(CustomResourceDefinition, { name: 'widgets.example.com' });
  await eventually(async () => expect(await client.list(CustomResourceDefinition)).toEqual([]));
  served.remove('example.com', 'v1', 'widgets');
  await eventually(async () => expect(await names()).not.toContain('v1.example.com'));
});

it('one that others serve is neither judged here nor taken away', async () => {
  await register().registration.start();
  const service = { namespace: 'default', name: 'api' };
  const spec = { group: 'metrics.io', version: 'v1', groupPriorityMinimum: 1, versionPriority: 1, service };
  await client.create(APIService, {
    metadata: { name: 'v1.metrics.io' },
    spec: { ...spec, insecureSkipTLSVerify: true },
  } as never);
  install('example.com', 'v1', 'widgets', true);
  await eventually(async () => expect(await names()).toContain('v1.example.com'));
  expect(await condition('v1.metrics.io')).toBeUndefined();
  expect(await names()).toContain('v1.metrics.io');
});

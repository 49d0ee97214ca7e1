import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type Resource, type ResourceClient, resource } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Deployment } from '@kapstan/kinds/apps/v1';
import { ConfigMap, Event, Namespace, Pod, Secret } from '@kapstan/kinds/core/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

let dataDir: string;
let clock: VirtualClock;
let controlPlane: ControlPlane;
let client: ResourceClient;

/** Waits in real time, because the stores are real. */
const eventually = <T>(look: () => Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 8000, interval: 5 });

const start = async (...controlLoops: string[]): Promise<void> => {
  const admission = { enabled: [], disabled: ['ServiceAccount'] };
  controlPlane = await startControlPlane({ dataDir, controlLoops, clock, http: 'off', admission });
  ({ client } = controlPlane);
};

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-namespaces-'));
  clock = new VirtualClock();
  await start('namespace');
  await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'a' } });
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const deleteNamespace = (): Promise<unknown> => client.delete(Namespace, { name: 'a' });
const gone = (token: Resource, name: string): Promise<void> =>
  eventually(async () => {
    const target = { name, ...(token.scope === 'Cluster' ? {} : { namespace: 'a' }) };
    await expect(client.get(token, target)).rejects.toSatisfy(isNotFound);
  });
const configMap = (name: string, finalizers: string[] = []): Promise<ConfigMap> =>
  client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'a', finalizers } });
const condition = (type: string) =>
  eventually(async () => {
    const { status } = await client.get(Namespace, { name: 'a' });
    const found = status?.conditions?.find((candidate) => candidate.type === type);
    expect(found).toBeDefined();
    return found;
  });

const widgets = resource({ group: 'example.com', version: 'v1', kind: 'Widget' });
const widgetDefinition = {
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'widgets.example.com' },
  spec: {
    group: 'example.com',
    scope: 'Namespaced' as const,
    names: { plural: 'widgets', kind: 'Widget' },
    versions: [{ name: 'v1', served: true, storage: true, schema: { openAPIV3Schema: { type: 'object' } } }],
  },
};

const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
const pod = (name: string): Promise<Pod> =>
  client.create(Pod, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: 'a' },
    spec: { ...template.spec, nodeName: 'n', terminationGracePeriodSeconds: 20 },
  });

describe('namespace-controller', () => {
  it('takes everything out of a deleted namespace, custom resources too, and lets it go', async () => {
    await client.create(CustomResourceDefinition, widgetDefinition);
    const metadata = { name: 'w', namespace: 'a' };
    await eventually(() => client.create(widgets, { apiVersion: 'example.com/v1', kind: 'Widget', metadata }));
    await configMap('c');
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata });
    const spec = { selector: { matchLabels: { app: 'w' } }, template };
    await client.create(Deployment, { apiVersion: 'apps/v1', kind: 'Deployment', metadata, spec });
    const involvedObject = { kind: 'Secret', namespace: 'a', name: 'w' };
    await client.create(Event, { apiVersion: 'v1', kind: 'Event', metadata, involvedObject } as Event);
    await deleteNamespace();
    await clock.advance(500);
    await gone(Namespace, 'a');
    for (const token of [ConfigMap, Secret, Deployment, Event, widgets] as Resource[]) {
      expect((await client.listPage(token, { namespace: 'a' })).items).toEqual([]);
    }
  });

  it('leaves other namespaces alone', async () => {
    const metadata = { name: 'c', namespace: 'default' };
    await client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata });
    await deleteNamespace();
    await clock.advance(500);
    await gone(Namespace, 'a');
    await expect(client.get(ConfigMap, metadata)).resolves.toBeDefined();
  });

  it('goes on with a deletion that another process had begun', async () => {
    await configMap('c');
    await deleteNamespace();
    await controlPlane.close();
    await start('namespace');
    await clock.advance(500);
    await gone(Namespace, 'a');
  });

  it('says which finalizers hold content, and goes on as soon as they are taken off', async () => {
    const { metadata } = await configMap('held', ['example.com/hold']);
    await configMap('free');
    await deleteNamespace();
    await clock.advance(500);
    expect(await condition('NamespaceFinalizersRemaining')).toMatchObject({
      status: 'True',
      message: 'Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances',
    });
    expect((await condition('NamespaceContentRemaining'))?.message).toBe(
      'Some resources are remaining: configmaps. has 1 resource instances',
    );
    expect(await condition('NamespaceDeletionContentFailure')).toMatchObject({ status: 'False' });
    await gone(ConfigMap, 'free');
    const target = { name: 'held', namespace: 'a' };
    await client.patch(ConfigMap, target, {
      type: 'merge',
      body: { metadata: { uid: metadata?.uid, finalizers: null } },
    });
    // The deletion of the object triggers the next pass, well before the retry after 8 s.
    await clock.advance(100);
    await gone(Namespace, 'a');
  });

  it('deletes pods before all that they may need', async () => {
    await pod('p');
    await configMap('c');
    await deleteNamespace();
    await clock.advance(500);
    expect((await condition('NamespaceContentRemaining'))?.message).toBe(
      'Some resources are remaining: pods. has 1 resource instances',
    );
    await expect(client.get(ConfigMap, { name: 'c', namespace: 'a' })).resolves.toBeDefined();
    // A kubelet does this when the containers have ended.
    await client.delete(Pod, { name: 'p', namespace: 'a' }, { gracePeriodSeconds: 0 });
    await clock.advance(100);
    await gone(Namespace, 'a');
  });

  it('reports pods that are still there when their time is over', async () => {
    await pod('p');
    await deleteNamespace();
    await clock.advance(500);
    await condition('NamespaceContentRemaining');
    await eventually(async () => {
      await clock.advance(5000);
      expect(await condition('NamespaceDeletionContentFailure')).toMatchObject({
        status: 'True',
        message:
          'Failed to delete all resource types, 1 remaining: unexpected items still remain in namespace: a for gvr: /v1, Resource=pods',
      });
    });
    await expect(client.get(Namespace, { name: 'a' })).resolves.toBeDefined();
  });

  it('takes its own finalizer off and leaves those of others', async () => {
    const name = 'held';
    const spec = { finalizers: ['example.com/mine'] };
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name }, spec });
    await client.delete(Namespace, { name });
    await clock.advance(500);
    await eventually(async () => {
      expect((await client.get(Namespace, { name })).spec?.finalizers).toEqual(['example.com/mine']);
    });
    const held = await client.get(Namespace, { name });
    expect(held.status?.phase).toBe('Terminating');
    await client.update(Namespace, { ...held, spec: { finalizers: [] } }, { subresource: 'finalize' });
    await gone(Namespace, name);
  });

  it('takes away what is written while the deletion begins', async () => {
    const writes = deleteNamespace();
    // The write is either admitted or refused; in both cases no trace of it may remain.
    await configMap('late').catch(() => undefined);
    await writes;
    await clock.advance(500);
    await gone(Namespace, 'a');
    expect((await client.listPage(ConfigMap, { namespace: 'a' })).items).toEqual([]);
  });
});

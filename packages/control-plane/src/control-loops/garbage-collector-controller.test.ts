import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  isNotFound,
  type KubernetesObject,
  type ObjectMeta,
  type OwnerReference,
  type Resource,
  type ResourceClient,
  resource,
} from '@kapstan/api';
import type { PropagationPolicy } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { Deployment, ReplicaSet } from '@kapstan/kinds/apps/v1';
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
  const collectsGarbage = !controlLoops.includes('*');
  controlPlane = await startControlPlane({ dataDir, controlLoops, clock, http: 'off', admission, collectsGarbage });
  ({ client } = controlPlane);
};

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-garbage-'));
  clock = new VirtualClock();
  await start('garbage-collector');
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const namespace = 'default';
const nodes = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const widgets = resource({ group: 'example.com', version: 'v1', kind: 'Widget' });

const meta = (name: string, more: ObjectMeta = {}): ObjectMeta => ({ name, namespace, ...more });
const configMap = (name: string, more: ObjectMeta = {}): Promise<ConfigMap> =>
  client.create(ConfigMap, { apiVersion: 'v1', kind: 'ConfigMap', metadata: meta(name, more) });
const secret = (name: string, more: ObjectMeta = {}): Promise<Secret> =>
  client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata: meta(name, more) });
const owner = ({ apiVersion = '', kind = '', metadata }: KubernetesObject, more: Partial<OwnerReference> = {}) => ({
  apiVersion,
  kind,
  name: metadata?.name ?? '',
  uid: metadata?.uid ?? '',
  ...more,
});
const ownedBy = (...owners: OwnerReference[]): ObjectMeta => ({ ownerReferences: owners });

const remove = (token: Resource, name: string, propagationPolicy?: PropagationPolicy): Promise<unknown> =>
  client.delete(token, { name, namespace }, { propagationPolicy });
const exists = (token: Resource, name: string): Promise<boolean> =>
  client.get(token, { name, namespace }).then(
    () => true,
    (error: unknown) => {
      if (!isNotFound(error)) throw error;
      return false;
    },
  );
const gone = (token: Resource, name: string): Promise<void> =>
  eventually(async () => expect(await exists(token, name), `${token.kind} ${name}`).toBe(false));
/** Waits until the collector has collected an object written now; then it has seen everything written before. */
const collectorHasSeenAll = async (): Promise<void> => {
  const marker = await configMap('marker');
  await secret('marked', ownedBy(owner(marker)));
  await remove(ConfigMap, 'marker');
  await gone(Secret, 'marked');
};

describe('background', () => {
  it('deletes dependents, and theirs, once the owner is gone', async () => {
    const a = await configMap('a');
    const b = await configMap('b', ownedBy(owner(a)));
    await secret('c', ownedBy(owner(b)));
    await remove(ConfigMap, 'a');
    await gone(ConfigMap, 'b');
    await gone(Secret, 'c');
  });

  it('keeps dependents of an owner that lives, and those without one', async () => {
    const a = await configMap('a');
    await secret('owned', ownedBy(owner(a)));
    await secret('free');
    await collectorHasSeenAll();
    expect([await exists(Secret, 'owned'), await exists(Secret, 'free')]).toEqual([true, true]);
  });

  it('takes only the dead owner off a dependent that has another one', async () => {
    const [a, b] = [await configMap('a'), await configMap('b')];
    await secret('shared', ownedBy(owner(a), owner(b)));
    await remove(ConfigMap, 'a');
    await eventually(async () => {
      const { metadata } = await client.get(Secret, { name: 'shared', namespace });
      expect(metadata?.ownerReferences).toEqual([owner(b)]);
    });
    await remove(ConfigMap, 'b');
    await gone(Secret, 'shared');
  });

  it('deletes what names an owner that never was', async () => {
    const ghost = { apiVersion: 'v1', kind: 'ConfigMap', name: 'ghost', uid: 'no/such/uid' };
    await secret('orphan', ownedBy(ghost));
    await gone(Secret, 'orphan');
  });

  it('deletes what names an owner by the uid of an earlier one of that name', async () => {
    const first = await configMap('a');
    await remove(ConfigMap, 'a');
    await configMap('a');
    await secret('late', ownedBy(owner(first)));
    await gone(Secret, 'late');
    expect(await exists(ConfigMap, 'a')).toBe(true);
  });

  it('collects what an owner left while no collector ran', async () => {
    const a = await configMap('a');
    await secret('b', ownedBy(owner(a)));
    await controlPlane.close();
    await start('none');
    await remove(ConfigMap, 'a', 'Background');
    await controlPlane.close();
    await start('garbage-collector');
    await gone(Secret, 'b');
  });

  it('deletes what gets a dead owner later', async () => {
    const a = await configMap('a');
    await remove(ConfigMap, 'a');
    const b = await secret('b');
    await client.update(Secret, { ...b, metadata: { ...b.metadata, ...ownedBy(owner(a)) } });
    await gone(Secret, 'b');
  });

  it('deletes namespaced dependents of a cluster-scoped owner', async () => {
    const node = await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' } });
    await secret('of-node', ownedBy(owner(node)));
    await collectorHasSeenAll();
    expect(await exists(Secret, 'of-node')).toBe(true);
    await client.delete(nodes, { name: 'n' });
    await gone(Secret, 'of-node');
  });

  it('leaves a cluster-scoped object that names a namespaced owner alone', async () => {
    const a = await configMap('a');
    await client.create(nodes, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n', ...ownedBy(owner(a)) } });
    await remove(ConfigMap, 'a');
    await collectorHasSeenAll();
    await expect(client.get(nodes, { name: 'n' })).resolves.toBeDefined();
  });

  it('deletes what names an owner in another namespace, and says why', async () => {
    await client.create(Namespace, { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'other' } });
    const a = await configMap('a');
    const metadata = { name: 'far', namespace: 'other', ...ownedBy(owner(a)) };
    await collectorHasSeenAll();
    await client.create(Secret, { apiVersion: 'v1', kind: 'Secret', metadata });
    await eventually(async () => expect(await client.get(Secret, metadata).catch(isNotFound)).toBe(true));
    await eventually(async () => {
      const { items } = await client.listPage(Event, { namespace: 'other' });
      expect(
        items.map(({ type, reason, message, involvedObject }) => [type, reason, message, involvedObject.name]),
      ).toEqual([
        [
          'Warning',
          'OwnerRefInvalidNamespace',
          `ownerRef [v1/ConfigMap, namespace: other, name: a, uid: ${a.metadata?.uid}] does not exist in namespace "other"`,
          'far',
        ],
      ]);
    });
    expect(await exists(ConfigMap, 'a')).toBe(true);
  });
});

describe('foreground', () => {
  it('deletes blocking dependents first, then the owner', async () => {
    const a = await configMap('a');
    await secret('b', { finalizers: ['example.com/hold'], ...ownedBy(owner(a, { blockOwnerDeletion: true })) });
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await eventually(async () => {
      const { metadata } = await client.get(Secret, { name: 'b', namespace });
      expect(metadata?.deletionTimestamp).toBeDefined();
    });
    await collectorHasSeenAll();
    const waiting = await client.get(ConfigMap, { name: 'a', namespace });
    expect(waiting.metadata?.finalizers).toEqual(['foregroundDeletion']);
    await client.patch(Secret, { name: 'b', namespace }, { type: 'merge', body: { metadata: { finalizers: null } } });
    await gone(Secret, 'b');
    await gone(ConfigMap, 'a');
  });

  it('does not wait for dependents that do not block', async () => {
    const a = await configMap('a');
    await secret('b', { finalizers: ['example.com/hold'], ...ownedBy(owner(a)) });
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await gone(ConfigMap, 'a');
    const { metadata } = await client.get(Secret, { name: 'b', namespace });
    expect(metadata?.finalizers).toEqual(['example.com/hold']);
  });

  it('goes on when a dependent stops blocking', async () => {
    const a = await configMap('a');
    const blocking = ownedBy(owner(a, { blockOwnerDeletion: true }));
    await secret('b', { finalizers: ['example.com/hold'], ...blocking });
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    const body = { metadata: ownedBy(owner(a, { blockOwnerDeletion: false })) };
    await client.patch(Secret, { name: 'b', namespace }, { type: 'merge', body });
    await gone(ConfigMap, 'a');
  });

  it('reaches down through dependents that have dependents', async () => {
    const a = await configMap('a');
    const b = await configMap('b', ownedBy(owner(a, { blockOwnerDeletion: true })));
    await secret('c', ownedBy(owner(b, { blockOwnerDeletion: true })));
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await gone(ConfigMap, 'a');
    expect([await exists(ConfigMap, 'b'), await exists(Secret, 'c')]).toEqual([false, false]);
  });

  it('ends for objects that own each other', async () => {
    const a = await configMap('a');
    const b = await configMap('b', ownedBy(owner(a, { blockOwnerDeletion: true })));
    const body = { metadata: ownedBy(owner(b, { blockOwnerDeletion: true })) };
    await client.patch(ConfigMap, { name: 'a', namespace }, { type: 'merge', body });
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await gone(ConfigMap, 'a');
    await gone(ConfigMap, 'b');
  });

  it('frees a dependent that has another owner, and does not wait for it', async () => {
    const [a, b] = [await configMap('a'), await configMap('b')];
    await secret('shared', ownedBy(owner(a, { blockOwnerDeletion: true }), owner(b)));
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await gone(ConfigMap, 'a');
    const { metadata } = await client.get(Secret, { name: 'shared', namespace });
    expect(metadata?.ownerReferences).toEqual([owner(b)]);
  });
});

describe('orphan', () => {
  it('takes the owner off its dependents, then lets it go', async () => {
    const [a, b] = [await configMap('a'), await configMap('b')];
    await secret('only', ownedBy(owner(a)));
    await secret('shared', ownedBy(owner(a), owner(b)));
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Orphan');
    await gone(ConfigMap, 'a');
    const only = await client.get(Secret, { name: 'only', namespace });
    const shared = await client.get(Secret, { name: 'shared', namespace });
    expect(only.metadata?.ownerReferences).toBeUndefined();
    expect(shared.metadata?.ownerReferences).toEqual([owner(b)]);
  });

  it('frees more dependents than are patched at a time', async () => {
    const a = await configMap('a');
    const names = Array.from({ length: 45 }, (_, index) => `b${index}`);
    await Promise.all(names.map((name) => secret(name, ownedBy(owner(a)))));
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Orphan');
    await gone(ConfigMap, 'a');
    const { items } = await client.listPage(Secret, { namespace });
    expect(items.filter(({ metadata }) => metadata?.ownerReferences === undefined)).toHaveLength(45);
  });

  it('obeys a policy that is changed while the object waits', async () => {
    const a = await configMap('a', { finalizers: ['example.com/hold'] });
    await secret('b', { finalizers: ['example.com/hold'], ...ownedBy(owner(a, { blockOwnerDeletion: true })) });
    await collectorHasSeenAll();
    await remove(ConfigMap, 'a', 'Foreground');
    await eventually(async () => {
      const { metadata } = await client.get(Secret, { name: 'b', namespace });
      expect(metadata?.deletionTimestamp).toBeDefined();
    });
    await remove(ConfigMap, 'a', 'Orphan');
    await eventually(async () => {
      const { metadata } = await client.get(ConfigMap, { name: 'a', namespace });
      expect(metadata?.finalizers).toEqual(['example.com/hold']);
    });
    const { metadata } = await client.get(Secret, { name: 'b', namespace });
    expect(metadata?.ownerReferences).toBeUndefined();
  });
});

it('is off, and leaves no finalizer for itself, where garbage collection is disabled', async () => {
  await controlPlane.close();
  await start('*');
  const a = await configMap('a');
  await secret('b', ownedBy(owner(a)));
  for (const policy of ['Foreground', 'Orphan', 'Background'] as const) {
    await remove(ConfigMap, 'a', policy);
    expect(await exists(ConfigMap, 'a')).toBe(false);
    await configMap('a');
  }
  await clock.advance(60_000);
  expect(await exists(Secret, 'b')).toBe(true);
});

describe('kinds', () => {
  const definition = {
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
  const widget = (name: string, more: ObjectMeta = {}): Promise<KubernetesObject> =>
    eventually(() =>
      client.create(widgets, { apiVersion: 'example.com/v1', kind: 'Widget', metadata: meta(name, more) }),
    );

  it('follows custom resources as owners and as dependents, from the moment they are there', async () => {
    await client.create(CustomResourceDefinition, definition);
    const w = await widget('w');
    await secret('of-widget', ownedBy(owner(w)));
    const a = await configMap('a');
    await widget('of-map', ownedBy(owner(a)));
    await remove(widgets, 'w');
    await remove(ConfigMap, 'a');
    await gone(Secret, 'of-widget');
    await gone(widgets, 'of-map');
  });

  it('collects what belonged to custom resources whose definition is deleted, and follows the next definition', async () => {
    for (let round = 0; round < 2; round++) {
      await client.create(CustomResourceDefinition, definition);
      const w = await widget('w');
      await secret('of-widget', ownedBy(owner(w)));
      await collectorHasSeenAll();
      await client.delete(CustomResourceDefinition, { name: 'widgets.example.com' });
      await gone(Secret, 'of-widget');
      await eventually(async () =>
        expect(await client.get(CustomResourceDefinition, { name: 'widgets.example.com' }).catch(isNotFound)).toBe(
          true,
        ),
      );
    }
  });

  it('keeps dependents of a kind that nobody knows, and decides as soon as it comes', async () => {
    const unknown = { apiVersion: 'example.com/v1', kind: 'Widget', name: 'w', uid: 'u' };
    await secret('waits', ownedBy(unknown));
    await collectorHasSeenAll();
    await clock.advance(60_000);
    expect(await exists(Secret, 'waits')).toBe(true);
    await client.create(CustomResourceDefinition, definition);
    await gone(Secret, 'waits');
  });

  it('collects pods of a replica set of a deployment, by whichever policy kubectl asks for', async () => {
    const template = { metadata: { labels: { app: 'w' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const spec = { selector: { matchLabels: { app: 'w' } }, template };
    for (const policy of ['Background', 'Foreground'] as const) {
      const d = await client.create(Deployment, {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        metadata: meta('d'),
        spec,
      });
      const controlled = { controller: true, blockOwnerDeletion: true };
      const rs = {
        apiVersion: 'apps/v1',
        kind: 'ReplicaSet',
        metadata: meta('rs', ownedBy(owner(d, controlled))),
        spec,
      };
      const r = await client.create(ReplicaSet, rs);
      const metadata = meta('p', { labels: { app: 'w' }, ...ownedBy(owner(r, controlled)) });
      await client.create(Pod, { apiVersion: 'v1', kind: 'Pod', metadata, spec: template.spec });
      await collectorHasSeenAll();
      await remove(Deployment, 'd', policy);
      await gone(Deployment, 'd');
      await gone(ReplicaSet, 'rs');
      await gone(Pod, 'p');
    }
  });
});

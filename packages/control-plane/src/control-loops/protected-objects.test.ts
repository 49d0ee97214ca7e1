import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isNotFound, type KubernetesObject, type Resource } from '@kapstan/api';
import { PersistentVolume, PersistentVolumeClaim, Pod } from '@kapstan/kinds/core/v1';
import { VolumeAttributesClass } from '@kapstan/kinds/storage.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { startControlPlane } from '../control-plane.ts';
import type { ControlPlane } from '../options/control-plane-options.ts';

let dataDir: string;
let controlPlane: ControlPlane;
const namespace = 'default';
const resources = { requests: { storage: '1Gi' } };
const finalizer = 'kubernetes.io/pvc-protection';

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'kapstan-protection-'));
  const controlLoops = ['pvc-protection', 'pv-protection', 'volumeattributesclass-protection'];
  controlPlane = await startControlPlane({
    dataDir,
    http: 'off',
    controlLoops,
    admission: { enabled: [], disabled: ['ServiceAccount'] },
  });
});
afterEach(async () => {
  await controlPlane.close();
  await rm(dataDir, { recursive: true });
});

const claim = (name: string, more: object = {}, spec: object = {}): Promise<PersistentVolumeClaim> =>
  controlPlane.client.create(PersistentVolumeClaim, {
    metadata: { name, namespace, ...more },
    spec: { accessModes: ['ReadWriteOnce'], storageClassName: 's', resources, ...spec },
  });
const pod = (name: string, volumes: object[], nodeName?: string): Promise<Pod> =>
  controlPlane.client.create(Pod, {
    metadata: { name, namespace },
    spec: { containers: [{ name: 'c', image: 'i' }], volumes: volumes as never, ...(nodeName && { nodeName }) },
  });
const using = (claimName: string): object => ({ name: 'v', persistentVolumeClaim: { claimName } });

function remove(token: Resource, name: string, gracePeriodSeconds?: number): Promise<unknown> {
  const target = token.scope === 'Namespaced' ? { namespace, name } : { name };
  return controlPlane.client.delete(token, target, { gracePeriodSeconds });
}

async function isThere(token: Resource, name: string): Promise<boolean> {
  try {
    await controlPlane.client.get(token, token.scope === 'Namespaced' ? { namespace, name } : { name });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
const goes = (token: Resource, name: string): Promise<void> =>
  vi.waitFor(async () => expect(await isThere(token, name)).toBe(false), { timeout: 8000, interval: 5 });

const volumeSpec = { capacity: { storage: '1Gi' }, accessModes: ['ReadWriteOnce'], hostPath: { path: '/x' } };
const parts: ReadonlyMap<Resource, object> = new Map<Resource, object>([
  [PersistentVolumeClaim, { spec: { accessModes: ['ReadWriteOnce'], storageClassName: 's', resources } }],
  [PersistentVolume, { spec: volumeSpec }],
  [VolumeAttributesClass, { driverName: 'example.com', parameters: { a: 'b' } }],
]);

function make(token: Resource, name: string): Promise<KubernetesObject> {
  const metadata = token.scope === 'Namespaced' ? { name, namespace } : { name };
  return controlPlane.client.create(token, { ...parts.get(token), metadata });
}

/** Checks that an object deleted earlier still waits, by watching the removal of a later object of its kind. */
async function stays(token: Resource, name: string): Promise<void> {
  await make(token, 'marker');
  await remove(token, 'marker');
  await goes(token, 'marker');
  expect(await isThere(token, name)).toBe(true);
}

describe('a claim that is deleted', () => {
  it('goes when nobody uses it, and pods that no node has do not count', async () => {
    await claim('a');
    await pod('waiting', [using('a')]);
    await remove(PersistentVolumeClaim, 'a');
    await goes(PersistentVolumeClaim, 'a');
  });

  it('stays until its last pod on a node is gone', async () => {
    await claim('a');
    await pod('one', [using('a')], 'n');
    await pod('two', [using('a')], 'n');
    await remove(PersistentVolumeClaim, 'a');
    await remove(Pod, 'one', 0);
    await stays(PersistentVolumeClaim, 'a');
    await remove(Pod, 'two', 0);
    await goes(PersistentVolumeClaim, 'a');
  });

  it('stays with the pod that it was made for, not with one that merely bears the name', async () => {
    const ephemeral = {
      name: 'v',
      ephemeral: { volumeClaimTemplate: { spec: { accessModes: ['ReadWriteOnce'], resources } } },
    };
    const { metadata } = await pod('own', [ephemeral], 'n');
    const owner = { apiVersion: 'v1', kind: 'Pod', name: 'own', uid: metadata?.uid ?? '', controller: true };
    await claim('own-v', { ownerReferences: [owner] });
    await pod('other', [ephemeral], 'n');
    await claim('other-v');
    await remove(PersistentVolumeClaim, 'own-v');
    await remove(PersistentVolumeClaim, 'other-v');
    await goes(PersistentVolumeClaim, 'other-v');
    await stays(PersistentVolumeClaim, 'own-v');
    await remove(Pod, 'own', 0);
    await goes(PersistentVolumeClaim, 'own-v');
  });

  it('keeps to the finalizers of others', async () => {
    await claim('a', { finalizers: ['example.com/mine'] });
    await remove(PersistentVolumeClaim, 'a');
    await vi.waitFor(async () => {
      const { metadata } = await controlPlane.client.get(PersistentVolumeClaim, { namespace, name: 'a' });
      expect(metadata?.finalizers).toEqual(['example.com/mine']);
    }, 8000);
  });
});

it('gives back the finalizer of a claim that lost it', async () => {
  const made = await claim('a');
  const written = await controlPlane.client.update(PersistentVolumeClaim, {
    ...made,
    metadata: { ...made.metadata, finalizers: [] },
  });
  expect(written.metadata?.finalizers ?? []).toEqual([]);
  await vi.waitFor(async () => {
    const { metadata } = await controlPlane.client.get(PersistentVolumeClaim, { namespace, name: 'a' });
    expect(metadata?.finalizers).toEqual([finalizer]);
  }, 8000);
});

it('lets a volume go when it is bound no longer', async () => {
  const { client } = controlPlane;
  const made = (await make(PersistentVolume, 'v')) as PersistentVolume;
  const bound = { ...made, status: { ...made.status, phase: 'Bound' as const } };
  await client.update(PersistentVolume, bound, { subresource: 'status' });
  await remove(PersistentVolume, 'v');
  await stays(PersistentVolume, 'v');
  const present = await client.get(PersistentVolume, { name: 'v' });
  const released = { ...present, status: { ...present.status, phase: 'Released' as const } };
  await client.update(PersistentVolume, released, { subresource: 'status' });
  await goes(PersistentVolume, 'v');
});

it('lets a class of volume attributes go when no claim names it any more', async () => {
  await make(VolumeAttributesClass, 'fast');
  await claim('a', {}, { volumeAttributesClassName: 'fast' });
  // All loops share one cache of claims, so it holds this claim once a later claim has gone.
  await stays(PersistentVolumeClaim, 'a');
  await remove(VolumeAttributesClass, 'fast');
  await stays(VolumeAttributesClass, 'fast');
  await remove(PersistentVolumeClaim, 'a');
  await goes(VolumeAttributesClass, 'fast');
});

it.each([
  ['volume', PersistentVolume],
  ['class of volume attributes', VolumeAttributesClass],
])('lets an unused %s go at once', async (_case, token: Resource) => {
  await make(token, 'x');
  await remove(token, 'x');
  await goes(token, 'x');
});

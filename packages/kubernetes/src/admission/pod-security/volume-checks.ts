// The rules about volumes: no folders of the host, and at the restricted level only volumes that Kubernetes itself fills.
// Run by pod-checks.ts.

import type { DeepReadonly } from '@kapstan/api';
import type { Volume } from '@kapstan/kinds/core/v1';
import { type CheckedPod, listed, type PodCheck, plural, quoted, sorted, type Violation } from './pod-check.ts';

type Source = Exclude<keyof Volume, 'name'>;

function hostPathFault({ spec }: CheckedPod): Violation | undefined {
  const names = (spec.volumes ?? []).filter(({ hostPath }) => hostPath !== undefined).map(({ name }) => name);
  return names.length === 0 ? undefined : { reason: 'hostPath volumes', detail: listed('volume', names) };
}

export const hostPathVolumes: PodCheck = { id: 'hostPathVolumes', versions: [{ since: 0, check: hostPathFault }] };

const allowed: readonly Source[] = [
  'configMap',
  'csi',
  'downwardAPI',
  'emptyDir',
  'ephemeral',
  'image',
  'persistentVolumeClaim',
  'projected',
  'secret',
];
const known: readonly Source[] = [
  'hostPath',
  'gcePersistentDisk',
  'awsElasticBlockStore',
  'gitRepo',
  'nfs',
  'iscsi',
  'glusterfs',
  'rbd',
  'flexVolume',
  'cinder',
  'cephfs',
  'flocker',
  'fc',
  'azureFile',
  'vsphereVolume',
  'quobyte',
  'azureDisk',
  'photonPersistentDisk',
  'portworxVolume',
  'scaleIO',
  'storageos',
];

function isAllowed(volume: DeepReadonly<Volume>): boolean {
  return allowed.some((source) => volume[source] !== undefined);
}

function volumeTypeFault({ spec }: CheckedPod): Violation | undefined {
  const bad = (spec.volumes ?? []).filter((volume) => !isAllowed(volume));
  if (bad.length === 0) return undefined;
  const types = sorted(bad.map((volume) => known.find((source) => volume[source] !== undefined) ?? 'unknown'));
  const names = bad.map(({ name }) => name);
  const what = `${plural('restricted volume type', types.length)} ${quoted(types)}`;
  const detail = `${listed('volume', names)} ${bad.length === 1 ? 'uses' : 'use'} ${what}`;
  return { reason: 'restricted volume types', detail };
}

export const restrictedVolumes: PodCheck = {
  id: 'restrictedVolumes',
  versions: [{ since: 0, check: volumeTypeFault }],
  replaces: hostPathVolumes.id,
};

// The API objects to which a pod refers: a node may create only pods that refer to none. Used by node-pods.ts. Source: pkg/api/pod
// HasAPIObjectReference.
import type { DeepReadonly } from '@kapstan/api';
import type { PodSpec, Volume } from '@kapstan/kinds/core/v1';
import { configMapsOf, secretsOf } from '../../core/pods/object-references.ts';

type AnyVolume = DeepReadonly<Volume>;

/** Returns the object to which the pod refers, for people; undefined when there is none. */
export function referenceOf(spec: DeepReadonly<PodSpec>): string | undefined {
  if ((spec.serviceAccountName ?? '') !== '') return 'serviceaccounts';
  if (secretsOf(spec).length > 0) return 'secrets';
  if (configMapsOf(spec).length > 0) return 'configmaps';
  if ((spec.resourceClaims ?? []).length > 0) return 'resourceclaims';
  for (const volume of spec.volumes ?? []) {
    const found = volumeReference(volume);
    if (found !== undefined) return found;
  }
  return undefined;
}

const referring: readonly (readonly [keyof Volume, string])[] = [
  ['configMap', 'configmaps (via configmap volumes)'],
  ['secret', 'secrets (via secret volumes)'],
  ['csi', 'csidrivers (via CSI volumes)'],
  ['glusterfs', 'endpoints (via glusterFS volumes)'],
  ['persistentVolumeClaim', 'persistentvolumeclaims'],
  ['ephemeral', 'persistentvolumeclaims (via ephemeral volumes)'],
  ['azureFile', 'secrets (via azureFile volumes)'],
];

function volumeReference(volume: AnyVolume): string | undefined {
  const found = referring.find(([source]) => volume[source] !== undefined);
  if (found !== undefined) return found[1];
  for (const { configMap, secret, serviceAccountToken, clusterTrustBundle, podCertificate } of volume.projected
    ?.sources ?? []) {
    if (configMap !== undefined) return 'configmaps (via projected volumes)';
    if (secret !== undefined) return 'secrets (via projected volumes)';
    if (serviceAccountToken !== undefined) return 'serviceaccounts (via projected volumes)';
    if (clusterTrustBundle !== undefined) return 'clustertrustbundles';
    if (podCertificate !== undefined) return 'podcertificates';
  }
  return undefined;
}

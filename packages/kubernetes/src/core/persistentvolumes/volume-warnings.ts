// Warnings about persistent volumes. Source: pkg/api/persistentvolume/util.go (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { fieldIndex, fieldKey } from '@kapstan/api/errors';
import type { PersistentVolume } from '@kapstan/kinds/core/v1';
import { termWarnings } from '../../validation/node-label-warnings.ts';
import { betaClass, betaClassText } from '../persistentvolumeclaims/claim-warnings.ts';

const annotations = [
  [betaClass, betaClassText],
  ['volume.beta.kubernetes.io/mount-options', 'deprecated since v1.31; use "mountOptions" attribute instead'],
] as const;

/** Deprecated sources by the name that Kubernetes shows. */
const sources = [
  ['cephfs', 'cephfs', 'deprecated in v1.28, non-functional in v1.31+'],
  ['photonPersistentDisk', 'photonPersistentDisk', 'deprecated in v1.11, non-functional in v1.16+'],
  ['scaleIO', 'scaleIO', 'deprecated in v1.16, non-functional in v1.22+'],
  ['storageos', 'storageOS', 'deprecated in v1.22, non-functional in v1.25+'],
  ['glusterfs', 'glusterfs', 'deprecated in v1.25, non-functional in v1.26+'],
  ['rbd', 'rbd', 'deprecated in v1.28, non-functional in v1.31+'],
] as const;

export function volumeWarnings({ metadata, spec = {} }: DeepReadonly<PersistentVolume>): string[] {
  const terms = spec.nodeAffinity?.required?.nodeSelectorTerms ?? [];
  const recycle =
    'spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated. Instead, the recommended approach is to use dynamic provisioning.';
  return [
    ...annotations.flatMap(([key, why]) =>
      metadata?.annotations?.[key] === undefined ? [] : [`${fieldKey('metadata.annotations', key)}: ${why}`],
    ),
    ...(spec.persistentVolumeReclaimPolicy === 'Recycle' ? [recycle] : []),
    ...terms.flatMap((term, index) =>
      termWarnings(term, fieldIndex('spec.nodeAffinity.required.nodeSelectorTerms', index)),
    ),
    ...sources.flatMap(([name, shown, why]) => (spec[name] === undefined ? [] : [`spec.${shown}: ${why}`])),
  ];
}

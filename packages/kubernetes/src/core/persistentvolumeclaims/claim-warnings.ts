// Warnings about claims, and about the templates of claims in pods and stateful sets.
// Source: pkg/api/persistentvolumeclaim/util.go (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { fieldChild, fieldKey } from '@kapstan/api/errors';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@kapstan/kinds/core/v1';
import { amount, isWhole } from '../../validation/resource-rules.ts';

export const betaClass = 'volume.beta.kubernetes.io/storage-class';
export const betaClassText = 'deprecated since v1.8; use "storageClassName" attribute instead';

export function claimWarnings({ metadata, spec }: DeepReadonly<PersistentVolumeClaim>): string[] {
  const isOld = metadata?.annotations?.[betaClass] !== undefined;
  return [
    ...(isOld ? [`${fieldKey('metadata.annotations', betaClass)}: ${betaClassText}`] : []),
    ...claimSpecWarnings(spec, 'spec'),
  ];
}

/** Warns of fractions of a byte. `at`: the path of the spec as Kubernetes names it. */
export function claimSpecWarnings(spec: DeepReadonly<PersistentVolumeClaimSpec> | undefined, at: string): string[] {
  return (['requests', 'limits'] as const).flatMap((list) => {
    const text = spec?.resources?.[list]?.storage;
    if (text === undefined || isWhole(text)) return [];
    const where = fieldKey(fieldChild(fieldChild(at, 'resources'), list), 'storage');
    return [`${where}: fractional byte value ${JSON.stringify(String(amount(text)))} is invalid, must be an integer`];
  });
}

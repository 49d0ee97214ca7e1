// PersistentVolumeClaimResize lets a bound claim grow only if its storage class allows expansion. Source:
// plugin/pkg/admission/storage/persistentvolume/resize.

import type { DeepReadonly } from '@kapstan/api';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { isAbout, refuse } from '@kapstan/apiserver/internal';
import type { PersistentVolumeClaim } from '@kapstan/kinds/core/v1';
import type { StorageClass } from '@kapstan/kinds/storage.k8s.io/v1';
import { amount } from '../validation/resource-rules.ts';

const classes: GroupVersionResource = { group: 'storage.k8s.io', version: 'v1', resource: 'storageclasses' };
const oldAnnotation = 'volume.beta.kubernetes.io/storage-class';

type Claim = DeepReadonly<PersistentVolumeClaim>;

export function persistentVolumeClaimResize(reader: ObjectReader): AdmissionPlugin {
  return {
    name: 'PersistentVolumeClaimResize',
    validatedResources: ['persistentvolumeclaims'],
    validate: (attributes) => validate(reader, attributes),
  };
}

async function validate(reader: ObjectReader, attributes: AdmissionAttributes): Promise<void> {
  const next = attributes.object as Claim | undefined;
  const old = attributes.oldObject as Claim | undefined;
  if (!isAbout(attributes, '', 'persistentvolumeclaims') || attributes.operation !== 'UPDATE') return;
  if (next === undefined || old === undefined || !grows(next, old)) return;
  if (old.status?.phase !== 'Bound') throw refuse(attributes, 'Only bound persistent volume claims can be expanded');
  if (await mayGrow(reader, next, old)) return;
  const why =
    'only dynamically provisioned pvc can be resized and the storageclass that provisions the pvc must support resize';
  throw refuse(attributes, why);
}

function grows(next: Claim, old: Claim): boolean {
  const [size, had] = [next, old].map(({ spec }) => amount(spec?.resources?.requests?.storage ?? '0'));
  return size !== undefined && had !== undefined && size.compare(had) > 0;
}

async function mayGrow(reader: ObjectReader, next: Claim, old: Claim): Promise<boolean> {
  const name = classOf(next);
  if (name === '' || name !== classOf(old)) return false;
  const found = await reader.get(classes, { namespace: '', name }, 'cached');
  return (found as DeepReadonly<StorageClass> | undefined)?.allowVolumeExpansion === true;
}

function classOf({ metadata, spec }: Claim): string {
  return metadata?.annotations?.[oldAnnotation] ?? spec?.storageClassName ?? '';
}

// Rules for volumes of attachments without a PersistentVolume: they are migrated from in-tree plugins, so they must be
// CSI. Source: pkg/apis/core/validation ValidatePersistentVolumeSpec, with validateInlinePersistentVolumeSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { PersistentVolumeSpec } from '@kapstan/kinds/core/v1';
import { validateAccessModes } from '../../core/persistentvolumeclaims/claim-validation.ts';
import { validateSources } from '../../core/persistentvolumes/persistent-volumes.ts';

const context = 'in the context of inline volumes';

export function validateInlineVolume(at: Field, spec: DeepReadonly<PersistentVolumeSpec>): void {
  const isNotAllowed = `may not be specified ${context}`;
  if (spec.claimRef !== undefined) at.child('claimRef').forbidden(isNotAllowed);
  if (Object.keys(spec.capacity ?? {}).length > 0) at.child('capacity').forbidden(isNotAllowed);
  if (spec.csi === undefined) at.child('csi').required(`has to be specified ${context}`);
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) at.child('accessModes').required();
  validateAccessModes(at.child('accessModes'), modes);
  const policy = spec.persistentVolumeReclaimPolicy || 'Retain';
  if (policy !== 'Retain') at.child('persistentVolumeReclaimPolicy').forbidden(`may only be Retain ${context}`);
  if (spec.nodeAffinity !== undefined) at.child('nodeAffinity').forbidden(isNotAllowed);
  validateSources(at, spec, '');
  if (spec.hostPath?.path === '/' && policy === 'Recycle') {
    at.child('persistentVolumeReclaimPolicy').forbidden("may not be 'recycle' for a hostPath mount of '/'");
  }
  if (spec.storageClassName) at.child('storageClassName').forbidden(isNotAllowed);
  if (spec.volumeMode !== undefined && spec.volumeMode !== 'Filesystem')
    at.child('volumeMode').forbidden(`may not specify volumeMode other than Filesystem ${context}`);
}

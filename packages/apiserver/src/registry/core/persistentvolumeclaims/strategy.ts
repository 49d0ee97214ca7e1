// Persistent volume claims. Source: pkg/registry/core/persistentvolumeclaim, pkg/apis/core/validation ValidatePersistentVolumeClaimSpec.
import { type DeepReadonly, deepCopy, dnsSubdomainErrors } from '@kapstan/api';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { jsonDiff } from '../../validation/json-diff.ts';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { amount, validatePositiveAmount } from '../../validation/resource-rules.ts';

const accessModes = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'] as const;
export const volumeModes = ['Block', 'Filesystem'] as const;

/** Source: SetDefaults_PersistentVolumeClaim. Also for the claim templates of stateful sets. */
export function setClaimDefaults(claim: PersistentVolumeClaim): void {
  claim.status = { ...claim.status, phase: claim.status?.phase || 'Pending' };
  if (claim.spec !== undefined) claim.spec.volumeMode ??= 'Filesystem';
}

export const persistentVolumeClaims: BuiltinKind<PersistentVolumeClaim> = {
  id: 'v1/persistentvolumeclaims',
  returnsDeletedObject: true,
  setDefaults: setClaimDefaults,
  prepareForCreate: (object) => {
    object.status = { phase: 'Pending' };
  },
  validate: (root, { spec }) => validateClaimSpec(root.child('spec'), spec ?? {}),
  validateChange: (root, next, old) => validateClaimChange(root.child('spec'), next, old),
};

function validateClaimSpec(at: Field, spec: DeepReadonly<PersistentVolumeClaimSpec>): void {
  validateLabelSelector(at.child('selector'), spec.selector);
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) at.child('accessModes').required('at least 1 access mode is required');
  validateAccessModes(at.child('accessModes'), modes);
  const storage = spec.resources?.requests?.storage;
  const storagePlace = at.child('resources').key('storage');
  if (storage === undefined) storagePlace.required();
  else validatePositiveAmount(storagePlace, storage);
  const className = spec.storageClassName;
  if (className) at.child('storageClassName').invalidAll(className, dnsSubdomainErrors(className));
  if (spec.volumeMode !== undefined) at.child('volumeMode').oneOf(spec.volumeMode, volumeModes);
}

/** ReadWriteOncePod stands alone. */
export function validateAccessModes(at: Field, modes: readonly string[]): void {
  for (const mode of modes) at.oneOf(mode, accessModes);
  if (modes.length > 1 && modes.includes('ReadWriteOncePod'))
    at.forbidden('may not use ReadWriteOncePod with other access modes');
}

/** Source: ValidatePersistentVolumeClaimUpdate. */
function validateClaimChange(
  at: Field,
  next: DeepReadonly<PersistentVolumeClaim>,
  old: DeepReadonly<PersistentVolumeClaim>,
): void {
  const isBound = old.status?.phase === 'Bound';
  const before = deepCopy(old.spec ?? {}) as PersistentVolumeClaimSpec;
  const after = deepCopy(next.spec ?? {}) as PersistentVolumeClaimSpec;
  // Binding writes the volume's name; a default class may come later.
  if (!before.volumeName && after.volumeName) before.volumeName = after.volumeName;
  if (before.storageClassName === undefined && after.storageClassName !== undefined)
    before.storageClassName = after.storageClassName;
  if (isBound) {
    copyMember(before, after, 'volumeAttributesClassName');
    if (after.resources?.requests !== undefined)
      before.resources = { ...before.resources, requests: after.resources.requests };
  }
  if (!jsonEqual(after, before)) {
    at.forbidden(
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${jsonDiff(before, after)}`,
    );
  }
  if (!isBound) return;
  const size = next.spec?.resources?.requests?.storage ?? '0';
  if (amount(size).compare(amount(old.status?.capacity?.storage ?? '0')) < 0) {
    at.child('resources', 'requests', 'storage').forbidden('field can not be less than status.capacity');
  }
}

function copyMember(
  to: PersistentVolumeClaimSpec,
  from: PersistentVolumeClaimSpec,
  name: 'volumeAttributesClassName',
): void {
  if (from[name] === undefined) delete to[name];
  else to[name] = from[name];
}

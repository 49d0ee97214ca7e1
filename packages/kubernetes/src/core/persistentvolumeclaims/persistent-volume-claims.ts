// Persistent volume claims. Source: pkg/registry/core/persistentvolumeclaim, pkg/apis/core/validation ValidatePersistentVolumeClaimSpec.
import { type DeepReadonly, deepCopy } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { Quantity } from '@kapstan/kinds';
import type { PersistentVolumeClaim, PersistentVolumeClaimSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { internalDiff } from '../../validation/json-diff.ts';
import { amount } from '../../validation/resource-rules.ts';
import { isEqualWhenStored } from '../stored-equality.ts';
import { validateClaimSpec } from './claim-validation.ts';
import { claimWarnings } from './claim-warnings.ts';

/**
 * Sets the defaults of a claim, also in the claim templates of stateful sets. Source:
 * SetDefaults_PersistentVolumeClaim.
 */
export function setVolumeClaimDefaults(claim: PersistentVolumeClaim): void {
  claim.status = { ...claim.status, phase: claim.status?.phase || 'Pending' };
  if (claim.spec !== undefined) claim.spec.volumeMode ??= 'Filesystem';
}

export const persistentVolumeClaims: BuiltinKind<PersistentVolumeClaim> = {
  id: 'v1/persistentvolumeclaims',
  returnsDeletedObject: true,
  warnings: claimWarnings,
  setDefaults: setVolumeClaimDefaults,
  prepareForCreate: (object) => {
    object.status = { phase: 'Pending' };
    if (object.spec !== undefined) alignDataSources(object.spec, undefined);
  },
  prepareForUpdate: (next, old) => {
    if (next.spec !== undefined) alignDataSources(next.spec, old.spec);
  },
  strategy: { updateMetadata: 'both' },
  validate: (root, { spec }, old) => validateClaimSpec(root.child('spec'), spec ?? {}, old?.spec),
  validateChange: (root, next, old) => validateClaimChange(root, next, old),
  status: { validate: validateClaimStatus },
};

/**
 * The old field can hold claims and snapshots only; it and the new one are given the same value. Source:
 * pkg/api/persistentvolumeclaim.
 */
function alignDataSources(
  spec: PersistentVolumeClaimSpec,
  old: DeepReadonly<PersistentVolumeClaimSpec> | undefined,
): void {
  // The feature gate CrossNamespaceVolumeDataSource is off.
  if (spec.dataSourceRef?.namespace && old?.dataSourceRef === undefined) delete spec.dataSourceRef;
  const { dataSource: source, dataSourceRef: reference } = spec;
  const wasUsed = old?.dataSource !== undefined || old?.dataSourceRef !== undefined;
  const form = `${source?.apiGroup ?? ''}/${source?.kind ?? ''}`;
  const isKnown = form === '/PersistentVolumeClaim' || form === 'snapshot.storage.k8s.io/VolumeSnapshot';
  if (!wasUsed && reference === undefined && !isKnown) delete spec.dataSource;
  if (spec.dataSource !== undefined && reference === undefined) spec.dataSourceRef = { ...spec.dataSource };
  else if (reference !== undefined && source === undefined && !reference.namespace) {
    const { namespace: _namespace, ...local } = reference;
    spec.dataSource = local;
  }
}

/** Source: ValidatePersistentVolumeClaimUpdate. */
function validateClaimChange(
  root: Field,
  next: DeepReadonly<PersistentVolumeClaim>,
  old: DeepReadonly<PersistentVolumeClaim>,
): void {
  const at = root.child('spec');
  const before = deepCopy(old.spec ?? {}) as PersistentVolumeClaimSpec;
  const after = deepCopy(next.spec ?? {}) as PersistentVolumeClaimSpec;
  takeChangeable(after, before, next.status?.phase === 'Bound');
  // Binding writes the volume's name.
  if (!before.volumeName && after.volumeName) before.volumeName = after.volumeName;
  if (!isEqualWhenStored('core.v1.PersistentVolumeClaimSpec', after, before)) {
    at.forbidden(
      `spec is immutable after creation except resources.requests and volumeAttributesClassName for bound claims\n${internalDiff('core.PersistentVolumeClaimSpec', before, after)}`,
    );
  }
  const [size, had] = [next, old].map(({ spec }) => amount(spec?.resources?.requests?.storage ?? '0'));
  const actual = amount(old.status?.capacity?.storage ?? '0');
  if (size !== undefined && had !== undefined && size.compare(had) < 0 && size.compare(actual) <= 0)
    at.child('resources', 'requests', 'storage').forbidden('field can not be less than status.capacity');
  root.child('volumeMode').immutable(next.spec?.volumeMode, next.spec?.volumeMode === old.spec?.volumeMode);
  validateAttributesChange(at.child('volumeAttributesClassName'), next, old);
}

/** Gives changeable fields their old values, so that the rest can be compared. */
function takeChangeable(after: PersistentVolumeClaimSpec, before: PersistentVolumeClaimSpec, isBound: boolean): void {
  // A default class may be set later.
  if (before.storageClassName === undefined) delete after.storageClassName;
  if (!isBound) return;
  if (before.volumeAttributesClassName === undefined) delete after.volumeAttributesClassName;
  else after.volumeAttributesClassName = before.volumeAttributesClassName;
  const size = before.resources?.requests?.storage;
  if (after.resources?.requests !== undefined && size !== undefined) after.resources.requests.storage = size;
}

function validateAttributesChange(
  at: Field,
  next: DeepReadonly<PersistentVolumeClaim>,
  old: DeepReadonly<PersistentVolumeClaim>,
): void {
  const name = next.spec?.volumeAttributesClassName;
  if (name || name === old.spec?.volumeAttributesClassName) return;
  if (old.status?.currentVolumeAttributesClassName === undefined) return;
  at.forbidden(
    `update to ${name === undefined ? 'nil' : 'empty string'} is forbidden when status.currentVolumeAttributesClassName is not nil`,
  );
}

const resizeStatuses = [
  'ControllerResizeInProgress',
  'ControllerResizeInfeasible',
  'NodeResizeInProgress',
  'NodeResizeInfeasible',
  'NodeResizePending',
].sort();

/** Source: ValidatePersistentVolumeClaimStatusUpdate. */
function validateClaimStatus(root: Field, { spec, status }: DeepReadonly<PersistentVolumeClaim>): void {
  const at = root.child('status');
  if ((spec?.accessModes?.length ?? 0) === 0) root.child('Spec', 'accessModes').required();
  at.child('capacity').eachKey(status?.capacity, (_name, value, place) => validateAmount(place, value));
  for (const [name, state] of Object.entries(status?.allocatedResourceStatuses ?? {})) {
    const place = at.child('allocatedResourceStatuses');
    validateResourceKey(place, name);
    if (!resizeStatuses.includes(state)) place.notSupported(name, resizeStatuses);
  }
  at.child('allocatedResources').eachKey(status?.allocatedResources, (name, value, place) => {
    const errorCount = at.errorCount;
    validateResourceKey(at.child('allocatedResources'), name);
    if (at.errorCount === errorCount) validateAmount(place, value);
  });
}

function validateAmount(at: Field, value: Quantity): void {
  const number = amount(value);
  if (number.compare(amount('0')) < 0) at.invalid(Number(number.scaledValue(0)), 'must be a valid resource quantity');
}

function validateResourceKey(at: Field, name: string): void {
  const errors = qualifiedNameErrors(name);
  at.invalidAll(name, errors);
  const isNative = !name.includes('/') || name.includes('kubernetes.io/');
  if (errors.length === 0 && isNative && name !== 'storage') at.notSupported(name, ['storage']);
}

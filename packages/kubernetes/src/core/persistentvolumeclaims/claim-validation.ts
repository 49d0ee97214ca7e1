// Rules for the spec of a claim, alone, in a stateful set or in an ephemeral volume. Source: pkg/apis/core/validation
// ValidatePersistentVolumeClaimSpec.
import type { DeepReadonly } from '@kapstan/api';
import { dnsLabelErrors, dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { PersistentVolumeClaimSpec, TypedObjectReference } from '@kapstan/kinds/core/v1';
import { validateLabelSelector } from '../../validation/label-rules.ts';
import { validatePositiveAmount } from '../../validation/resource-rules.ts';

const accessModes: readonly string[] = ['ReadOnlyMany', 'ReadWriteMany', 'ReadWriteOnce', 'ReadWriteOncePod'];
export const volumeModes = ['Block', 'Filesystem'] as const;

type ReadonlySpec = DeepReadonly<PersistentVolumeClaimSpec>;

export function validateClaimSpec(at: Field, spec: ReadonlySpec, old?: ReadonlySpec): void {
  validateLabelSelector(at.child('selector'), spec.selector);
  const modes = spec.accessModes ?? [];
  if (modes.length === 0) at.child('accessModes').required('at least 1 access mode is required');
  validateAccessModes(at.child('accessModes'), modes);
  const storage = spec.resources?.requests?.storage;
  const storagePlace = at.child('resources').key('storage');
  if (storage === undefined) storagePlace.required();
  else validatePositiveAmount(storagePlace, storage);
  for (const name of ['storageClassName', 'volumeAttributesClassName'] as const)
    if (spec[name]) at.child(name).invalidAll(spec[name], dnsSubdomainErrors(spec[name]));
  if (spec.volumeMode !== undefined) at.child('volumeMode').oneOf(spec.volumeMode, volumeModes);
  validateDataSources(at, spec, old);
}

/** ReadWriteOncePod excludes all other modes. */
export function validateAccessModes(at: Field, modes: readonly string[]): void {
  for (const mode of modes) at.oneOf(mode, accessModes);
  const others = modes.filter((mode) => mode !== 'ReadWriteOncePod' && accessModes.includes(mode));
  if (others.length > 0 && modes.includes('ReadWriteOncePod'))
    at.forbidden('may not use ReadWriteOncePod with other access modes');
}

function validateDataSources(at: Field, spec: ReadonlySpec, old: ReadonlySpec | undefined): void {
  const { dataSource: source, dataSourceRef: reference } = spec;
  // A stored group may date from before the rule. Source: allowInvalidAPIGroupInDataSourceOrRef.
  const allowsAnyGroup = old?.dataSource?.apiGroup !== undefined || old?.dataSourceRef?.apiGroup !== undefined;
  if (source !== undefined) validateDataSource(at.child('dataSource'), source, allowsAnyGroup);
  if (reference !== undefined) validateDataSource(at.child('dataSourceRef'), reference, allowsAnyGroup);
  if (source === undefined || reference === undefined) return;
  // Kubernetes shows the path of the field as its value, and a path has no JSON form.
  const shown = {};
  const isSame =
    source.apiGroup === reference.apiGroup && source.kind === reference.kind && source.name === reference.name;
  if (reference.namespace) at.invalid(shown, 'may not be specified when dataSourceRef.namespace is specified');
  else if (!isSame) at.invalid(shown, 'must match dataSourceRef');
}

function validateDataSource(
  at: Field,
  { name, kind, apiGroup, namespace }: DeepReadonly<TypedObjectReference>,
  allowsAnyGroup: boolean,
): void {
  if (name === '') at.child('name').required();
  if (kind === '') at.child('kind').required();
  if (apiGroup) {
    if (!allowsAnyGroup) at.child('apiGroup').invalidAll(apiGroup, dnsSubdomainErrors(apiGroup));
  } else if (kind !== 'PersistentVolumeClaim')
    at.invalid(kind, "must be 'PersistentVolumeClaim' when referencing the default apiGroup");
  if (namespace) at.child('namespace').invalidAll(namespace, dnsLabelErrors(namespace));
}

// Validates CustomResourceDefinitions, except for their metadata. The parts are in the files that this one imports.
// Source: apiextensions validation ValidateCustomResourceDefinition, …Update, …UpdateStatus.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import type { CustomResourceDefinition, CustomResourceDefinitionVersion } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { approvalAnnotation, approvalState, isProtectedGroup } from './api-approval.ts';
import { isConditionTrue } from './definition-conditions.ts';
import { validateNames } from './names-validation.ts';
import { validateSpec } from './spec-validation.ts';

type Definition = DeepReadonly<CustomResourceDefinition>;

/** Checks creates and updates. */
export function validateDefinition(at: Field, definition: Definition, old: Definition | undefined): void {
  const { spec } = definition;
  if (old === undefined) validateName(at, definition);
  validateSpec(at.child('spec'), spec, old);
  if (old !== undefined) validateDefinitionChange(at, definition, old);
  validateNames(at.child('status', 'acceptedNames'), definition.status?.acceptedNames);
  validateStoredVersions(at.child('status', 'storedVersions'), definition.status?.storedVersions, spec.versions ?? []);
  validateApproval(at, definition, old);
  if (spec.preserveUnknownFields === true && old?.spec.preserveUnknownFields !== true) {
    const text =
      'cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead';
    at.child('spec', 'preserveUnknownFields').invalid(true, text);
  }
}

/** Fields that the name and storage of a definition depend on must not change. */
function validateDefinitionChange(at: Field, next: Definition, old: Definition): void {
  const path = at.child('spec');
  const keep = (field: Field, value: string | undefined, before: string | undefined): void =>
    field.immutable(value ?? '', value === before);
  if (isConditionTrue(old, 'Established')) {
    keep(path.child('scope'), next.spec.scope, old.spec.scope);
    keep(path.child('names', 'kind'), next.spec.names.kind, old.spec.names.kind);
  }
  keep(path.child('group'), next.spec.group, old.spec.group);
  keep(path.child('names', 'plural'), next.spec.names.plural, old.spec.names.plural);
}

export function validateDefinitionStatus(at: Field, next: Definition): void {
  validateNames(at.child('status', 'acceptedNames'), next.status?.acceptedNames);
}

/**
 * The name must be derived from the spec; generateName is checked in the same way. The rules of all kinds report a
 * missing name.
 */
function validateName(at: Field, { metadata, spec }: Definition): void {
  for (const member of ['generateName', 'name'] as const) {
    const name = metadata?.[member] ?? '';
    if (name === '' || name === `${spec.names.plural}.${spec.group}`) continue;
    at.child('metadata', member).invalid(name, 'must be spec.names.plural+"."+spec.group');
  }
}

/** Source: ValidateCustomResourceDefinitionStoredVersions. */
function validateStoredVersions(
  at: Field,
  stored: readonly string[] | undefined | null,
  versions: DeepReadonly<CustomResourceDefinitionVersion[]>,
): void {
  if (!stored || stored.length === 0) {
    at.invalid(stored ?? null, 'must have at least one stored version');
    return;
  }
  // A version that the spec has twice counts once, as in Kubernetes.
  const unmatched = new Set(stored);
  for (const { name, storage } of versions) {
    const isStored = unmatched.delete(name);
    if (storage && !isStored) at.invalid(stored, `must have the storage version ${name}`);
  }
  at.each(stored, (name, field) => {
    if (!unmatched.delete(name)) return;
    field.invalid(
      name,
      `missing from spec.versions; ${name} was previously a storage version, and must remain in spec.versions until a storage migration ensures no data remains persisted in ${name} and removes ${name} from status.storedVersions`,
    );
  });
}

/**
 * A change of other fields never fails because of an approval that was already missing. Source: validateAPIApproval.
 */
function validateApproval(at: Field, definition: Definition, old: Definition | undefined): void {
  const { metadata, spec } = definition;
  if (!isProtectedGroup(spec.group)) return;
  const state = approvalState(metadata?.annotations);
  if (old !== undefined && approvalState(old.metadata?.annotations).type === state.type) return;
  const field = at.child('metadata', 'annotations').key(approvalAnnotation);
  if (state.type === 'missing') field.required(state.reason);
  if (state.type === 'invalid') field.invalid(metadata?.annotations?.[approvalAnnotation] ?? '', state.reason);
}

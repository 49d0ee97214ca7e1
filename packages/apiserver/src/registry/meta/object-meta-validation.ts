// Rules for metadata of every kind, with the texts and order of apimachinery's api/validation. Used by validation-run.ts
// and delete-request.ts.

import type { DeepReadonly, ObjectMeta, OwnerReference } from '@kapstan/api';
import {
  dnsLabelErrors,
  type FieldError,
  fieldChild,
  fieldIndex,
  forbiddenField,
  invalidField,
  labelValueErrors,
  qualifiedNameErrors,
  requiredField,
  tooLongField,
} from '@kapstan/api/errors';
import type { ManagedFieldsEntry } from '@kapstan/api/internal';
import { jsonEqual } from './json-equality.ts';
import { type NameRule, nameIsDnsSubdomain } from './names.ts';
import { goOwnerReference } from './object-meta.ts';

export interface MetadataRules {
  readonly namespaced: boolean;
  /** Default {@link nameIsDnsSubdomain}. */
  readonly nameRule?: NameRule | undefined;
  /** 'Kubernetes': a finalizer without a domain must be one of {@link standardFinalizers}. */
  readonly finalizerNames: 'Kubernetes' | 'Qualified';
}

export const orphanFinalizer = 'orphan';
export const foregroundFinalizer = 'foregroundDeletion';
/** Finalizers that need no domain. */
const standardFinalizers: ReadonlySet<string> = new Set(['kubernetes', orphanFinalizer, foregroundFinalizer]);

const root = 'metadata';
const maxAnnotationBytes = 256 * 1024;
const maxManagerBytes = 128;
const maxSubresourceBytes = 256;

/**
 * Returns all errors of metadata itself. `common`: the result of {@link commonErrors}. Source:
 * ValidateObjectMetaAccessor.
 */
export function validateObjectMeta(
  meta: DeepReadonly<ObjectMeta>,
  rules: MetadataRules,
  common: readonly FieldError[] = commonErrors(meta),
): FieldError[] {
  return [
    ...nameErrors(meta, rules.nameRule ?? nameIsDnsSubdomain),
    ...namespaceErrors(meta, rules.namespaced),
    ...generationErrors(meta),
    ...common,
    ...finalizerErrors(meta.finalizers ?? []),
    ...finalizerNameErrors(meta.finalizers ?? [], rules.finalizerNames),
  ];
}

/**
 * Returns all forbidden changes of metadata. `common`: the errors of the new one. Source:
 * ValidateObjectMetaAccessorUpdate.
 */
export function validateObjectMetaUpdate(
  next: DeepReadonly<ObjectMeta>,
  old: DeepReadonly<ObjectMeta>,
  common: readonly FieldError[] = commonErrors(next),
): FieldError[] {
  const errors: FieldError[] = [];
  if (old.deletionTimestamp !== undefined) errors.push(...newFinalizerErrors(next, old));
  if (!next.resourceVersion) {
    errors.push(invalidField(fieldChild(root, 'resourceVersion'), '', 'must be specified for an update'));
  }
  if ((next.generation ?? 0) < (old.generation ?? 0)) {
    errors.push(invalidField(fieldChild(root, 'generation'), next.generation ?? 0, 'must not be decremented'));
  }
  for (const field of immutableFields) {
    if (jsonEqual(next[field] ?? undefined, old[field] ?? undefined)) continue;
    const shown = next[field] ?? (isText.has(field) ? '' : null);
    errors.push(invalidField(fieldChild(root, field), shown, 'field is immutable'));
  }
  return [...errors, ...common];
}

const immutableFields = [
  'name',
  'namespace',
  'uid',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
] as const;
const isText: ReadonlySet<string> = new Set(['name', 'namespace', 'uid']);

function nameErrors(meta: DeepReadonly<ObjectMeta>, rule: NameRule): FieldError[] {
  const errors: FieldError[] = [];
  const { name = '', generateName = '' } = meta;
  if (generateName !== '') {
    const path = fieldChild(root, 'generateName');
    for (const text of rule(generateName, true)) errors.push(invalidField(path, generateName, text));
  }
  const path = fieldChild(root, 'name');
  if (name === '') return [...errors, requiredField(path, 'name or generateName is required')];
  for (const text of rule(name, false)) errors.push(invalidField(path, name, text));
  return errors;
}

function namespaceErrors(meta: DeepReadonly<ObjectMeta>, namespaced: boolean): FieldError[] {
  const namespace = meta.namespace ?? '';
  const path = fieldChild(root, 'namespace');
  if (!namespaced) return namespace === '' ? [] : [forbiddenField(path, 'not allowed on this type')];
  if (namespace === '') return [requiredField(path)];
  return dnsLabelErrors(namespace).map((text) => invalidField(path, namespace, text));
}

function generationErrors(meta: DeepReadonly<ObjectMeta>): FieldError[] {
  const { generation = 0 } = meta;
  if (generation >= 0) return [];
  return [invalidField(fieldChild(root, 'generation'), generation, 'must be greater than or equal to 0')];
}

/**
 * Returns the errors of labels, annotations, owners and managed fields. Creates report them once, updates several
 * times.
 */
export function commonErrors(meta: DeepReadonly<ObjectMeta>): FieldError[] {
  const { labels, annotations, ownerReferences, managedFields } = meta;
  // push(...list) would put its arguments on the stack, and clients decide how many there are.
  return [
    ...(labels === undefined ? [] : labelErrors(labels, fieldChild(root, 'labels'))),
    ...(annotations === undefined ? [] : annotationErrors(annotations, fieldChild(root, 'annotations'))),
    ...(ownerReferences === undefined ? [] : ownerReferenceErrors(ownerReferences)),
    ...(managedFields === undefined ? [] : managedFieldsErrors(managedFields)),
  ];
}

/** Checks the labels of an object or of a template in it. Source: v1validation.ValidateLabels. */
export function labelErrors(labels: Readonly<Record<string, string>>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(labels)) {
    for (const text of qualifiedNameErrors(key)) errors.push(invalidField(path, key, text));
    for (const text of labelValueErrors(value)) errors.push(invalidField(path, value, text));
  }
  return errors;
}

/**
 * Checks the annotations of an object or of a template in it. Keys are checked in lower case. Source:
 * ValidateAnnotations.
 */
export function annotationErrors(annotations: Readonly<Record<string, string>>, path: string): FieldError[] {
  let bytes = 0;
  const errors: FieldError[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    for (const text of qualifiedNameErrors(key.toLowerCase())) errors.push(invalidField(path, key, text));
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
  }
  return bytes > maxAnnotationBytes ? [...errors, tooLongField(path, maxAnnotationBytes)] : errors;
}

/**
 * Each error shows the whole list, so a kube-apiserver answers a list of 3 MiB with terabytes. With more errors than
 * this the list is shown once.
 */
const mostControllersTold = 10;

function ownerReferenceErrors(references: DeepReadonly<OwnerReference[]>): FieldError[] {
  const path = fieldChild(root, 'ownerReferences');
  const errors: FieldError[] = [];
  let firstController: string | undefined;
  let moreControllers = 0;
  const mostTold = references.length > mostControllersTold + 1 ? 1 : mostControllersTold;
  for (const reference of references) {
    errors.push(...oneOwnerErrors(reference, path));
    if (reference.controller !== true) continue;
    const controller = `${reference.kind ?? ''}/${reference.name ?? ''}`;
    if (firstController === undefined) firstController = controller;
    else if (moreControllers++ < mostTold) {
      const text = `Only one reference can have Controller set to true. Found "true" in references for ${firstController} and ${controller}`;
      errors.push(invalidField(path, references.map(goOwnerReference), text));
    }
  }
  return errors;
}

function oneOwnerErrors(reference: DeepReadonly<OwnerReference>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { apiVersion = '', kind = '', name = '', uid = '' } = reference;
  const parts = apiVersion.split('/');
  const version = parts.length > 2 ? '' : (parts.at(-1) ?? '');
  if (version === '')
    errors.push(invalidField(fieldChild(path, 'apiVersion'), apiVersion, 'version must not be empty'));
  if (kind === '') errors.push(invalidField(fieldChild(path, 'kind'), kind, 'must not be empty'));
  if (name === '') errors.push(invalidField(fieldChild(path, 'name'), name, 'must not be empty'));
  if (uid === '') errors.push(invalidField(fieldChild(path, 'uid'), uid, 'must not be empty'));
  if (apiVersion === 'v1' && kind === 'Event') {
    errors.push(invalidField(path, goOwnerReference(reference), '/v1, Kind=Event is disallowed from being an owner'));
  }
  return errors;
}

function finalizerErrors(finalizers: readonly string[]): FieldError[] {
  const path = fieldChild(root, 'finalizers');
  const errors = finalizers.flatMap((finalizer) =>
    qualifiedNameErrors(finalizer).map((text) => invalidField(path, finalizer, text)),
  );
  if (finalizers.includes(orphanFinalizer) && finalizers.includes(foregroundFinalizer)) {
    const text = `finalizer ${orphanFinalizer} and ${foregroundFinalizer} cannot be both set`;
    errors.push(invalidField(path, finalizers, text));
  }
  return errors;
}

/**
 * Refuses finalizers without a domain that are not standard ones. Source: core validation's validateKubeFinalizerName.
 */
export function finalizerNameErrors(
  finalizers: readonly string[],
  names: MetadataRules['finalizerNames'],
): FieldError[] {
  if (names === 'Qualified') return [];
  const text = 'name is neither a standard finalizer name nor is it fully qualified';
  return finalizers.flatMap((finalizer, index) => {
    if (finalizer.includes('/') || standardFinalizers.has(finalizer)) return [];
    return [invalidField(fieldIndex(fieldChild(root, 'finalizers'), index), finalizer, text)];
  });
}

function newFinalizerErrors(next: DeepReadonly<ObjectMeta>, old: DeepReadonly<ObjectMeta>): FieldError[] {
  const present = new Set(old.finalizers ?? []);
  const added = [...new Set(next.finalizers ?? [])].filter((finalizer) => !present.has(finalizer)).sort();
  if (added.length === 0) return [];
  const shown = `[]string{${added.map((finalizer) => JSON.stringify(finalizer)).join(', ')}}`;
  const text = `no new finalizers can be added if the object is being deleted, found new finalizers ${shown}`;
  return [forbiddenField(fieldChild(root, 'finalizers'), text)];
}

function managedFieldsErrors(entries: DeepReadonly<ManagedFieldsEntry[]>): FieldError[] {
  return entries.flatMap((entry, index) =>
    managedFieldErrors(entry, fieldIndex(fieldChild(root, 'managedFields'), index)),
  );
}

/** Source: v1validation.ValidateManagedFields. */
function managedFieldErrors(entry: DeepReadonly<ManagedFieldsEntry>, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const { operation = '', fieldsType = '', manager = '', subresource = '' } = entry;
  if (operation !== 'Apply' && operation !== 'Update') {
    errors.push(invalidField(fieldChild(path, 'operation'), operation, 'must be `Apply` or `Update`'));
  }
  if (fieldsType !== '' && fieldsType !== 'FieldsV1') {
    errors.push(invalidField(fieldChild(path, 'fieldsType'), fieldsType, 'must be `FieldsV1`'));
  }
  for (const error of fieldManagerErrors(manager, fieldChild(path, 'manager'))) errors.push(error);
  if (Buffer.byteLength(subresource) > maxSubresourceBytes) {
    errors.push(tooLongField(fieldChild(path, 'subresource'), maxSubresourceBytes));
  }
  return errors;
}

/**
 * Checks a manager's name: at most 128 bytes, printable; "" is valid and defaulted. ValidateFieldManager also reports
 * the characters of a name that is too long; each such error shows the name, so one of 3 MiB would take terabytes.
 */
export function fieldManagerErrors(manager: string, path: string): FieldError[] {
  if (manager.length <= maxManagerBytes && printableAscii.test(manager)) return [];
  if (Buffer.byteLength(manager) > maxManagerBytes) return [tooLongField(path, maxManagerBytes)];
  const errors: FieldError[] = [];
  let position = 0;
  for (const char of manager) {
    if (!isPrintable(char)) errors.push(invalidField(path, manager, invalidCharacter(char, position)));
    position += Buffer.byteLength(char);
  }
  return errors;
}

/** Matches nearly all managers' names with one cheap test. */
const printableAscii = /^[ -~]*$/;

/**
 * True for characters that Go's unicode.IsPrint accepts: letters, marks, numbers, punctuation, symbols and the ASCII
 * space.
 */
function isPrintable(char: string): boolean {
  return char === ' ' || /^[\p{L}\p{M}\p{N}\p{P}\p{S}]$/u.test(char);
}

/** Formats like Go's %#U: "U+0041 'A'", without the character when it is not printable. */
function invalidCharacter(char: string, position: number): string {
  const code = (char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return `invalid character U+${code} (at position ${position})`;
}

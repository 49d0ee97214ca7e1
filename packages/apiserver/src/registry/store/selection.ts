// Parses and checks the selection of a list or watch and finds the keys to read. Source: apiserver
// registry/generic/registry/store.go (ListPredicate).
import {
  everyField,
  everyLabel,
  type FieldSelector,
  type KubernetesObject,
  parseFieldSelector,
  parseLabelSelector,
} from '@kapstan/api';
import { badRequest, dnsLabelErrors } from '@kapstan/api/errors';
import { matchesSingleName, type SelectionPredicate } from '@kapstan/storage';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import type { SelectRequest } from '../definition/resource-store.ts';
import { pathSegmentErrors } from '../meta/names.ts';
import { collectionKey, type KeyScope, objectKeyOf } from './key-functions.ts';

/** Returns the predicate. Throws 400 for selectors that cannot be parsed and for fields that cannot be selected. */
export function selectionPredicate<T extends KubernetesObject>(
  definition: ResourceDefinition<T>,
  request: SelectRequest & { readonly allowWatchBookmarks?: boolean | undefined },
): SelectionPredicate<T> {
  const labels = request.labelSelector ? parsed(request.labelSelector, parseLabelSelector) : everyLabel;
  const fields = request.fieldSelector ? parsed(request.fieldSelector, parseFieldSelector) : everyField;
  requireSelectable(definition, fields);
  return {
    labels,
    fields,
    getAttributes: definition.getAttributes,
    limit: Math.max(0, request.limit ?? 0),
    continue: request.continue ?? '',
    allowWatchBookmarks: request.allowWatchBookmarks ?? false,
  };
}

function parsed<S>(text: string, parse: (text: string) => S): S {
  try {
    return parse(text);
  } catch (error) {
    if (error instanceof TypeError) throw badRequest(error.message);
    throw error;
  }
}

function requireSelectable<T extends KubernetesObject>(definition: ResourceDefinition<T>, fields: FieldSelector): void {
  const { selectableFields, namespaced } = definition;
  const hasOwn = selectableFields.length > 0;
  for (const { field } of fields.requirements) {
    if (field === 'metadata.name' || selectableFields.includes(field)) continue;
    // Kinds without fields of their own accept metadata.namespace even if they are cluster-scoped.
    if (field === 'metadata.namespace' && (namespaced || !hasOwn)) continue;
    throw badRequest(definition.unsupportedFieldMessage?.(field) ?? defaultText(field, hasOwn));
  }
}

/** Sources: the kinds' field label conversion functions, and runtime.DefaultMetaV1FieldSelectorConversion. */
function defaultText(field: string, hasOwn: boolean): string {
  if (hasOwn) return `field label not supported: ${field}`;
  return `${JSON.stringify(field)} is not a known field selector: only "metadata.name", "metadata.namespace"`;
}

export interface SelectionKeys {
  readonly key: string;
  readonly recursive: boolean;
}

/**
 * Returns one key for an exact metadata.name, a namespace's prefix for an exact metadata.namespace, or else the prefix
 * of the request's scope.
 */
export function selectionKeys<T extends KubernetesObject>(
  scope: KeyScope,
  namespace: string,
  predicate: SelectionPredicate<T>,
): SelectionKeys {
  const within = namespace === '' && scope.namespaced ? singleNamespace(predicate) : namespace;
  const name = matchesSingleName(predicate);
  const single = name === undefined ? undefined : keyOrNone(scope, within, name);
  if (single !== undefined) return { key: single, recursive: false };
  return { key: collectionKey(scope, within), recursive: true };
}

function singleNamespace<T extends KubernetesObject>(predicate: SelectionPredicate<T>): string {
  if (predicate.continue !== '') return '';
  const namespace = predicate.fields.exactValue('metadata.namespace') ?? '';
  return dnsLabelErrors(namespace).length === 0 ? namespace : '';
}

/**
 * Returns undefined when no key can be made: for all namespaces, or a text that is not a name. The predicate then
 * decides.
 */
function keyOrNone(scope: KeyScope, namespace: string, name: string): string | undefined {
  const isImpossible = name === '' || (scope.namespaced && namespace === '') || pathSegmentErrors(name).length > 0;
  return isImpossible ? undefined : objectKeyOf(scope, namespace, name);
}

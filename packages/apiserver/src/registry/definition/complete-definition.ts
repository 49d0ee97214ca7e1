// Checks, when a store is made, that its definition has everything the store needs, so that one from outside
// (apiextensions, a test, an embedding program) fails there and not at the first request. Source:
// registry.Store.CompleteWithOptions. Called by generic-store.ts.

import type { KubernetesObject } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { ResourceDefinition } from './resource-definition.ts';

/** Throws a TypeError that names the store and the missing parts of its definition. */
export function requireComplete<T extends KubernetesObject>(definition: ResourceDefinition<T>): void {
  const { resource, singular, storagePrefix, selectableFields, indexedFields = [] } = definition;
  if (!resource) throw new TypeError(`store of kind "${definition.kind}" must have a resource`);
  const name = `store for ${formatGroupResource(definition)}`;
  if (!singular) throw new TypeError(`${name} must have a singular name`);
  for (const part of needed) {
    if (!definition[part]) throw new TypeError(`${name} must have ${part} set`);
  }
  if (!/^\/?[^/]/.test(storagePrefix))
    throw new TypeError(`${name} has an invalid prefix ${JSON.stringify(storagePrefix)}`);
  // An index is used through selectors only, so indexing a field that cannot be selected would be wasted.
  const idle = indexedFields.find((field) => !selectableFields.includes(field));
  if (idle !== undefined)
    throw new TypeError(`${name} cannot index ${JSON.stringify(idle)}: it is not a selectable field`);
}

/** NewFunc and NewListFunc, the strategies, PredicateFunc and TableConvertor of the Go library. */
const needed = ['kind', 'listKind', 'strategy', 'getAttributes', 'table', 'storageVersion'] as const;

// What a store cannot do without, checked once, when it is made: a definition that comes from outside (crd/, a test, an embedder)
// is wrong there and not at the first request. Source: registry.Store.CompleteWithOptions. Called by generic-store.ts.

import type { KubernetesObject } from '@kapstan/api';
import { formatGroupResource } from '@kapstan/api/internal';
import type { ResourceDefinition } from './resource-definition.ts';

/** Throws TypeError that names the store and what its definition lacks. */
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
  // An index is asked by selectors alone: a field that none can name would be kept up for nobody.
  const idle = indexedFields.find((field) => !selectableFields.includes(field));
  if (idle !== undefined)
    throw new TypeError(`${name} cannot index ${JSON.stringify(idle)}: it is no selectable field`);
}

/** NewFunc and NewListFunc, the strategies, PredicateFunc and TableConvertor of the Go library. */
const needed = ['kind', 'listKind', 'strategy', 'getAttributes', 'table', 'storageVersion'] as const;

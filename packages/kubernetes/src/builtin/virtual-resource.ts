// VirtualResource: a built-in resource that keeps nothing: reviews, bindings, component statuses.
import type { KubernetesObject } from '@kapstan/api';
import type { ServedResource } from '@kapstan/apiserver';
import { type VirtualRules, VirtualStore, type VirtualStoreOptions } from '@kapstan/apiserver';
import { defineBuiltin } from './builtin-resource.ts';

/** Functions that answer creates and reads. Verbs without a function answer 405. */
export interface VirtualKind<T extends KubernetesObject = KubernetesObject> extends VirtualRules<T> {
  /** Name in the facts, for example "v1/bindings". */
  readonly id: string;
  /** Warning sent with every answer. */
  readonly deprecationWarning?: string;
}

/** Throws TypeError when the facts lack the kind or have it as a stored one. */
export function virtualResource<T extends KubernetesObject>(
  { id, deprecationWarning, ...rules }: VirtualKind<T>,
  options: VirtualStoreOptions = {},
): ServedResource {
  const definition = defineBuiltin({ id, deprecationWarning });
  if (definition.storagePrefix !== '') throw new TypeError(`${id} is stored`);
  // As in defineBuiltin, the static type ends here, because the server handles all kinds alike.
  return { definition, store: new VirtualStore(rules as unknown as VirtualRules, definition, options) };
}

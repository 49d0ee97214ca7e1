// ManagedFieldsTracker: the port that keeps metadata.managedFields up to date on creates, updates and patches.
// Implemented by fieldmanager/. Server-side apply writes them itself (UpdateRequest.managedFields 'given').

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupVersionKind, ManagedFieldsEntry } from '@kapstan/api/internal';
import type { SchemaNode } from '../../schema/schema-node.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';

export interface FieldsCall {
  /** `fieldManager` of it is the manager's name. */
  readonly context: RequestContext;
  readonly definition: ResourceDefinition<UnstructuredObject>;
  /** "" = the object itself. */
  readonly subresource: string;
}

/**
 * All write `metadata.managedFields` of the first argument, in place, and touch nothing else. They never refuse. They return a
 * promise only where there is much to do, which then takes several turns of the event loop; nothing else may change the
 * object until it is done.
 */
export interface ManagedFieldsTracker {
  onCreate(object: KubernetesObject, call: FieldsCall): void | Promise<void>;
  onUpdate(next: KubernetesObject, old: DeepReadonly<KubernetesObject>, call: FieldsCall): void | Promise<void>;
  /** Puts back the entries from before admission, with a warning, where admission left some that cannot be read. */
  afterAdmission(
    object: KubernetesObject,
    before: ManagedFieldsEntry[] | undefined,
    context: RequestContext,
  ): void | Promise<void>;
}

/** The resource as if the part were all of it: fields of another kind, of which nothing is reset. */
export function partDefinition(
  definition: ResourceDefinition,
  { kind, schema = definition.schema }: { readonly kind: GroupVersionKind; readonly schema?: SchemaNode },
): ResourceDefinition {
  return { ...definition, ...kind, schema, subresources: [] };
}

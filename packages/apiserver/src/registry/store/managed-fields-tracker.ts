// ManagedFieldsTracker: the port that maintains metadata.managedFields in creates, updates and patches. Implemented by
// fieldmanager/. Server-side apply writes them itself (UpdateRequest.managedFields 'given').

import type { DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import type { GroupVersionKind, ManagedFieldsEntry } from '@kapstan/api/internal';
import type { SchemaNode } from '../../schema/node/schema-node.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';

/** A call of the field manager. */
export interface FieldsCall {
  /** The context, whose `fieldManager` is the manager's name. */
  readonly context: RequestContext;
  readonly definition: ResourceDefinition<UnstructuredObject>;
  /** "" = the object itself. */
  readonly subresource: string;
}

/**
 * All methods change only `metadata.managedFields` of the first argument, in place, and never refuse. For large objects
 * they return a promise and take several turns, in which nothing else may change the object.
 */
export interface ManagedFieldsTracker {
  onCreate(object: KubernetesObject, call: FieldsCall): void | Promise<void>;
  onUpdate(next: KubernetesObject, old: DeepReadonly<KubernetesObject>, call: FieldsCall): void | Promise<void>;
  /** Restores the entries from before admission, with a warning, if admission left some that cannot be read. */
  afterAdmission(
    object: KubernetesObject,
    before: ManagedFieldsEntry[] | undefined,
    context: RequestContext,
  ): void | Promise<void>;
}

/** Returns the definition of a subresource's object as a resource: it has its own kind, and no fields are reset. */
export function partDefinition(
  definition: ResourceDefinition,
  { kind, schema = definition.schema }: { readonly kind: GroupVersionKind; readonly schema?: SchemaNode },
): ResourceDefinition {
  return { ...definition, ...kind, schema, subresources: [] };
}

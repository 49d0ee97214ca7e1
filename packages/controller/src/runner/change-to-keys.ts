// Turns changes of objects into keys of the queue: which objects to reconcile, and how urgently. Used by
// controller-sources.ts and source-handler.ts.
import { inspect } from 'node:util';
import { type DeepReadonly, type KubernetesObject, type ObjectName, objectKey, type Resource } from '@kapstan/api';
import { immediate } from '@kapstan/api/internal';
import type { ObjectChange } from '@kapstan/informers';
import type { ReconcileKeys } from '../builder/controller-builder.ts';

/** Source: controller-runtime handler.LowPriority. */
const lowPriority = -100;

/**
 * Returns the keys as the queue has them: "namespace/name", or "name". Throws TypeError unless given a list of keys.
 */
export function textsOf(keys: ReconcileKeys): readonly string[] {
  if (!Array.isArray(immediate(keys, 'a list of keys')))
    throw new TypeError(`a map gives a list of keys, not ${inspect(keys)}`);
  return (keys as ReconcileKeys).map(textOf);
}

function textOf(key: unknown): string {
  if (typeof key === 'string') return key;
  const { namespace = '', name } = (key ?? {}) as { readonly namespace?: unknown; readonly name?: unknown };
  if (typeof name === 'string' && typeof namespace === 'string') return objectKey(namespace, name);
  throw new TypeError(`a key is "namespace/name" or { namespace, name }, not ${inspect(key)}`);
}

/** Returns the reason why no object of the kind can have this key; undefined = one can. */
export function keyProblem(key: string, { kind, scope }: Resource): string | undefined {
  const parts = key.split('/');
  if (parts.length > 2) return '"namespace/name" has one slash';
  if (parts.at(-1) === '') return 'the name is empty';
  if (scope === 'Cluster') return parts.length === 1 ? undefined : `${kind} is cluster-scoped: "name"`;
  return parts.length === 2 && parts[0] !== '' ? undefined : `${kind} is namespaced: "namespace/name"`;
}

/** Changes that come from the program's start or a resync may wait. */
export function defaultPriority(change: ObjectChange<KubernetesObject>): number {
  const isOld = change.type === 'added' ? change.isInInitialList : change.type === 'updated' && isResync(change);
  return isOld ? lowPriority : 0;
}

function isResync({ oldObject, object }: ObjectChange<KubernetesObject> & { readonly type: 'updated' }): boolean {
  return oldObject === object || oldObject.metadata?.resourceVersion === object.metadata?.resourceVersion;
}

/** Returns the object's own name: a change of the reconciled kind queues the object itself. */
export function nameOf({ metadata }: DeepReadonly<KubernetesObject>): ObjectName {
  return { namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' };
}

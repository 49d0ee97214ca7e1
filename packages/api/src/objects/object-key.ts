// "namespace/name" keys of objects, which the informers' stores and the work queue use.
import type { DeepReadonly, KubernetesObject } from './kubernetes-object.ts';
import type { Brand } from './resource-version.ts';

/** "namespace/name", or "name" for a cluster-scoped object. */
export type ObjectKey = Brand<string, 'ObjectKey'>;

/** Namespace and name of an object. `namespace` is "" for a cluster-scoped object. */
export interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

/** Returns the key of an object. Throws TypeError when it has no metadata. Source: client-go MetaNamespaceKeyFunc. */
export function metaNamespaceKey(object: DeepReadonly<KubernetesObject>): ObjectKey {
  const meta = object.metadata;
  if (meta === undefined) throw new TypeError('object has no meta: metadata is absent');
  return objectKey(meta.namespace ?? '', meta.name ?? '');
}

/** Returns the key of an object in caches and queues: "namespace/name", or "name" where the namespace is "". */
export function objectKey(namespace: string, name: string): ObjectKey {
  return (namespace === '' ? name : `${namespace}/${name}`) as ObjectKey;
}

/**
 * Splits a key of {@link metaNamespaceKey}. Throws TypeError on more than one slash. Source: client-go
 * SplitMetaNamespaceKey.
 *
 * @example
 * ```ts
 * import { objectKey, splitMetaNamespaceKey } from '@kapstan/api';
 *
 * const { namespace, name } = splitMetaNamespaceKey(objectKey('default', 'web'));
 * console.log(namespace, name); // default web
 * ```
 */
export function splitMetaNamespaceKey(key: string): ObjectName {
  const parts = key.split('/');
  if (parts.length === 1) return { namespace: '', name: key };
  if (parts.length === 2) return { namespace: parts[0] ?? '', name: parts[1] ?? '' };
  throw new TypeError(`unexpected key format: ${JSON.stringify(key)}`);
}

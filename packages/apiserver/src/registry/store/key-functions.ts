// Storage keys of one resource: "/registry/pods", "/registry/pods/default", "/registry/pods/default/web". Source:
// apiserver registry/generic/registry/store.go (NamespaceKeyFunc).
import { badRequest } from '@kapstan/api/errors';
import { pathSegmentErrors } from '../meta/names.ts';

export interface KeyScope {
  /** The etcd prefix and resource prefix without a slash at the end, for example "/registry/pods". */
  readonly root: string;
  readonly namespaced: boolean;
}

/** Returns the key prefix of all objects, or of the objects in a namespace if one is given. */
export function collectionKey(scope: KeyScope, namespace: string): string {
  return scope.namespaced && namespace !== '' ? `${scope.root}/${namespace}` : scope.root;
}

/**
 * Returns the key of one object. Throws a 400 StatusError for a missing namespace and for a name that no key can hold.
 */
export function objectKeyOf(scope: KeyScope, namespace: string, name: string): string {
  if (scope.namespaced && namespace === '') throw badRequest('Namespace parameter required.');
  requireKeyName(name);
  return `${collectionKey(scope, namespace)}/${name}`;
}

/** Throws a 400 StatusError for a name that no key can hold. */
export function requireKeyName(name: string): void {
  if (name === '') throw badRequest('Name parameter required.');
  const errors = pathSegmentErrors(name);
  if (errors.length > 0) throw badRequest(`Name parameter invalid: ${JSON.stringify(name)}: ${errors.join(';')}`);
}

// Compares the name and namespace in a body with those in the path. Source: handlers.checkName,
// rest.EnsureObjectNamespaceMatchesRequestNamespace (1.36).
import type { UnstructuredObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';

/** Throws 400 when they differ. Sets a missing namespace. */
export function checkObjectName(
  object: UnstructuredObject,
  path: { readonly name: string; readonly namespace: string },
): void {
  checkNamespace(object, path.namespace);
  const name = object.metadata?.name ?? '';
  if (name === '') {
    throw badRequest(`the name of the object (${path.name} based on URL) was undeterminable: name must be provided`);
  }
  if (name !== path.name) {
    throw badRequest(`the name of the object (${name}) does not match the name on the URL (${path.name})`);
  }
}

/** Drops the namespace of a cluster-scoped object. */
export function checkNamespace(object: UnstructuredObject, namespace: string): void {
  const own = object.metadata?.namespace ?? '';
  if (own === namespace) return;
  if (own !== '' && namespace !== '') {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  object.metadata ??= {};
  if (namespace === '') delete object.metadata.namespace;
  else object.metadata.namespace = namespace;
}

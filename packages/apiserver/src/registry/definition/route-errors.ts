// Refusals of paths, methods and bodies that a resource has no route for. The router of http/ and the in-process client
// use them before any handler. Source: go-restful's errors as apiserver turns them into Status
// (NewGenericServerResponse); apiextensions crdHandler for custom resources.
import { StatusError, type UnstructuredObject } from '@kapstan/api';
import { methodNotSupported, notFound, unsupportedMediaType } from '@kapstan/api/errors';
import type { ServedResource } from './catalog.ts';
import type { Subresource, Verb } from './resource-definition.ts';

export function resourceNotFound(): StatusError {
  return new StatusError({
    code: 404,
    reason: 'NotFound',
    message: 'the server could not find the requested resource',
    details: {},
  });
}

export function methodNotAllowed(): StatusError {
  return new StatusError({
    code: 405,
    reason: 'MethodNotAllowed',
    message: 'the server does not allow this method on the requested resource',
    details: {},
  });
}

/** Returns the error for a patch whose Content-Type no route accepts. */
export function patchTypeNotSupported(): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
}

/** Returns the error for a body whose Content-Type cannot be read here. */
export function unknownBodyFormat(mediaTypes: readonly string[]): StatusError {
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${mediaTypes.join(', ')}`,
  );
}

/** Returns the error for a verb that the resource does not have. `verb` is "" for a method without one. */
export function refuseMethod(served: ServedResource, verb: string): StatusError {
  return served.definition.isCustom === true ? methodNotSupported(served.definition, verb) : methodNotAllowed();
}

const itemVerbs: readonly Verb[] = ['get', 'update', 'patch', 'delete'];

/** Throws 404 and 405 for verbs that single objects do not have. Resources that only create have no such paths. */
export function requireItemVerb(served: ServedResource, verb: Verb | undefined): void {
  const { verbs } = served.definition;
  if (verb !== undefined && itemVerbs.includes(verb) && verbs.includes(verb)) return;
  throw itemVerbs.some((known) => verbs.includes(known)) ? refuseMethod(served, verb ?? 'create') : resourceNotFound();
}

/** Throws 404 and 405 for verbs that the collection does not have. `namespace`: "" = all namespaces. */
export function requireCollectionVerb(served: ServedResource, verb: Verb, namespace: string): void {
  const { verbs, namespaced } = served.definition;
  const isAcrossNamespaces = namespaced && namespace === '';
  // The path across namespaces exists only for resources that can be listed, so not for reviews and bindings.
  if (isAcrossNamespaces && !verbs.includes('list')) throw resourceNotFound();
  const isRead = verb === 'list' || verb === 'watch';
  if (!verbs.includes(verb) || (isAcrossNamespaces && !isRead)) throw refuseMethod(served, verb);
}

/** Returns the subresource. Throws 404 when the resource does not have it, 405 when it does not take the verb. */
export function requireSubresource(
  served: ServedResource,
  path: { readonly name: string; readonly subresource: string },
  verb: Verb | undefined,
): Subresource<UnstructuredObject> {
  const { definition } = served;
  const found = definition.subresources.find((candidate) => candidate.name === path.subresource);
  if (found === undefined) throw definition.isCustom === true ? notFound(definition, path.name) : resourceNotFound();
  if (verb === undefined || !found.verbs.includes(verb) || verb === 'delete') {
    throw refuseMethod(served, verb ?? '');
  }
  return found;
}

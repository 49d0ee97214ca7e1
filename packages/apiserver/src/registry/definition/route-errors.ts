// What a resource has no route for: no such path, no such method, no such body. The router of http/ and the in-process
// client refuse with them before any handler. Source: go-restful's errors as apiserver turns them into Status
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

/** A patch whose Content-Type no route takes. */
export function patchTypeNotSupported(): StatusError {
  return new StatusError({
    code: 415,
    reason: 'UnsupportedMediaType',
    message: '415: Unsupported Media Type',
    details: {},
  });
}

/** A body whose Content-Type nobody reads here. */
export function unknownBodyFormat(mediaTypes: readonly string[]): StatusError {
  return unsupportedMediaType(
    `the body of the request was in an unknown format - accepted media types include: ${mediaTypes.join(', ')}`,
  );
}

/** A verb that the resource does not have. `verb` is "" for a method without one. */
export function refuseMethod(served: ServedResource, verb: string): StatusError {
  return served.definition.isCustom === true ? methodNotSupported(served.definition, verb) : methodNotAllowed();
}

const itemVerbs: readonly Verb[] = ['get', 'update', 'patch', 'delete'];

/** Throws 404 and 405 for what cannot be done with a single object; resources that only create have no paths for those. */
export function requireItemVerb(served: ServedResource, verb: Verb | undefined): void {
  const { verbs } = served.definition;
  if (verb !== undefined && itemVerbs.includes(verb) && verbs.includes(verb)) return;
  throw itemVerbs.some((known) => verbs.includes(known)) ? refuseMethod(served, verb ?? 'create') : resourceNotFound();
}

/** Throws 404 and 405 for what cannot be done with the collection. `namespace`: "" = all namespaces. */
export function requireCollectionVerb(served: ServedResource, verb: Verb, namespace: string): void {
  const { verbs, namespaced } = served.definition;
  const isAcrossNamespaces = namespaced && namespace === '';
  // Where nothing can be listed (reviews, bindings) the path across namespaces does not exist.
  if (isAcrossNamespaces && !verbs.includes('list')) throw resourceNotFound();
  const isRead = verb === 'list' || verb === 'watch';
  if (!verbs.includes(verb) || (isAcrossNamespaces && !isRead)) throw refuseMethod(served, verb);
}

/** The subresource. Throws 404 for one that the resource does not have, 405 for a verb that it does not take. */
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

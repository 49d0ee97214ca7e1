// ResourceRouter finds the resource and handler of a parsed URL, or the refusal that kube-apiserver gives. Source:
// apiserver endpoints/installer.go (which routes exist). Custom resources: custom-resource-router.ts.
import type { UnstructuredObject } from '@kapstan/api';
import { badRequest, methodNotSupported } from '@kapstan/api/errors';
import type { ResourceCatalog, ServedResource } from '../../registry/definition/catalog.ts';
import type { ObjectSubresource, Verb } from '../../registry/definition/resource-definition.ts';
import {
  methodNotAllowed,
  refuseMethod,
  requireCollectionVerb,
  requireItemVerb,
  requireSubresource,
  resourceNotFound,
} from '../../registry/definition/route-errors.ts';
import { type ResourceRequest, tryParseRequestInfo } from '../exchange/request-info.ts';
import { handleConnect } from './connect-handler.ts';
import { handleCreate } from './create-handler.ts';
import { routeCustomResource } from './custom-resource-router.ts';
import { handleDeleteCollection } from './delete-collection-handler.ts';
import { handleDelete } from './delete-handler.ts';
import { handleGet } from './get-handler.ts';
import { handleList } from './list-handler.ts';
import { handlePatch } from './patch-handler.ts';
import type { ResourceHandler } from './resource-call.ts';
import type { Route } from './route.ts';
import { handleUpdate } from './update-handler.ts';
import { handleWatch } from './watch-handler.ts';

const itemHandlers: ReadonlyMap<string, { readonly verb: Verb; readonly handler: ResourceHandler }> = new Map([
  ['GET', { verb: 'get', handler: handleGet }],
  ['PUT', { verb: 'update', handler: handleUpdate }],
  ['PATCH', { verb: 'patch', handler: handlePatch }],
  ['DELETE', { verb: 'delete', handler: handleDelete }],
]);

const collectionHandlers: ReadonlyMap<string, ResourceHandler> = new Map<string, ResourceHandler>([
  ['GET list', handleList],
  ['GET watch', handleWatch],
  ['POST create', handleCreate],
  ['DELETE deletecollection', handleDeleteCollection],
]);

/**
 * Returns the route of a request; 'unknown' when no resource has that path, which a page may serve. Throws 404 and 405
 * for paths within a served group.
 */
export function routeResource(catalog: ResourceCatalog, info: ResourceRequest, method: string): Route | 'unknown' {
  const served = catalog.find(info.group, info.version, info.resource);
  if (served?.definition.isCustom === true) {
    return customConnectRoute(served, info, method) ?? routeCustomResource(served, info);
  }
  if (served === undefined || served.definition.namespaced !== isNamespaced(info, served)) {
    return notServed(catalog, info);
  }
  const { definition } = served;
  const [, name = '', subresourceName = ''] = info.parts;
  if (info.verb === 'proxy') throw resourceNotFound();
  const connecter = connecterOf(served, subresourceName);
  refuseNoName(served, info, method);
  const ownParts = connecter?.connect?.takesPath === true ? info.parts.slice(0, 3) : info.parts;
  if (ownParts.length > 3 || ownParts.some((part) => part === '')) throw resourceNotFound();
  if (info.isWatchPath) return watchPathRoute(served, info, method);
  if (name === '') return collectionRoute(served, info, method);
  if (definition.namespaced && !info.isNamespacedPath) throw resourceNotFound();
  if (subresourceName === '') return itemRoute(served, name, method);
  if (connecter !== undefined) return connectRoute(served, { name, connecter }, method);
  return subresourceRoute(served, { name, subresource: subresourceName }, method);
}

/** The route of a subresource matches an empty name, and its handler refuses it. Throws 400. */
function refuseNoName(served: ServedResource, { parts, isNamespacedPath }: ResourceRequest, method: string): void {
  const [, name, subresource = ''] = parts;
  if (parts.length !== 3 || name !== '' || served.definition.namespaced !== isNamespacedPath) return;
  const found = served.definition.subresources.find((candidate) => candidate.name === subresource);
  const verb = method === 'POST' ? 'create' : itemHandlers.get(method)?.verb;
  if (verb !== undefined && found?.verbs.includes(verb) === true) throw badRequest('name must be provided');
}

/** Collections of namespaced resources are also served across namespaces. */
function isNamespaced(info: ResourceRequest, served: ServedResource): boolean {
  return info.isNamespacedPath || (served.definition.namespaced && info.namespace === '');
}

function notServed(catalog: ResourceCatalog, info: ResourceRequest): 'unknown' {
  const isBuiltinGroup =
    info.group === '' ||
    catalog.all().some(({ definition }) => definition.group === info.group && definition.isCustom !== true);
  if (isBuiltinGroup) throw resourceNotFound();
  return 'unknown';
}

function watchPathRoute(served: ServedResource, info: ResourceRequest, method: string): Route {
  const [, name = '', subresource = ''] = info.parts;
  if (!served.definition.verbs.includes('watch') || subresource !== '') throw resourceNotFound();
  if (name !== '' && served.definition.namespaced && !info.isNamespacedPath) throw resourceNotFound();
  if (method !== 'GET') throw methodNotAllowed();
  return { served, subresource: undefined, name, handler: handleWatch };
}

function collectionRoute(served: ServedResource, info: ResourceRequest, method: string): Route {
  const { verbs } = served.definition;
  const isList = info.verb === 'watch' && !verbs.includes('watch');
  if (isList && verbs.includes('list')) throw methodNotSupported(served.definition, 'watch');
  const verb = isList ? 'list' : info.verb;
  requireCollectionVerb(served, verb as Verb, info.isNamespacedPath ? info.namespace : '');
  const handler = collectionHandlers.get(`${method} ${verb}`);
  if (handler === undefined) throw refuseMethod(served, info.verb);
  return { served, subresource: undefined, name: '', handler };
}

function itemRoute(served: ServedResource, name: string, method: string): Route {
  const entry = itemHandlers.get(method);
  requireItemVerb(served, entry?.verb);
  if (entry === undefined) throw methodNotAllowed();
  return { served, subresource: undefined, name, handler: entry.handler };
}

function subresourceRoute(
  served: ServedResource,
  path: { readonly name: string; readonly subresource: string },
  method: string,
): Route {
  const entry = method === 'POST' ? { verb: 'create' as const, handler: handleCreate } : itemHandlers.get(method);
  const subresource = requireSubresource(served, path, entry?.verb);
  if (entry === undefined) throw methodNotAllowed();
  return { served, subresource, name: path.name, handler: entry.handler };
}

/** True for the path of a subresource that connects to a peer, whose answer may be in another protocol. */
export function isConnectPath(catalog: Pick<ResourceCatalog, 'find'>, path: string): boolean {
  const info = tryParseRequestInfo({ method: 'GET', path, query: new URLSearchParams() });
  if (info?.type !== 'resource') return false;
  const served = catalog.find(info.group, info.version, info.resource);
  return served !== undefined && connecterOf(served, info.subresource) !== undefined;
}

function connecterOf(served: ServedResource, name: string): ObjectSubresource<UnstructuredObject> | undefined {
  if (name === '') return undefined;
  const found = served.definition.subresources.find((subresource) => subresource.name === name);
  return found?.type === 'object' && found.connect !== undefined ? found : undefined;
}

/** Returns undefined unless the path is of a subresource that connects, which only custom kinds of a program can have. */
function customConnectRoute(served: ServedResource, info: ResourceRequest, method: string): Route | undefined {
  const { namespace, subresource, parts } = info;
  const connecter = connecterOf(served, subresource);
  const [, name = ''] = parts;
  if (connecter === undefined || name === '' || served.definition.namespaced !== (namespace !== '')) return undefined;
  return connectRoute(served, { name, connecter }, method);
}

function connectRoute(
  served: ServedResource,
  { name, connecter }: { readonly name: string; readonly connecter: ObjectSubresource<UnstructuredObject> },
  method: string,
): Route {
  if (connecter.connect?.methods.includes(method) !== true) throw methodNotAllowed();
  return { served, subresource: connecter, name, handler: handleConnect };
}

// CustomResourceRouter chooses the handler of a request for a custom resource by the verb of the request info, not by
// the method: HEAD reads, and a watch path watches whatever the method. Called by resource-router.ts. Source:
// apiextensions customresource_handler.go (ServeHTTP, serveResource, serveStatus, serveScale).
import { methodNotSupported, notFound } from '@kapstan/api/errors';
import type { ServedResource } from '../../registry/definition/catalog.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { handleCreate } from './create-handler.ts';
import { handleDeleteCollection } from './delete-collection-handler.ts';
import { handleDelete } from './delete-handler.ts';
import { handleGet } from './get-handler.ts';
import { handleList } from './list-handler.ts';
import { handlePatch } from './patch-handler.ts';
import type { ResourceHandler } from './resource-call.ts';
import type { Route } from './route.ts';
import { handleUpdate } from './update-handler.ts';
import { handleWatch } from './watch-handler.ts';

const handlers: ReadonlyMap<string, ResourceHandler> = new Map<string, ResourceHandler>([
  ['get', handleGet],
  ['list', handleList],
  ['watch', handleWatch],
  ['create', handleCreate],
  ['update', handleUpdate],
  ['patch', handlePatch],
  ['delete', handleDelete],
  ['deletecollection', handleDeleteCollection],
]);

const subresourceVerbs: ReadonlySet<string> = new Set(['get', 'update', 'patch']);
const verbsAcrossNamespaces: ReadonlySet<string> = new Set(['list', 'watch']);

/**
 * Returns 'unknown' when the path has the wrong scope for the resource, because nobody else serves that path. Throws
 * 404 and 405.
 */
export function routeCustomResource(served: ServedResource, info: ResourceRequest): Route | 'unknown' {
  const { definition } = served;
  const hasNamespace = info.namespace !== '';
  if (hasNamespace && !definition.namespaced) return 'unknown';
  if (!hasNamespace && definition.namespaced && !verbsAcrossNamespaces.has(info.verb)) return 'unknown';
  const subresource = definition.subresources.find(({ name }) => name === info.subresource);
  if (subresource === undefined && info.subresource !== '') throw notFound(definition, info.name);
  const handler = handlers.get(info.verb);
  const isRefused = subresource !== undefined && !subresourceVerbs.has(info.verb);
  if (handler === undefined || isRefused) throw methodNotSupported(definition, info.verb);
  // A new object has the name in its body, even if the path names another.
  const name = info.verb === 'create' ? '' : (info.parts[1] ?? '');
  return { served, subresource, name, handler };
}

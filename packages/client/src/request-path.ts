// URLs of the API: checks names before they reach a path, writes options as query parameters.

import type { ApplyOptions, ListOptions, ObjectTarget, Resource, WatchOptions, WriteOptions } from '@kapstan/api';
import { callChecks, requireObject, resourcePath } from '@kapstan/api/internal';

/** A list becomes one parameter for each value. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** Selects the requested part of an object, and adds the query. */
export interface ObjectPart {
  readonly subresource?: string | undefined;
  readonly query?: Query;
}

/**
 * Returns the path of an object or subresource, with the query. Throws TypeError for an invalid resource, and for a
 * target whose name is missing or cannot be part of a path, so that it never becomes the path of the collection.
 */
export function objectPath(
  resource: Resource,
  target: ObjectTarget,
  { subresource, query = {} }: ObjectPart = {},
): string {
  callChecks.get(resource, target, { subresource });
  const { namespace, name } = target;
  const path = resourcePath(resource, {
    name,
    ...(namespace ? { namespace } : {}),
    subresource,
  });
  return `${path}${formatQuery(query)}`;
}

/** Returns the path of all objects of a resource, in one namespace or in all, with the query. */
export function collectionPath(
  resource: Resource,
  scope: { readonly namespace?: string | undefined },
  query: Query = {},
): string {
  const { namespace } = scope;
  return `${resourcePath(resource, namespace ? { namespace } : {})}${formatQuery(query)}`;
}

/** Returns "?a=1&b=x&b=y" without members that are undefined or ""; "" when none is left. */
export function formatQuery(query: Query): string {
  let search: URLSearchParams | undefined;
  for (const name of Object.keys(query)) {
    const value = query[name];
    if (value === undefined || value === '') continue;
    search ??= new URLSearchParams();
    for (const one of Array.isArray(value) ? (value as readonly string[]) : [value]) search.append(name, String(one));
  }
  return search === undefined ? '' : `?${search.toString()}`;
}

/**
 * Adds the scope of a lister-watcher to options. Throws TypeError unless they are an object, because spreading another value would select
 * everything.
 */
export function scoped<O extends object>(options: O, scope: { readonly namespace?: string }): O {
  requireObject(options, 'options, such as { namespace },');
  return { ...options, ...scope };
}

export function listQuery(options: ListOptions): Query {
  return {
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    limit: options.limit || undefined,
    continue: options.continue,
  };
}

export function watchQuery(options: WatchOptions): Query {
  return {
    watch: true,
    labelSelector: options.labelSelector,
    fieldSelector: options.fieldSelector,
    resourceVersion: options.resourceVersion,
    resourceVersionMatch: options.resourceVersionMatch,
    allowWatchBookmarks: options.allowWatchBookmarks || undefined,
    sendInitialEvents: options.sendInitialEvents,
    timeoutSeconds: options.timeoutSeconds,
  };
}

export function writeQuery(options: WriteOptions & Pick<Partial<ApplyOptions>, 'force'>): Query {
  return {
    dryRun: options.dryRun ? 'All' : undefined,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    force: options.force,
  };
}

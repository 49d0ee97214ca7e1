// URLs of the API: checks names before they reach a path, writes options as query parameters.
import { inspect } from 'node:util';
import {
  type ApplyOptions,
  type ListOptions,
  type ObjectTarget,
  type Resource,
  requireNotNegative,
  requireObject,
  requireString,
  requireTarget,
  resourcePath,
  type WatchOptions,
  type WriteOptions,
} from '@kapstan/api';

/** A list becomes one parameter a value. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

/** What of an object is asked for, and how. */
export interface ObjectPart {
  readonly subresource?: string | undefined;
  readonly query?: Query;
}

/**
 * Path of an object, or of its subresource, with the query. Throws TypeError for what is no token, and for a target whose
 * name is missing or cannot stand in a path: never is it the path of the collection.
 */
export function objectPath(
  token: Resource,
  target: ObjectTarget,
  { subresource, query = {} }: ObjectPart = {},
): string {
  checkToken(token);
  requireTarget(target);
  const { namespace, name } = target;
  if (namespace) checkSegment('namespace', namespace);
  checkSegment('resource name', name);
  if (subresource !== undefined) checkSubresource(subresource);
  if (token.scope === 'Namespaced' && !namespace)
    throw new TypeError(
      `${subjectOf(token, name)}: an empty namespace may not be set when a resource name is provided`,
    );
  const path = resourcePath(token, {
    name,
    ...(namespace ? { namespace } : {}),
    ...(subresource === undefined ? {} : { subresource }),
  });
  return `${path}${formatQuery(query)}`;
}

/** As {@link objectPath}. Throws TypeError also without a subresource: its POST would go to the object. */
export function subresourcePath(token: Resource, target: ObjectTarget & { readonly subresource: string }): string {
  checkToken(token);
  requireTarget(target);
  requireString(target.subresource, 'subresource');
  return objectPath(token, target, { subresource: target.subresource });
}

/** Path of all objects of a resource, of one namespace or of all, with the query. Throws TypeError for what is no token or no scope. */
export function collectionPath(
  token: Resource,
  scope: { readonly namespace?: string | undefined },
  query: Query = {},
): string {
  checkToken(token);
  requireObject(scope, 'options, such as { namespace },');
  const { namespace } = scope;
  if (namespace) checkSegment('namespace', namespace);
  return `${resourcePath(token, namespace ? { namespace } : {})}${formatQuery(query)}`;
}

/** "?a=1&b=x&b=y", without members that are undefined or ""; "" when none is left. */
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

/** Throws TypeError for what would be sent as "[object Object]", or be left out without a word. */
function requireSelection(options: ListOptions & WatchOptions): void {
  requireObject(options, 'options, such as { namespace },');
  const { labelSelector, fieldSelector, resourceVersion, limit, timeoutSeconds } = options;
  const texts = { labelSelector, fieldSelector, resourceVersion, continue: options.continue };
  for (const [name, text] of Object.entries(texts)) if (text !== undefined) requireString(text, name);
  for (const [name, value] of Object.entries({ limit, timeoutSeconds }))
    if (value !== undefined) requireNotNegative(value, name);
}

export function listQuery(options: ListOptions): Query {
  requireSelection(options as ListOptions & WatchOptions);
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
  requireSelection(options as ListOptions & WatchOptions);
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
  requireObject(options, 'options, such as { dryRun },');
  return {
    dryRun: options.dryRun ? 'All' : undefined,
    fieldManager: options.fieldManager,
    fieldValidation: options.fieldValidation,
    force: options.force,
  };
}

/** What an error is about: `deployments.apps "web"`. */
export function subjectOf({ plural, group }: Resource, name: string | undefined): string {
  const resource = group === '' ? plural : `${plural}.${group}`;
  return name === undefined ? resource : `${resource} ${JSON.stringify(name)}`;
}

/** Throws TypeError for what is no token. */
export function checkToken(token: Resource): void {
  const isToken =
    (typeof token as unknown) === 'object' && (token as unknown) !== null && typeof token.plural === 'string';
  if (isToken) return;
  throw new TypeError(
    `calls take a resource token, such as Pod of '@kapstan/kinds/core/v1' or what resource() gives, not ${inspect(token, { depth: 0 })}`,
  );
}

// Source: apimachinery path.IsValidPathSegmentName and client-go rest.Request.
function checkSegment(what: string, segment: string): void {
  requireString(segment, what);
  const faults =
    segment === '.' || segment === '..'
      ? [`may not be '${segment}'`]
      : ['/', '%'].filter((char) => segment.includes(char)).map((char) => `may not contain '${char}'`);
  if (faults.length > 0) throw new TypeError(`invalid ${what} ${JSON.stringify(segment)}: [${faults.join(' ')}]`);
}

function checkSubresource(subresource: string): void {
  requireString(subresource, 'subresource');
  for (const segment of subresource.split('/'))
    if (!/^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(segment))
      throw new TypeError(`invalid subresource ${JSON.stringify(segment)}`);
}

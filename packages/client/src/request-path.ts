// URLs of the API: checks names before they reach a path, writes options as query parameters.
import { inspect } from 'node:util';
import {
  type ApplyOptions,
  type ListOptions,
  type Resource,
  resourcePath,
  type WatchOptions,
  type WriteOptions,
} from '@kapstan/api';

/** A list becomes one parameter a value. */
export type Query = Readonly<Record<string, string | number | boolean | readonly string[] | undefined>>;

export interface PathTarget {
  readonly namespace?: string | undefined;
  readonly name?: string | undefined;
  readonly subresource?: string | undefined;
}

/** Path of a resource or object with its query. Throws TypeError for what is no token, and for a name that cannot stand in a path. */
export function requestPath(token: Resource, target: PathTarget, query: Query = {}): string {
  checkToken(token);
  const { namespace, name, subresource } = target;
  if (namespace) checkSegment('namespace', namespace);
  if (name !== undefined) checkSegment('resource name', name);
  for (const segment of subresource?.split('/') ?? []) checkSubresource(segment);
  if (name !== undefined && token.scope === 'Namespaced' && !namespace)
    throw new TypeError(
      `${subjectOf(token, name)}: an empty namespace may not be set when a resource name is provided`,
    );
  const path = resourcePath(token, {
    ...(namespace ? { namespace } : {}),
    ...(name === undefined ? {} : { name }),
    ...(subresource === undefined ? {} : { subresource }),
  });
  return `${path}${formatQuery(query)}`;
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
  if (segment === '') throw new TypeError(`${what} may not be empty`);
  const faults =
    segment === '.' || segment === '..'
      ? [`may not be '${segment}'`]
      : ['/', '%'].filter((char) => segment.includes(char)).map((char) => `may not contain '${char}'`);
  if (faults.length > 0) throw new TypeError(`invalid ${what} ${JSON.stringify(segment)}: [${faults.join(' ')}]`);
}

function checkSubresource(segment: string): void {
  if (!/^[A-Za-z0-9][A-Za-z0-9._:-]*$/.test(segment))
    throw new TypeError(`invalid subresource ${JSON.stringify(segment)}`);
}

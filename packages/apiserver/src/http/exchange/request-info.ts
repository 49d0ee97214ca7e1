// RequestInfo describes the target of a URL, before its existence is checked. Read by authorisation, limits and the
// router. Source: apiserver pkg/endpoints/request/requestinfo.go (1.36).

import { type FieldSelector, parseFieldSelector } from '@kapstan/api';
import type { GroupVersion } from '@kapstan/api/internal';
import { namespacesSegment } from '../../registry/meta/names.ts';
import { decodeBoolean } from './query-parameters.ts';

/** A request for a path outside the resources: health, version, discovery, OpenAPI, metrics. */
interface PathRequest {
  readonly type: 'path';
  /** The method in lower case. */
  readonly verb: string;
  readonly path: string;
}

export interface ResourceRequest {
  readonly type: 'resource';
  /** create, get, update, patch, delete, list, watch, deletecollection, proxy; "" for a method without a verb. */
  readonly verb: string;
  readonly path: string;
  readonly group: string;
  readonly version: string;
  /** For a request about a Namespace itself, its own name. */
  readonly namespace: string;
  readonly resource: string;
  /** The name from the path. For lists and watches also from a field selector `metadata.name=…`. */
  readonly name: string;
  readonly subresource: string;
  /** The resource, name, subresource and the rest of the path; version and namespace are cut off. */
  readonly parts: readonly string[];
  /** True when the path has namespaces/{namespace} before the resource. */
  readonly isNamespacedPath: boolean;
  /** True for the old form /api/v1/watch/…. */
  readonly isWatchPath: boolean;
  /** True for subresources whose answer lasts: connections, and streams of bytes. */
  readonly isLongSubresource: boolean;
  /**
   * The unparsed field selector of a list, watch or deletecollection; "" for other verbs, and for the old form unless
   * it names no object.
   */
  readonly fieldSelector: string;
  readonly labelSelector: string;
}

export type RequestInfo = PathRequest | ResourceRequest;

const verbOfMethod: ReadonlyMap<string, string> = new Map([
  ['POST', 'create'],
  ['GET', 'get'],
  ['HEAD', 'get'],
  ['PUT', 'update'],
  ['PATCH', 'patch'],
  ['DELETE', 'delete'],
]);
const specialVerbs = new Set(['proxy', 'watch']);
const selectingVerbs: ReadonlySet<string> = new Set(['list', 'watch', 'deletecollection']);
const noQuery = new URLSearchParams();
const none: ReadonlySet<string> = new Set();
const namespaceSubresources = new Set(['status', 'finalize']);

interface RawRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}

/**
 * Reads a request. `longSubresources`: names of the subresources whose answer lasts. Throws Error with kube-apiserver's text for a special
 * verb without a resource.
 */
export function parseRequestInfo(request: RawRequest, longSubresources: ReadonlySet<string> = none): RequestInfo {
  const { method, path, query } = request;
  const segments = trimSlashes(path).split('/');
  const [prefix, first = '', second = ''] = segments;
  const raw = { method, path, query, longSubresources };
  if (prefix === 'api' && segments.length >= 3) {
    return resourceRequest(raw, { group: '', version: first }, segments.slice(2));
  }
  if (prefix === 'apis' && segments.length >= 4) {
    return resourceRequest(raw, { group: first, version: second }, segments.slice(3));
  }
  return { type: 'path', verb: method.toLowerCase(), path };
}

/** Returns what {@link parseRequestInfo} returns, and undefined where that throws. */
export function tryParseRequestInfo(request: RawRequest): RequestInfo | undefined {
  try {
    return parseRequestInfo(request);
  } catch (error) {
    if (error instanceof Error) return undefined;
    throw error;
  }
}

function resourceRequest(
  { method, path, query, longSubresources }: RawRequest & { readonly longSubresources: ReadonlySet<string> },
  { group, version }: GroupVersion,
  segments: readonly string[],
): ResourceRequest {
  const special = specialVerbs.has(segments[0] ?? '') ? segments[0] : undefined;
  const rest = special === undefined ? segments : segments.slice(1);
  if (rest.length === 0) throw new Error(`unable to determine kind and namespace from url, ${path}`);
  const verb = special ?? verbOfMethod.get(method) ?? '';
  const isInNamespace = rest[0] === namespacesSegment;
  const isNamespacedPath = isInNamespace && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const parts = isNamespacedPath ? rest.slice(2) : rest;
  const [resource = '', name = '', subresource = ''] = parts;
  const refined = refineVerb(verb, name, query);
  const selectors = special === undefined && selectingVerbs.has(refined.verb) ? query : noQuery;
  return {
    type: 'resource',
    verb: refined.verb,
    path,
    group,
    version,
    name: refined.name,
    namespace: isInNamespace ? (rest[1] ?? '') : '',
    resource,
    subresource: verb === 'proxy' ? '' : subresource,
    parts,
    isNamespacedPath,
    isWatchPath: special === 'watch',
    isLongSubresource: longSubresources.has(subresource),
    fieldSelector: selectors.get('fieldSelector') ?? '',
    labelSelector: selectors.get('labelSelector') ?? '',
  };
}

/** A get without a name becomes a list or a watch, a delete without one a deletecollection. */
function refineVerb(verb: string, name: string, query: URLSearchParams): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'get') {
    const refined = decodeBoolean(query.get('watch')) === true ? 'watch' : 'list';
    return { verb: refined, name: selectedName(query.get('fieldSelector')) };
  }
  return { verb: verb === 'delete' ? 'deletecollection' : verb, name };
}

function selectedName(text: string | null): string {
  if (text === null || text === '') return '';
  const selector = tryParse(text);
  const name = selector?.exactValue('metadata.name') ?? '';
  return name === '.' || name === '..' || name.includes('/') || name.includes('%') ? '' : name;
}

/** A selector that cannot be read selects no name here; the handler answers it with 400. */
function tryParse(text: string): FieldSelector | undefined {
  try {
    return parseFieldSelector(text);
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/**
 * Cuts slashes at both ends. It goes by index, because a pattern for the end would try every run of slashes within the
 * path.
 */
export function trimSlashes(path: string): string {
  let [start, end] = [0, path.length];
  while (path[start] === '/') start += 1;
  while (end > start && path[end - 1] === '/') end -= 1;
  return path.slice(start, end);
}

/** The live stream of the inspector lasts as long as somebody watches it. */
const inspectorStream = '/inspect/v1/live';
/** Its pages are answered at once, unlike others below /debug/. */
const flowControlPath = '/debug/api_priority_and_fairness/';

/** True for watches, long subresources and debugging, which have no request timeout and do not count as in flight. */
export function isLongRunning(info: RequestInfo): boolean {
  if (info.type === 'path') {
    return info.path === inspectorStream || (info.path.startsWith('/debug/') && !info.path.startsWith(flowControlPath));
  }
  return info.verb === 'watch' || info.verb === 'proxy' || info.isLongSubresource;
}

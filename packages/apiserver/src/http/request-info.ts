// RequestInfo: what a URL asks for, before anyone looks whether it exists. Read by authorisation, limits and the router.
// Source: apiserver pkg/endpoints/request/requestinfo.go (1.36).
import { type FieldSelector, parseFieldSelector } from '@kapstan/api';
import { decodeBoolean } from './query-parameters.ts';

/** A path outside the resources: health, version, discovery, OpenAPI, metrics. */
export interface PathRequest {
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
  /** For a namespace itself: its own name. */
  readonly namespace: string;
  readonly resource: string;
  /** From the path or, for lists and watches, from a field selector `metadata.name=…`. */
  readonly name: string;
  readonly subresource: string;
  /** resource, name, subresource and what follows; the version and namespace are cut off. */
  readonly parts: readonly string[];
  /** True when the resource stands below namespaces/{namespace}. */
  readonly isNamespacedPath: boolean;
  /** True for the old form /api/v1/watch/…. */
  readonly isWatchPath: boolean;
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
const namespaceSubresources = new Set(['status', 'finalize']);

/** Reads a request. Throws Error with kube-apiserver's text for a special verb without a resource. */
export function parseRequestInfo(request: {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
}): RequestInfo {
  const { method, path } = request;
  const segments = trimSlashes(path).split('/');
  const isCore = segments[0] === 'api';
  const isResource = isCore ? segments.length >= 3 : segments[0] === 'apis' && segments.length >= 4;
  if (!isResource) return { type: 'path', verb: method.toLowerCase(), path };
  const group = isCore ? '' : (segments[1] ?? '');
  const version = segments[isCore ? 1 : 2] ?? '';
  let rest = segments.slice(isCore ? 2 : 3);
  let verb = verbOfMethod.get(method) ?? '';
  const special = specialVerbs.has(rest[0] ?? '');
  if (special) {
    if (rest.length < 2) throw new Error(`unable to determine kind and namespace from url, ${path}`);
    verb = rest[0] ?? '';
    rest = rest.slice(1);
  }
  const namespace = rest[0] === 'namespaces' ? (rest[1] ?? '') : '';
  const isNamespacedPath = rest[0] === 'namespaces' && rest.length > 2 && !namespaceSubresources.has(rest[2] ?? '');
  const parts = isNamespacedPath ? rest.slice(2) : rest;
  const selected = refineVerb(verb, parts[1] ?? '', request.query);
  return {
    type: 'resource',
    verb: selected.verb,
    path,
    group,
    version,
    namespace,
    resource: parts[0] ?? '',
    name: selected.name,
    subresource: verb === 'proxy' ? '' : (parts[2] ?? ''),
    parts,
    isNamespacedPath,
    isWatchPath: special && verb === 'watch',
  };
}

/** A get without a name is a list or a watch, a delete without one a deletecollection. */
function refineVerb(verb: string, name: string, query: URLSearchParams): { verb: string; name: string } {
  if (name !== '') return { verb, name };
  if (verb === 'get') {
    const refined = decodeBoolean(query.get('watch')) === true ? 'watch' : 'list';
    return { verb: refined, name: selectedName(query.get('fieldSelector')) };
  }
  if (verb === 'delete') return { verb: 'deletecollection', name: selectedName(query.get('fieldSelector')) };
  return { verb, name };
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

function trimSlashes(path: string): string {
  return path.replace(/^\/+/, '').replace(/\/+$/, '');
}

/** Watches and subresources that stay open: no request timeout, not counted as in flight. */
export function isLongRunning(info: RequestInfo): boolean {
  if (info.type === 'path') return false;
  if (info.verb === 'watch' || info.verb === 'proxy') return true;
  return ['attach', 'exec', 'proxy', 'log', 'portforward'].includes(info.subresource);
}

// RequestLabels describes a request by the label values of kube-apiserver's metrics, each from a bounded set. Read by
// server-metrics.ts. Source: apiserver endpoints/metrics (cleanVerb, CleanScope, cleanDryRun, cleanFieldValidation).
import { parseFieldSelector } from '@kapstan/api';
import { applyMediaType } from '../../fieldmanager/apply-request.ts';
import { decodeBoolean } from './query-parameters.ts';
import type { RequestInfo, ResourceRequest } from './request-info.ts';

export interface LabelledRequest {
  readonly method: string;
  readonly query: URLSearchParams;
  /** Returns a request header; the name is in lower case. */
  header(name: string): string | undefined;
}

/** "" for a path outside the resources. */
export type RequestScope = '' | 'cluster' | 'namespace' | 'resource';

const knownVerbs = new Set(['GET', 'LIST', 'WATCH', 'POST', 'PUT', 'PATCH', 'APPLY', 'DELETE', 'CONNECT']);
const connecting = new Set(['log', 'exec', 'portforward', 'attach', 'proxy']);

/**
 * Returns the scope according to the name in the path only: a list that selects one name has the scope of its
 * namespace.
 */
export function scopeOf(info: RequestInfo): RequestScope {
  if (info.type === 'path') return '';
  if ((info.parts[1] ?? '') !== '' || info.verb === 'create') return 'resource';
  return info.namespace === '' ? 'cluster' : 'namespace';
}

/**
 * Returns the scope of the objects that a list or watch selects, by its path and its fields. Source: CleanListScope.
 */
export function selectedScopeOf(info: ResourceRequest, fieldSelector: string = ''): RequestScope {
  const fields = parseFieldSelector(fieldSelector);
  if (info.name !== '' || fields.exactValue('metadata.name') !== undefined) return 'resource';
  if (info.namespace !== '' || fields.exactValue('metadata.namespace') !== undefined) return 'namespace';
  return 'cluster';
}

/** Returns the method, or a special word for lists, watches, applies and proxies; "other" for unknown methods. */
export function verbOf(request: LabelledRequest, info: RequestInfo): string {
  const verb = methodVerb(request, info);
  return knownVerbs.has(verb) ? verb : 'other';
}

function methodVerb(request: LabelledRequest, info: RequestInfo): string {
  const { method, query } = request;
  if (info.type === 'resource' && connecting.has(info.subresource)) return 'CONNECT';
  if (info.type === 'resource' && info.isWatchPath) return 'WATCH';
  if (method === 'GET' && decodeBoolean(query.get('watch')) === true) return 'WATCH';
  if (method === 'PATCH' && request.header('content-type') === applyMediaType) return 'APPLY';
  if (method !== 'GET' && method !== 'HEAD') return method;
  return ['cluster', 'namespace'].includes(scopeOf(info)) ? 'LIST' : 'GET';
}

/** Returns "", "All" or "invalid". */
export function dryRunOf(query: URLSearchParams): string {
  const asked = query.getAll('dryRun');
  if (asked.length === 0) return '';
  return asked.every((value) => value === 'All') ? 'All' : 'invalid';
}

/** Returns "" when the option is absent, "invalid" when its value is unknown or it is given twice. */
export function fieldValidationOf(query: URLSearchParams): string {
  const asked = query.getAll('fieldValidation');
  const [value = ''] = asked;
  return asked.length <= 1 && ['', 'Ignore', 'Warn', 'Strict'].includes(value) ? value : 'invalid';
}

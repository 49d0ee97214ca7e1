// Paths of requests in traces: the template that many requests share, and the full path without parts that may be secret. Used by
// http-call-tracer.ts.
import type { GroupResource } from '../objects/group-version.ts';

/** Parameters of the API whose values are not secret. Others, such as `command` of an exec or those of a proxied program, may be. */
const shownParameters: ReadonlySet<string> = new Set([
  'allowWatchBookmarks',
  'container',
  'dryRun',
  'fieldManager',
  'fieldSelector',
  'fieldValidation',
  'follow',
  'force',
  'gracePeriodSeconds',
  'labelSelector',
  'limit',
  'pretty',
  'propagationPolicy',
  'resourceVersion',
  'resourceVersionMatch',
  'sendInitialEvents',
  'sinceSeconds',
  'tailLines',
  'timeout',
  'timeoutSeconds',
  'watch',
]);
/** Longer paths are cut, because selectors may have many names. */
const maxLength = 2048;

/** Returns path and query with "REDACTED" for the values of parameters that may be secret. */
export function withoutSecrets(path: string): string {
  const start = path.indexOf('?');
  if (start === -1) return path.slice(0, maxLength);
  const shown = path
    .slice(start + 1)
    .split('&')
    .map((parameter) => {
      const end = parameter.indexOf('=');
      const name = end === -1 ? parameter : parameter.slice(0, end);
      return end === -1 || shownParameters.has(name) ? parameter : `${name}=REDACTED`;
    });
  return `${path.slice(0, start)}?${shown.join('&')}`.slice(0, maxLength);
}

/**
 * Returns the path with placeholders for namespace and name, as the server names its own spans:
 * `/api/v1/namespaces/{:namespace}/pods/{:name}`. The path below a proxied object is left out.
 */
export function urlTemplate(path: string, resource: GroupResource | undefined): string {
  const end = path.indexOf('?');
  const segments = (end === -1 ? path : path.slice(0, end)).split('/').slice(1);
  // "/api/v1/…" or "/apis/<group>/<version>/…"
  let at = segments[0] === 'api' ? 2 : 3;
  if (resource === undefined || (segments[0] !== 'api' && segments[0] !== 'apis')) return `/${segments[0] ?? ''}`;
  if (segments[at] === 'namespaces' && segments.length > at + 2 && resource.resource !== 'namespaces') {
    segments[at + 1] = '{:namespace}';
    at += 2;
  }
  if (segments.length > at + 1) segments[at + 1] = '{:name}';
  return `/${segments.slice(0, at + 3).join('/')}`;
}

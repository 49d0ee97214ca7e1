// CacheProblem describes why a kind cannot be listed or watched, and what to do about it. Found by informer-cache.ts,
// logged by the manager.

import { isNotFound, type Resource } from '@kapstan/api';
import { isDefinedResource } from '@kapstan/api/internal';

export interface CacheProblem {
  readonly kind: Resource;
  /** Absent = the server has not answered. */
  readonly error?: unknown;
}

/**
 * True for the error of a client that was closed and never comes back. An abandoned connection has the same code, but
 * also a cause. Source: `Client.close` of @kapstan/client.
 */
export function isOfClosedClient(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ECANCELED' && error.cause === undefined;
}

/** Says whether this run has installed the definitions of its kinds. */
export type Installation = 'wasInstalled' | 'notInstalled';

/** Returns "Foo (foos.v1.demo.dev): …". */
export function problemText({ kind, error }: CacheProblem, installation: Installation): string {
  const { plural, version, group } = kind;
  return `${kind.kind} (${[plural, version, ...(group === '' ? [] : [group])].join('.')}): ${reasonOf({ kind, error }, installation)}`;
}

function reasonOf({ kind, error }: CacheProblem, installation: Installation): string {
  if (error === undefined) return 'no answer yet';
  // A list of a kind that is served never answers 404.
  if (!isNotFound(error)) return error instanceof Error ? error.message : String(error);
  if (isDefinedResource(kind) && installation === 'wasInstalled')
    return 'the server does not serve it: its CustomResourceDefinition went after the start, a restart installs it again';
  if (isDefinedResource(kind))
    return 'the server does not serve it: its CustomResourceDefinition is missing, which installCrds: true installs';
  return 'the server does not serve it: is its CustomResourceDefinition installed?';
}

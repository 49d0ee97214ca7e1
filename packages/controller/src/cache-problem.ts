// CacheProblem: why a kind cannot be listed or watched, in words that say what to do about it. Found by informer-cache.ts, told
// by the manager.
import { isDefinedResource, isNotFound, type Resource } from '@kapstan/api';

export interface CacheProblem {
  readonly kind: Resource;
  /** Absent: the server has not answered. */
  readonly error?: unknown;
}

/** "Foo (foos.v1.demo.dev): …". */
export function problemText({ kind, error }: CacheProblem): string {
  const { plural, version, group } = kind;
  return `${kind.kind} (${[plural, version, ...(group === '' ? [] : [group])].join('.')}): ${reasonOf(kind, error)}`;
}

function reasonOf(kind: Resource, error: unknown): string {
  if (error === undefined) return 'no answer yet';
  // A list of a kind that is served is never 404.
  if (!isNotFound(error)) return error instanceof Error ? error.message : String(error);
  if (isDefinedResource(kind))
    return 'the server does not serve it: its CustomResourceDefinition is missing, which installCrds: true installs';
  return 'the server does not serve it: is its CustomResourceDefinition installed?';
}

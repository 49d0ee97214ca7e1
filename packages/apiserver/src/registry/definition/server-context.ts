// The context of the server's own work between the stores: it has no user, and nobody gets its warnings.
import type { RequestContext } from './request-context.ts';

/** Returns a context. `namespace` is "" for cluster-scoped objects. */
export function serverContext(namespace: string): RequestContext {
  return {
    user: { name: 'system:apiserver', groups: ['system:masters'] },
    namespace,
    dryRun: false,
    fieldManager: 'kapstan',
    fieldValidation: 'Ignore',
    warn: () => undefined,
  };
}

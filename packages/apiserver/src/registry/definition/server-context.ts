// The context of what the server does for itself, between the stores: no user asked for it, nobody waits for its warnings.
import type { RequestContext } from './request-context.ts';

/** `namespace` is "" for cluster-scoped objects. */
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

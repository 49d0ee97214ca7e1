// GoneHandler: what a controller does about keys whose object is not there. Declared with `gone()` of the builder, called by controller-runner.ts.
import type { KubernetesObject, ObjectName } from '@kapstan/api';
import type { ReconcileResult } from './reconcile-loop.ts';
import type { ReconcilerContext } from './reconciler-context.ts';

/** The tools of a {@link GoneHandler}: those of a reconcile function that need no object. */
export type GoneContext = Pick<ReconcilerContext<KubernetesObject>, 'client' | 'signal' | 'attempt' | 'log' | 'cache'>;

/**
 * Called with the name of an object that the cache has not; `namespace` is "" for cluster-scoped kinds. What it returns or throws means the same
 * as for a reconcile function.
 */
export type GoneHandler = (
  target: ObjectName,
  context: GoneContext,
) => Promise<ReconcileResult | undefined> | Promise<void>;

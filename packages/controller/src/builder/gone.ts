// GoneHandler: a controller's function for keys whose object does not exist. Declared with `gone()` of the builder, called by
// controller-runner.ts.
import type { KubernetesObject, ObjectName } from '@kapstan/api';
import type { ReconcileResult } from '../reconcile/reconcile-loop.ts';
import type { ReconcilerContext } from './reconciler-context.ts';

/** The tools of a {@link GoneHandler}: the tools of a reconcile function that need no object. */
export type GoneContext = Pick<
  ReconcilerContext<KubernetesObject>,
  'client' | 'signal' | 'attempt' | 'clock' | 'log' | 'cache'
>;

/**
 * Called with the name of an object that is not in the cache; `namespace` is "" for cluster-scoped kinds. Its result or error means the
 * same as for a reconcile function.
 */
export type GoneHandler = (
  target: ObjectName,
  context: GoneContext,
) => Promise<ReconcileResult | undefined> | Promise<void>;

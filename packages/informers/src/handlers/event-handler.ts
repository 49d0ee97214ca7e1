// Handlers in the shape of client-go: onAdd, onUpdate, onDelete, and a filter around them. Called by handler-listener.ts.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import { immediate, requireGivenFunction } from '@kapstan/api/internal';
import { DeletedFinalStateUnknown } from '../fifo/deleted-final-state-unknown.ts';
import { requireHandler } from '../guards/informer-checks.ts';
import type { ObjectChange } from './object-change.ts';

/**
 * Receives changes one at a time. A handler that returns a promise counts as slow: until the promise settles, its changes wait, merged by
 * object; other handlers do not wait for it. Objects are shared: read-only (invariant I6).
 */
export interface ResourceEventHandler<T extends KubernetesObject> {
  /** `isInInitialList`: the object existed when the handler was registered. */
  onAdd?(object: DeepReadonly<T>, isInInitialList: boolean): void | Promise<void>;
  /** Compare uids, because a deletion and a re-creation may arrive as one update. Equal resource versions mean a resync. */
  onUpdate?(oldObject: DeepReadonly<T>, newObject: DeepReadonly<T>): void | Promise<void>;
  /** `object` is a tombstone when the deletion itself was missed. */
  onDelete?(object: DeepReadonly<T> | DeletedFinalStateUnknown<T>): void | Promise<void>;
}

/** Calls the handler's method for a change. */
export function callHandler<T extends KubernetesObject>(
  handler: ResourceEventHandler<T>,
  change: ObjectChange<T>,
): void | Promise<void> {
  switch (change.type) {
    case 'added':
      return handler.onAdd?.(change.object, change.isInInitialList);
    case 'updated':
      return handler.onUpdate?.(change.oldObject, change.object);
    case 'deleted': {
      const { key, object, isFinalStateUnknown } = change;
      return handler.onDelete?.(
        isFinalStateUnknown || object === undefined ? new DeletedFinalStateUnknown(key, object) : object,
      );
    }
  }
}

/**
 * Returns a handler that receives only objects which pass the filter. An object that starts to pass is an addition; one that stops is a
 * deletion of its old state. The filter may receive a tombstone. Throws TypeError unless given a function and a handler. Source:
 * FilteringResourceEventHandler.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { filteringHandler, isDeletedFinalStateUnknown, SharedInformerFactory } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const factory = new SharedInformerFactory(await connect());
 * const handler = filteringHandler<Pod>(
 *   (pod) => !isDeletedFinalStateUnknown<Pod>(pod) && pod.status?.phase === 'Failed',
 *   { onAdd: ({ metadata }) => console.log('failed', metadata?.name) },
 * );
 * factory.informer(Pod).addEventHandler(handler);
 * factory.start();
 * ```
 */
export function filteringHandler<T extends KubernetesObject>(
  filter: (object: DeepReadonly<T> | DeletedFinalStateUnknown<T>) => boolean,
  handler: ResourceEventHandler<T>,
): ResourceEventHandler<T> {
  requireGivenFunction(filter, 'a filter');
  requireHandler(handler);
  const passes: typeof filter = (object) => immediate(filter(object), 'the answer of a filter');
  return {
    onAdd: (object, isInInitialList) => (passes(object) ? handler.onAdd?.(object, isInInitialList) : undefined),
    onUpdate: (oldObject, newObject) => {
      const [did, does] = [passes(oldObject), passes(newObject)];
      if (did && does) return handler.onUpdate?.(oldObject, newObject);
      if (does) return handler.onAdd?.(newObject, false);
      return did ? handler.onDelete?.(oldObject) : undefined;
    },
    onDelete: (object) => (passes(object) ? handler.onDelete?.(object) : undefined),
  };
}

// Checks the arguments of informers, their factory and their handlers before they are used: a wrong option is a TypeError that
// names it. Used by shared-informer.ts, shared-informer-factory.ts, reflector.ts and indexer.ts.
import type { Resource } from '@kapstan/api';
import {
  requireCallbacks,
  requireFunctions,
  requireGivenFunction,
  requireNotNegative,
  requireObject,
  requireResource,
} from '@kapstan/api/internal';

/** Callbacks that are called as methods of their options, see boundCallbacks. */
export const reflectorCallbacks = ['random', 'shouldResync', 'onWatchError', 'onWarning', 'onStoreError'] as const;
export const informerCallbacks = ['random', 'onWatchError', 'onHandlerError', 'transform'] as const;
export const requestCallbacks = ['onHandlerError', 'transform'] as const;

const handlerMethods = ['onAdd', 'onUpdate', 'onDelete'];

type Options = Readonly<Record<string, unknown>>;

/** Throws TypeError unless the first argument of a reflector or an informer can list and watch. */
export function requireListerWatcher(listerWatcher: unknown): void {
  requireFunctions(listerWatcher, 'a ListerWatcher', ['list', 'watch']);
}

/** Throws TypeError unless the client offers ListerWatchers. */
export function requireClient(client: unknown): void {
  requireFunctions(client, 'a client', ['listerWatcher']);
}

/** Returns the periods of single resources. Throws TypeError for a value that is not a list of such pairs. */
export function requirePeriods(pairs: Iterable<readonly [Resource, number]>): readonly (readonly [Resource, number])[] {
  if (typeof Object(pairs)[Symbol.iterator] !== 'function')
    throw new TypeError('customResyncMs must be pairs of a resource and a period, such as a Map');
  const periods = [...pairs];
  for (const [resource, resyncMs] of periods) {
    requireResource(resource, 'customResyncMs');
    requireNotNegative(resyncMs, `customResyncMs of ${resource.plural}`);
  }
  return periods;
}

/**
 * Throws TypeError for a handler that would receive nothing: a bare function, methods under other names, or members that are not functions.
 * `{}` is accepted, as in client-go, for callers that only want the registration.
 */
export function requireHandler(handler: unknown): void {
  requireObject(handler, 'a handler, such as { onAdd, onUpdate, onDelete },');
  requireCallbacks(handler as object, handlerMethods);
  if (handlerMethods.some((name) => (handler as Options)[name] !== undefined)) return;
  const names = Object.keys(handler as object);
  if (names.length > 0)
    throw new TypeError(`a handler must have one of ${handlerMethods.join(', ')}; this one has ${names.join(', ')}`);
  // The name is compared, because an object may come from another realm. An object without a prototype has no name.
  const className = (handler as object).constructor?.name ?? 'Object';
  if (className !== 'Object') throw new TypeError(`a ${className} has none of ${handlerMethods.join(', ')}`);
}

/** Throws TypeError unless given an object of functions. */
export function requireIndexers(indexers: unknown): void {
  requireObject(indexers, 'indexers, such as { node: (pod) => [pod.spec?.nodeName] },');
  for (const [name, valuesOf] of Object.entries(indexers as object))
    requireGivenFunction(valuesOf, `the index ${JSON.stringify(name)}`);
}

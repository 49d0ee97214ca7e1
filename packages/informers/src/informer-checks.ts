// Checks the arguments of informers, their factory and their handlers before they are used: a wrong option is a TypeError that
// names it. Used by shared-informer.ts, shared-informer-factory.ts, reflector.ts and indexer.ts.
import type { Resource } from '@kapstan/api';
import {
  requireCallbacks,
  requireClock,
  requireFunctions,
  requireGivenFunction,
  requireLogger,
  requireNotNegative,
  requireObject,
  requireResource,
  requireString,
} from '@kapstan/api/internal';

/** Callbacks that are called as methods of their options, see boundCallbacks. */
export const reflectorCallbacks = ['random', 'shouldResync', 'onWatchError', 'onWarning', 'onStoreError'] as const;
export const informerCallbacks = ['random', 'onWatchError', 'onHandlerError', 'transform'] as const;
export const requestCallbacks = ['onHandlerError', 'transform'] as const;

const handlerMethods = ['onAdd', 'onUpdate', 'onDelete'];
const mutationDetections: readonly unknown[] = ['off', 'freeze', 'compare'];

type Options = Readonly<Record<string, unknown>>;

/** Throws TypeError unless the first argument can list and watch and a reflector can use the options. */
export function requireReflector(listerWatcher: unknown, options: unknown): void {
  requireFunctions(listerWatcher, 'a ListerWatcher', ['list', 'watch']);
  requireObject(options, 'options');
  const { clock, name, labelSelector, fieldSelector, resyncMs = 0 } = options as Options;
  requireClock(clock);
  for (const [what, text] of Object.entries({ name, labelSelector, fieldSelector }))
    if (text !== undefined) requireString(text, what);
  requireNotNegative(resyncMs, 'resyncMs');
  requireCallbacks(options as object, reflectorCallbacks);
}

/** Throws TypeError for options that an informer, a factory or a request cannot use. */
export function requireInformerOptions(options: unknown): void {
  requireObject(options, 'options');
  const { logger, indexers, resyncMs = 0, mutationDetection = 'off', retryOnError = false } = options as Options;
  requireLogger(logger);
  requireNotNegative(resyncMs, 'resyncMs');
  requireCallbacks(options as object, requestCallbacks);
  if (indexers !== undefined) requireIndexers(indexers);
  if (!mutationDetections.includes(mutationDetection))
    throw new TypeError(
      `mutationDetection must be 'off', 'freeze' or 'compare', not ${JSON.stringify(mutationDetection)}`,
    );
  if (typeof retryOnError !== 'boolean')
    throw new TypeError(`retryOnError must be true or false, not ${JSON.stringify(retryOnError)}`);
}

/** Throws TypeError unless the client offers ListerWatchers and a factory can use the options. */
export function requireFactory(client: unknown, options: unknown): void {
  requireFunctions(client, 'a client', ['listerWatcher']);
  requireInformerOptions(options);
  const { namespace, clock } = options as Options;
  requireClock(clock);
  if (namespace !== undefined) requireString(namespace, 'namespace');
  requireCallbacks(options as object, ['tweakListOptions', 'isServed']);
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
  // Compared by name, because an object may come from another realm. An object without a prototype has no name.
  const className = (handler as object).constructor?.name ?? 'Object';
  if (className !== 'Object') throw new TypeError(`a ${className} has none of ${handlerMethods.join(', ')}`);
}

/** Throws TypeError unless given an object of functions. */
export function requireIndexers(indexers: unknown): void {
  requireObject(indexers, 'indexers, such as { node: (pod) => [pod.spec?.nodeName] },');
  for (const [name, valuesOf] of Object.entries(indexers as object))
    requireGivenFunction(valuesOf, `the index ${JSON.stringify(name)}`);
}

// What informers, their factory and their handlers must be given, looked at before anything is made of it: a wrong option is a
// TypeError that names it. Used by shared-informer.ts, shared-informer-factory.ts, reflector.ts and indexer.ts.

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

/** Called as methods of their options: see boundCallbacks. */
export const reflectorCallbacks = ['random', 'shouldResync', 'onWatchError', 'onWarning', 'onStoreError'] as const;
export const informerCallbacks = ['random', 'onWatchError', 'onHandlerError', 'transform'] as const;
export const requestCallbacks = ['onHandlerError', 'transform'] as const;

const handlerMethods = ['onAdd', 'onUpdate', 'onDelete'];
const mutationDetections: readonly unknown[] = ['off', 'freeze', 'compare'];

type Options = Readonly<Record<string, unknown>>;

/** Throws TypeError for what cannot list and watch, and for options that a reflector cannot use. */
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

/** Throws TypeError for what gives no ListerWatchers, and for options that a factory cannot use. */
export function requireFactory(client: unknown, options: unknown): void {
  requireFunctions(client, 'a client', ['listerWatcher']);
  requireInformerOptions(options);
  const { namespace, clock } = options as Options;
  requireClock(clock);
  if (namespace !== undefined) requireString(namespace, 'namespace');
  requireCallbacks(options as object, ['tweakListOptions', 'isServed']);
}

/** The periods of single resources. Throws TypeError for what is none. */
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
 * Throws TypeError for what hears nothing: a bare function, methods under other names, methods that are none. `{}` is taken, as by
 * client-go: who wants its registration only.
 */
export function requireHandler(handler: unknown): void {
  requireObject(handler, 'a handler, such as { onAdd, onUpdate, onDelete },');
  requireCallbacks(handler as object, handlerMethods);
  if (handlerMethods.some((name) => (handler as Options)[name] !== undefined)) return;
  const names = Object.keys(handler as object);
  if (names.length > 0)
    throw new TypeError(`a handler has some of ${handlerMethods.join(', ')}, this one has ${names.join(', ')}`);
  // By name: an object may be of another realm. Without a prototype it has none.
  const className = (handler as object).constructor?.name ?? 'Object';
  if (className !== 'Object') throw new TypeError(`a ${className} has none of ${handlerMethods.join(', ')}`);
}

/** Throws TypeError for what is no object of functions. */
export function requireIndexers(indexers: unknown): void {
  requireObject(indexers, 'indexers, such as { node: (pod) => [pod.spec?.nodeName] },');
  for (const [name, valuesOf] of Object.entries(indexers as object))
    requireGivenFunction(valuesOf, `the index ${JSON.stringify(name)}`);
}

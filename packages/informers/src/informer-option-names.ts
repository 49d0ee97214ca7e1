// The names of all options of informers, their factory and reflectors, so that an option in the wrong place is refused. Used by those
// three; informer-checks.ts beside it checks the values.
import type { KubernetesObject } from '@kapstan/api';
import { nearestName, type OptionNames, requireKnownOptions } from '@kapstan/api/internal';
import type { ReflectorOptions } from './reflector-options.ts';
import type { InformerOptions, SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

const requestNames: OptionNames<InformerOptions<KubernetesObject>> = {
  indexers: true,
  resyncMs: true,
  transform: true,
  fifo: true,
  retryOnError: true,
  onHandlerError: true,
};
const commonNames = {
  clock: true,
  random: true,
  resyncMs: true,
  useWatchList: true,
  pageSize: true,
  minWatchTimeoutMs: true,
  idleTimeoutMs: true,
  internalErrorRetryMs: true,
  backoff: true,
  onWatchError: true,
  onHandlerError: true,
  transform: true,
  fifo: true,
  retryOnError: true,
  logger: true,
  mutationDetection: true,
};
const factoryNames: OptionNames<SharedInformerFactoryOptions> = {
  ...commonNames,
  customResyncMs: true,
  namespace: true,
  tweakListOptions: true,
  isServed: true,
};
const informerNames: OptionNames<SharedInformerOptions<KubernetesObject>> = {
  ...commonNames,
  resource: true,
  name: true,
  labelSelector: true,
  fieldSelector: true,
  indexers: true,
};
// An informer passes its options on to its reflector.
const reflectorNames: OptionNames<ReflectorOptions & SharedInformerOptions<KubernetesObject>> = {
  ...informerNames,
  shouldResync: true,
  expected: true,
  onWarning: true,
  onStoreError: true,
};
/** The receiver of options, as error texts name it. */
type Taker = 'a reflector' | 'an informer' | 'a factory' | 'an informer of a factory';
const optionNames: Readonly<Record<Taker, Readonly<Record<string, unknown>>>> = {
  'a reflector': reflectorNames,
  'an informer': informerNames,
  'a factory': factoryNames,
  'an informer of a factory': requestNames,
};
const allNames = [...new Set(Object.values(optionNames).flatMap((names) => Object.keys(names)))];

/**
 * Throws TypeError for a name that is an option elsewhere, or is close to one: it would be ignored. Other names are members of the object,
 * for the use of its callbacks.
 */
export function requireOptionNames(options: object, taker: Taker): void {
  const known = optionNames[taker];
  const entries: [string, unknown][] = [];
  // Includes inherited members, because they would be read too.
  for (const name in options) {
    // The search for a similar name costs about 100 µs, and a server creates dozens of informers before it is ready.
    if (Object.hasOwn(known, name)) continue;
    if (nearestName(name, allNames) !== undefined) entries.push([name, options[name as keyof typeof options]]);
  }
  requireKnownOptions(Object.fromEntries(entries), known, taker);
}

// Tables of the options of informers, their factory and reflectors. A table has one check per option, so an option that is not in it is
// refused, for example one in the wrong place. informer-checks.ts checks the other arguments of all three.
import type { KubernetesObject } from '@kapstan/api';
import {
  checkedElsewhere,
  nearestName,
  type OptionCheck,
  type OptionTable,
  objectWith,
  optional,
  requireBoolean,
  requireClock,
  requireFunction,
  requireKnownOptions,
  requireLogger,
  requireNotNegative,
  requireObject,
  requireOptionValues,
  requireString,
} from '@kapstan/api/internal';
import { requireIndexers } from './informer-checks.ts';
import type { ReflectorOptions } from './reflector/reflector-options.ts';
import type { InformerOptions, SharedInformerFactoryOptions } from './shared-informer-factory-options.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';

const mutationDetections: readonly unknown[] = ['off', 'freeze', 'compare'];

/** Options that reflectors, informers, factories and requests share. */
const commonTable = {
  clock: requireClock,
  random: requireFunction,
  resyncMs: optional(requireNotNegative),
  // Checked by the list/watch machine.
  useWatchList: checkedElsewhere,
  pageSize: checkedElsewhere,
  minWatchTimeoutMs: checkedElsewhere,
  idleTimeoutMs: checkedElsewhere,
  internalErrorRetryMs: checkedElsewhere,
  backoff: checkedElsewhere,
  onWatchError: requireFunction,
  onHandlerError: requireFunction,
  transform: requireFunction,
  // The code that makes the FIFO checks it.
  fifo: checkedElsewhere,
  retryOnError: optional(requireBoolean),
  logger: requireLogger,
  mutationDetection: optional(requireMutationDetection),
  metrics: optional(objectWith('measure', 'within', 'ofMetadata')),
} satisfies Readonly<Record<string, OptionCheck>>;
const requestTable: OptionTable<InformerOptions<KubernetesObject>> = {
  indexers: optional(requireIndexers),
  resyncMs: commonTable.resyncMs,
  transform: commonTable.transform,
  fifo: commonTable.fifo,
  retryOnError: commonTable.retryOnError,
  onHandlerError: commonTable.onHandlerError,
};
const factoryTable: OptionTable<SharedInformerFactoryOptions> = {
  ...commonTable,
  // Checked by requirePeriods.
  customResyncMs: checkedElsewhere,
  namespace: optional(requireString),
  tweakListOptions: requireFunction,
  isServed: requireFunction,
};
const informerTable: OptionTable<SharedInformerOptions<KubernetesObject>> = {
  ...commonTable,
  resource: checkedElsewhere,
  name: optional(requireString),
  labelSelector: optional(requireString),
  fieldSelector: optional(requireString),
  indexers: optional(requireIndexers),
};
// An informer passes its options on to its reflector.
const reflectorTable: OptionTable<ReflectorOptions & SharedInformerOptions<KubernetesObject>> = {
  ...informerTable,
  shouldResync: requireFunction,
  expected: checkedElsewhere,
  onWarning: requireFunction,
  onStoreError: requireFunction,
};

/** The receiver of options, as error texts name it. */
type Taker = 'a reflector' | 'an informer' | 'a factory' | 'an informer of a factory';
const tables: Readonly<Record<Taker, Readonly<Record<string, OptionCheck>>>> = {
  'a reflector': reflectorTable,
  'an informer': informerTable,
  'a factory': factoryTable,
  'an informer of a factory': requestTable,
};
const allNames = [...new Set(Object.values(tables).flatMap((table) => Object.keys(table)))];

/**
 * Throws TypeError for an option that does not apply here, and for a name that is an option elsewhere, or close to one, because it would be
 * ignored. Other names are members of the object, for use by its callbacks.
 */
export function requireOptionsOf(taker: Taker, options: unknown): void {
  requireObject(options, 'options');
  const table = tables[taker];
  requireOptionValues(options as object, table);
  const entries: [string, unknown][] = [];
  // Includes inherited members, because they would be read too.
  for (const name in options as object) {
    // The search for a similar name costs about 100 µs, and a server creates dozens of informers before it is ready.
    if (Object.hasOwn(table, name)) continue;
    if (nearestName(name, allNames) !== undefined)
      entries.push([name, (options as Readonly<Record<string, unknown>>)[name]]);
  }
  requireKnownOptions(Object.fromEntries(entries), table, taker);
}

function requireMutationDetection(value: unknown, name: string): void {
  if (!mutationDetections.includes(value))
    throw new TypeError(`${name} must be 'off', 'freeze' or 'compare', not ${JSON.stringify(value)}`);
}

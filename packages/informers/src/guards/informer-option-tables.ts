// Tables of the options of informers, their factory and reflectors. A table has one check per option, so an option that is not in it is
// refused, for example one in the wrong place. informer-checks.ts checks the other arguments of all three.
import {
  checkedElsewhere,
  nearestName,
  type OptionCheck,
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

const mutationDetections: readonly unknown[] = ['off', 'freeze', 'compare'];

type CommonOption =
  | ('clock' | 'random' | 'resyncMs' | 'useWatchList' | 'pageSize' | 'minWatchTimeoutMs' | 'idleTimeoutMs')
  | ('internalErrorRetryMs' | 'backoff' | 'onWatchError' | 'onHandlerError' | 'transform' | 'fifo' | 'retryOnError')
  | ('logger' | 'mutationDetection' | 'metrics');
type InformerOption = CommonOption | 'resource' | 'name' | 'labelSelector' | 'fieldSelector' | 'indexers';

/** Names of options by their receiver, as error texts name it. */
interface OptionNames {
  // An informer passes its options on to its reflector.
  readonly 'a reflector': InformerOption | 'shouldResync' | 'expected' | 'onWarning' | 'onStoreError';
  readonly 'an informer': InformerOption;
  readonly 'a factory': CommonOption | 'customResyncMs' | 'namespace' | 'tweakListOptions' | 'isServed';
  readonly 'an informer of a factory':
    | 'indexers'
    | Extract<CommonOption, 'resyncMs' | 'transform' | 'fifo' | 'retryOnError' | 'onHandlerError'>;
}

/** The receivers that know all options of a type. */
type TakerOf<O extends object> = {
  [T in keyof OptionNames]: keyof O extends OptionNames[T] ? T : never;
}[keyof OptionNames];

type Checks<N extends string> = Readonly<Record<N, OptionCheck>>;

/** Options that reflectors, informers, factories and requests share. */
const commonTable: Checks<CommonOption> = {
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
};
const requestTable: Checks<OptionNames['an informer of a factory']> = {
  indexers: optional(requireIndexers),
  resyncMs: commonTable.resyncMs,
  transform: commonTable.transform,
  fifo: commonTable.fifo,
  retryOnError: commonTable.retryOnError,
  onHandlerError: commonTable.onHandlerError,
};
const factoryTable: Checks<OptionNames['a factory']> = {
  ...commonTable,
  // Checked by requirePeriods.
  customResyncMs: checkedElsewhere,
  namespace: optional(requireString),
  tweakListOptions: requireFunction,
  isServed: requireFunction,
};
const informerTable: Checks<InformerOption> = {
  ...commonTable,
  resource: checkedElsewhere,
  name: optional(requireString),
  labelSelector: optional(requireString),
  fieldSelector: optional(requireString),
  indexers: optional(requireIndexers),
};
const reflectorTable: Checks<OptionNames['a reflector']> = {
  ...informerTable,
  shouldResync: requireFunction,
  expected: checkedElsewhere,
  onWarning: requireFunction,
  onStoreError: requireFunction,
};

const tables: { readonly [T in keyof OptionNames]: Checks<OptionNames[T]> } = {
  'a reflector': reflectorTable,
  'an informer': informerTable,
  'a factory': factoryTable,
  'an informer of a factory': requestTable,
};
const allNames = [...new Set(Object.values(tables).flatMap((table) => Object.keys(table)))];

/**
 * Throws TypeError for an option that does not apply here, and for a name that is an option elsewhere, or close to one, because it would be
 * ignored. Other names are members of the object, for use by its callbacks. The call states the type of the options, and the compiler refuses a
 * type with an option that is not in the receiver's table.
 */
export function requireOptionsOf<O extends object>(taker: TakerOf<O>, options: unknown): void {
  requireObject(options, 'options');
  const table: Checks<string> = tables[taker];
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

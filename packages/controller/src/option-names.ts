// Checks names of options for parts that users make themselves: queues, limiters, a loop, an elector. Over
// requireKnownOptions of @kapstan/api; manager-checks.ts and controller-builder.ts do it for managers and controllers.
import { type OptionTable, requireKnownOptions, requireObject, requireOptionValues } from '@kapstan/api/internal';

/**
 * Throws TypeError unless given an object whose options are all in `names`. An instance of a class may have further
 * members, which its methods read as callbacks.
 */
export function requireOptionNames(options: unknown, names: Readonly<Record<string, unknown>>, who: string): void {
  requireObject(options, `options of ${who}`);
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype === Object.prototype || prototype === null) requireKnownOptions(options as object, names, who);
}

/** Does {@link requireOptionNames}, then checks each option. */
export function requirePartOptions<O extends object>(options: O, table: OptionTable<O>, who: string): void {
  requireOptionNames(options, table, who);
  requireOptionValues(options, table);
}

/** Returns the options without undefined ones, which count as absent and would hide a default. */
export function givenOptions<O extends object>(options: O): O {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}

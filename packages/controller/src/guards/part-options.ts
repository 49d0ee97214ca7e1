// Checks the options of parts that users make themselves: queues, limiters, a loop, an elector. Each part has an
// OptionTable; the tables of managers and controllers are in manager-checks.ts and controller-builder.ts.
import { type OptionTable, requireKnownOptions, requireObject, requireOptionValues } from '@kapstan/api/internal';

/**
 * Throws TypeError unless given an object whose options are all in the table and fit. An instance of a class may have
 * further members, which its methods read as callbacks.
 */
export function requirePartOptions<O extends object>(options: O, table: OptionTable<O>, who: string): void {
  requireObject(options, `options of ${who}`);
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype === Object.prototype || prototype === null) requireKnownOptions(options, table, who);
  requireOptionValues(options, table);
}

/** Returns the options without undefined ones, which count as absent and would hide a default. */
export function givenOptions<O extends object>(options: O): O {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}

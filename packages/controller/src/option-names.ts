// Options by names that nobody takes, given to the parts that users make themselves: queues, limiters, a loop, an elector. Over
// requireKnownOptions of @kapstan/api; what a manager and a controller take is looked at by manager-checks.ts and controller-builder.ts.
import { requireKnownOptions, requireObject } from '@kapstan/api/internal';

/**
 * Throws TypeError for what is no object, and for an option that is not among `names`. An instance of a class may have members of
 * its own, which its methods read as callbacks.
 */
export function requireOptionNames(options: unknown, names: Readonly<Record<string, unknown>>, who: string): void {
  requireObject(options, `options of ${who}`);
  const prototype: unknown = Object.getPrototypeOf(options);
  if (prototype === Object.prototype || prototype === null) requireKnownOptions(options as object, names, who);
}

/** Without members that are undefined: those count as absent, and would hide a default. */
export function givenOptions<O extends object>(options: O): O {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as O;
}

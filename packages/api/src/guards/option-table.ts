// OptionTable lists the check of every option of an options object. The compiler finds options that the table misses or has too many. The
// parts of the SDK need it because JavaScript callers have no compiler; known-options.ts finds misspelt names, required.ts has the checks.
import { requireKnownOptions } from './known-options.ts';
import { requireFunctions } from './required.ts';

/** Throws TypeError for a value that does not fit the option of this name. Gets undefined for an absent one. */
export type OptionCheck = (value: unknown, name: string) => void;

export type OptionTable<O extends object> = Readonly<Record<keyof O, OptionCheck>>;

/**
 * Throws TypeError for an option that is not in the table, then for the first one that its check refuses. `who` names the taker of the
 * options.
 */
export function requireOptions<O extends object>(options: O, table: OptionTable<O>, who: string): void {
  requireKnownOptions(options, table, who);
  requireOptionValues(options, table);
}

/** Does what {@link requireOptions} does without checking the names, for objects that may have members of their own. */
export function requireOptionValues(options: object, table: Readonly<Record<string, OptionCheck>>): void {
  const values = options as Readonly<Record<string, unknown>>;
  for (const name in table) table[name]?.(values[name], name);
}

/** Returns the check of an option that may be absent. */
export function optional(check: OptionCheck): OptionCheck {
  return (value, name) => {
    if (value !== undefined) check(value, name);
  };
}

/** Returns a check that the value is an object with these functions. */
export function objectWith(...functions: readonly string[]): OptionCheck {
  return (value, name) => requireFunctions(value, name, functions);
}

/** Checks an option that is either true or false. */
export function requireBoolean(value: unknown, name: string): void {
  if (typeof value !== 'boolean') throw new TypeError(`${name} must be true or false, not ${JSON.stringify(value)}`);
}

/** Accepts any value, for an option that is checked together with others or by the code that uses it. */
export const checkedElsewhere: OptionCheck = () => undefined;

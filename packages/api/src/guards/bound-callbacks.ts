// Binds callbacks in options, for code that copies the options or keeps a callback without them. See also
// guarded-call.ts.
import { setOwn } from '../json/json.ts';

/**
 * Returns a copy of the options in which the functions with these names are bound to the original. Inherited and
 * computed members are copied too, because options may be an instance of a class.
 */
export function boundCallbacks<O extends object>(options: O, names: readonly (keyof O & string)[]): O {
  const copy: Record<string, unknown> = {};
  for (const name of memberNames(options)) {
    const value = (options as Record<string, unknown>)[name];
    const isCallback = typeof value === 'function' && (names as readonly string[]).includes(name);
    setOwn(copy, name, isCallback ? value.bind(options) : value);
  }
  return copy as O;
}

/** Returns names of own and inherited members, except those of plain objects' prototype. */
function memberNames(options: object): Set<string> {
  const names = new Set(Object.keys(options));
  for (
    let one = Object.getPrototypeOf(options);
    one !== null && one !== Object.prototype;
    one = Object.getPrototypeOf(one)
  )
    for (const name of Object.getOwnPropertyNames(one)) if (name !== 'constructor') names.add(name);
  return names;
}

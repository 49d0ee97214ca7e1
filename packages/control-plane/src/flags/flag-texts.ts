// The values of flags as texts, for /flagz. Called by serve.ts. Source: the String methods of pflag's and
// component-base's values, apiserver pkg/server/flagz.
import { type Flag, formatFlag } from './flag-set.ts';

/** Returns the values by name, as kube-apiserver writes them. Passwords within URLs are left out. */
export function flagTexts(
  flags: Readonly<Record<string, Flag<unknown>>>,
  values: Readonly<Record<string, unknown>>,
): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(flags).map(([name, flag]) => {
      const value = Object.hasOwn(values, name) ? values[name] : flag.default;
      return [name, withoutPasswords(formatFlag(flag, value))];
    }),
  );
}

/** A password may itself contain an "@". */
function withoutPasswords(text: string): string {
  return text.replace(/(:\/\/)[^/,\s]*@/g, '$1CLASSIFIED@');
}

// Refuses options of unknown names: a misspelt `labelselector` would list everything, a misspelt `dryrun` would write.
// Used for calls, clients, controllers and managers; required.ts checks the values. Informers accept options with
// further members, which their callbacks read, and refuse only near misses: see guards/informer-option-tables.ts there.

/** The names of options. The type `OptionNames<ListOptions>` lets the compiler find missing and extra names. */
export type OptionNames<O extends object> = Readonly<Record<keyof O, unknown>>;

/**
 * Throws TypeError for an option that is not in `names`, with a guess at the right name. Undefined options count as
 * absent. `who` names the taker of the options: "list", "a factory".
 */
export function requireKnownOptions(options: object, names: Readonly<Record<string, unknown>>, who: string): void {
  // Inherited options count too, because they would be read.
  for (const name in options) {
    if (Object.hasOwn(names, name) || (options as Readonly<Record<string, unknown>>)[name] === undefined) continue;
    throw new TypeError(`${who}: unknown option ${JSON.stringify(name)}; ${hint(name, Object.keys(names))}`);
  }
}

function hint(name: string, known: readonly string[]): string {
  const nearest = nearestName(name, known);
  return nearest === undefined ? `it takes ${known.join(', ') || 'none'}` : `did you mean ${JSON.stringify(nearest)}?`;
}

/** Largest distance, in letters, at which an unknown name counts as a misspelling. */
const maxDistance = 2;

/**
 * Returns the name that may have been meant, ignoring case and with up to two letters wrong; undefined when none is
 * that close.
 */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  const lower = name.toLowerCase();
  const [nearest] = known
    .map((one) => ({ one, distance: distanceOf(lower, one.toLowerCase()) }))
    .filter(({ one, distance }) => distance <= Math.min(maxDistance, one.length / 2))
    .sort((a, b) => a.distance - b.distance);
  return nearest?.one;
}

/** Returns the Levenshtein distance: letters to insert, remove or replace. */
function distanceOf(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[to.length] ?? 0;
}

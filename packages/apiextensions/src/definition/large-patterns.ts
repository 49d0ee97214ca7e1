// Finds definitions whose patterns take long to compile, which are validated in a thread. Used by
// definition-resource.ts.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import { patternSize } from '@kapstan/cel';

/** Maximum size of all different patterns of a definition that are compiled in one turn, which takes about 20 ms. */
const mostInstructions = 2048;

/** True when the patterns in the schemas of a definition are too large for one turn. A pattern that is there many times counts once. */
export function hasLargePatterns(definition: DeepReadonly<UnstructuredObject>): boolean {
  return !new PatternSum().fits(definition.spec);
}

class PatternSum {
  readonly #seen = new Set<string>();
  #rest = mostInstructions;

  /** Looks at every member, so it may count texts that are not patterns, but misses no pattern. */
  fits(value: unknown): boolean {
    if (Array.isArray(value)) return value.every((item) => this.fits(item));
    if (!isJsonObject(value)) return true;
    for (const key in value) {
      const member = value[key];
      if (key === 'pattern' && typeof member === 'string') this.#count(member);
      if (this.#rest < 0 || !this.fits(member)) return false;
    }
    return true;
  }

  #count(pattern: string): void {
    if (this.#seen.has(pattern)) return;
    this.#seen.add(pattern);
    this.#rest -= patternSize(pattern);
  }
}

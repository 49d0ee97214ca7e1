// Label selectors: equality, set and existence terms, from text and from matchLabels/matchExpressions.

import { parseInt64 } from '../formats/parse-int64.ts';
import type { LabelRequirement } from './label-requirement.ts';
import { LabelTerms } from './label-terms.ts';

/**
 * Maximum number of terms compared one by one. A client may send 80,000 terms or values, to compare with 20,000
 * objects.
 */
const fewTerms = 8;

/**
 * A parsed label selector. Immutable.
 *
 * @example
 * ```ts
 * import { parseLabelSelector } from '@kapstan/api';
 *
 * const selector = parseLabelSelector('app in (web, api), !canary');
 * console.log(selector.matches({ app: 'web' })); // true
 * ```
 */
export class LabelSelector {
  readonly requirements: readonly LabelRequirement[];
  /** True when it matches no object at all (a nil selector in an API object). */
  readonly isNothing: boolean;
  /** The terms by key. Undefined when they are few, or were not needed yet. */
  #terms: LabelTerms | undefined;
  readonly #isLong: boolean;

  constructor(requirements: readonly LabelRequirement[], options: { readonly isNothing?: boolean } = {}) {
    this.requirements = requirements;
    this.#isLong = requirements.length > fewTerms || requirements.some(({ values }) => values.length > fewTerms);
    this.isNothing = options.isNothing ?? false;
  }

  get isEmpty(): boolean {
    return this.requirements.length === 0 && !this.isNothing;
  }

  matches(labels: Readonly<Record<string, string>>): boolean {
    if (this.isNothing) return false;
    if (this.#isLong) {
      this.#terms ??= new LabelTerms(this.requirements);
      return this.#terms.hold(labels);
    }
    for (const requirement of this.requirements) if (!requirementMatches(requirement, labels)) return false;
    return true;
  }

  /** Returns the value that an equality term requires of a label; undefined when there is none. */
  exactValue(key: string): string | undefined {
    const found = this.requirements.find(
      (r) =>
        r.key === key && (r.operator === '=' || r.operator === '==' || (r.operator === 'in' && r.values.length === 1)),
    );
    return found?.values[0];
  }

  toString(): string {
    return this.requirements.map(formatRequirement).join(',');
  }
}

/** Selects every object, whatever its labels. */
export const everyLabel: LabelSelector = new LabelSelector([]);
export const noLabel: LabelSelector = new LabelSelector([], { isNothing: true });

function requirementMatches(
  { key, operator, values }: LabelRequirement,
  labels: Readonly<Record<string, string>>,
): boolean {
  const has = Object.hasOwn(labels, key);
  const actual = has ? (labels[key] ?? '') : '';
  switch (operator) {
    case '=':
    case '==':
    case 'in':
      return has && values.includes(actual);
    case '!=':
    case 'notin':
      return !has || !values.includes(actual);
    case 'exists':
      return has;
    case '!':
      return !has;
    case '>':
    case '<':
      return has && compareIntegers(actual, values[0] ?? '', operator);
  }
}

/** Values that are not 64-bit integers match neither operator. */
function compareIntegers(actual: string, wanted: string, operator: '>' | '<'): boolean {
  const [a, b] = [parseInt64(actual), parseInt64(wanted)];
  if (a === undefined || b === undefined) return false;
  return operator === '>' ? a > b : a < b;
}

function formatRequirement({ key, operator, values }: LabelRequirement): string {
  switch (operator) {
    case '=':
    case '==':
    case '!=':
      return `${key}${operator}${values[0] ?? ''}`;
    case 'in':
    case 'notin':
      return `${key} ${operator} (${[...values].sort().join(',')})`;
    case 'exists':
      return key;
    case '!':
      return `!${key}`;
    case '>':
    case '<':
      return `${key}${operator}${values[0] ?? ''}`;
  }
}

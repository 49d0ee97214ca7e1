// LabelTerms groups the terms of a long selector by key, so that the cost of an object depends on its keys and not on
// the number of terms. Used by label-selector.ts, and for values by field-selector.ts.

import { parseInt64 } from '../formats/parse-int64.ts';
import type { LabelRequirement } from './label-requirement.ts';

type Labels = Readonly<Record<string, string>>;

/** The allowed values of one key. */
export class ValueTerms {
  /** Allowed values; undefined = any. */
  #allowed: ReadonlySet<string> | undefined;
  readonly #denied = new Set<string>();

  allow(values: readonly string[]): void {
    const others = this.#allowed;
    this.#allowed = new Set(others === undefined ? values : values.filter((value) => others.has(value)));
  }

  deny(values: readonly string[]): void {
    for (const value of values) this.#denied.add(value);
  }

  hold(value: string): boolean {
    return this.#allowed?.has(value) !== false && !this.#denied.has(value);
  }
}

class KeyTerms extends ValueTerms {
  isRequired = false;
  isForbidden = false;
  /** The value must lie between these bounds. 'never': a bound is not a number, so no value matches. */
  #above: bigint | 'never' | undefined;
  #below: bigint | 'never' | undefined;

  add({ operator, values }: LabelRequirement): void {
    if (operator === '!') this.isForbidden = true;
    else if (operator === '!=' || operator === 'notin') this.deny(values);
    else this.#require(operator, values);
  }

  #require(operator: LabelRequirement['operator'], values: readonly string[]): void {
    this.isRequired = true;
    if (operator === '>') this.#above = narrowed(this.#above, values[0], (a, b) => a > b);
    else if (operator === '<') this.#below = narrowed(this.#below, values[0], (a, b) => a < b);
    else if (operator !== 'exists') this.allow(values);
  }

  /** True when the terms hold for the value of a present label. */
  holdPresent(value: string): boolean {
    return !this.isForbidden && this.hold(value) && this.#holdBounds(value);
  }

  #holdBounds(value: string): boolean {
    const [above, below] = [this.#above, this.#below];
    if (above === undefined && below === undefined) return true;
    const number = parseInt64(value);
    if (number === undefined || above === 'never' || below === 'never') return false;
    return (above === undefined || number > above) && (below === undefined || number < below);
  }
}

function narrowed(
  present: bigint | 'never' | undefined,
  wanted: string | undefined,
  isNarrower: (a: bigint, b: bigint) => boolean,
): bigint | 'never' {
  const bound = parseInt64(wanted ?? '');
  if (bound === undefined || present === 'never') return 'never';
  return present === undefined || isNarrower(bound, present) ? bound : present;
}

export class LabelTerms {
  readonly #required: ReadonlyMap<string, KeyTerms>;
  /** Terms of keys that need not be present. */
  readonly #others: ReadonlyMap<string, KeyTerms>;

  constructor(requirements: readonly LabelRequirement[]) {
    const all = new Map<string, KeyTerms>();
    for (const requirement of requirements) {
      const terms = all.get(requirement.key) ?? new KeyTerms();
      all.set(requirement.key, terms);
      terms.add(requirement);
    }
    this.#required = new Map([...all].filter(([, { isRequired }]) => isRequired));
    this.#others = new Map([...all].filter(([, { isRequired }]) => !isRequired));
  }

  hold(labels: Labels): boolean {
    for (const [key, terms] of this.#required) {
      if (!Object.hasOwn(labels, key) || !terms.holdPresent(labels[key] ?? '')) return false;
    }
    return this.#others.size === 0 || this.#holdOthers(labels);
  }

  #holdOthers(labels: Labels): boolean {
    for (const key of Object.keys(labels)) {
      if (this.#others.get(key)?.holdPresent(labels[key] ?? '') === false) return false;
    }
    return true;
  }
}

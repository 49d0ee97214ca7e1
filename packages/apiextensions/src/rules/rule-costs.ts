// RuleCosts adds up what the rules of one schema may cost, and finds the most expensive ones. Sums are unsigned 64-bit
// integers that stop at the largest value. Source: apiextensions validation cel_validation.go TotalCost,
// getCostErrorMessage.
import type { Field } from '@kapstan/apiserver/internal';
import { maxRequestBytes } from './decl-type.ts';
import type { RuleSchema } from './rule-schema.ts';

/** Maximum cost of one expression over all values for which it may be evaluated. */
export const expressionLimit = 10_000_000n;
/** Maximum cost of all expressions of a schema. */
const schemaLimit = 100_000_000n;
const largest = 2n ** 64n - 1n;
/** Number of rules named when all of them together cost too much. */
const mostNamed = 4;

/** Maximum number of occurrences of a place; undefined where the schema has no limit. */
export type Cardinality = bigint | undefined;

/** Returns the cardinality inside a place of that schema. */
export function innerCardinality(outer: Cardinality, schema: RuleSchema): Cardinality {
  if (outer === undefined) return undefined;
  if (schema.type === 'array') return bounded(outer, schema.maxItems);
  const isMap = schema.type === 'object' && schema.additionalProperties !== undefined;
  return isMap ? bounded(outer, schema.maxProperties) : outer;
}

function bounded(outer: bigint, limit: unknown): Cardinality {
  if (limit === undefined || limit === null) return undefined;
  return multiply(outer, BigInt(Math.trunc(Math.max(0, Number(limit)))));
}

/** Returns the number of values of a size that fit in a request, separated by commas. */
export function mostOfSize(minSize: number): bigint {
  return BigInt(Math.trunc(maxRequestBytes / (minSize + 1)));
}

export function multiply(a: bigint, b: bigint): bigint {
  const product = a * b;
  return product > largest ? largest : product;
}

export class RuleCosts {
  #total = 0n;
  #dearest: readonly { readonly at: Field; readonly cost: bigint }[] = [];

  get total(): bigint {
    return this.#total;
  }

  add(at: Field, cost: bigint): void {
    const sum = this.#total + cost;
    this.#total = sum > largest ? largest : sum;
    if (cost < schemaLimit / 100n) return;
    const sorted = [...this.#dearest, { at, cost }].sort((a, b) => (a.cost < b.cost ? 1 : a.cost > b.cost ? -1 : 0));
    this.#dearest = sorted.slice(0, mostNamed);
  }

  /** Reports when all rules together cost too much. `at` is the schema. */
  validate(at: Field): void {
    if (this.#total <= schemaLimit) return;
    for (const { at: place } of this.#dearest) {
      place.forbidden('contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema');
    }
    const what = 'x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema';
    at.forbidden(costText(what, this.#total, schemaLimit));
  }
}

export function costText(what: string, cost: bigint, limit: bigint): string {
  const advice =
    'try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared';
  return `${what} exceeds budget by factor of ${factorText(Number(cost) / Number(limit))} (${advice})`;
}

function factorText(factor: number): string {
  if (factor > 100) return 'more than 100x';
  // With one decimal, 1.04 would read as exceeding a budget by a factor of 1.0.
  return factor < 1.5 ? `${factor.toFixed(6)}x` : `${factor.toFixed(1)}x`;
}

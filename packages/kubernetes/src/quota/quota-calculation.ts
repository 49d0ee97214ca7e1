// Counts the usage of a quota by the objects of a namespace from scratch. Called by the control loop resourcequota-controller. Source:
// apiserver pkg/quota/v1 CalculateUsage, pkg/quota/v1/generic CalculateUsageStats.
import type { DeepReadonly, GroupResource, Quantity } from '@kapstan/api';
import { quantityOf, type SlicedWork } from '@kapstan/api/internal';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { runInTurns } from '@kapstan/storage';
import { type Amounts, addAmounts, zero } from './amounts.ts';
import { type MeasuredObject, measuredNames, type QuotaEvaluator } from './quota-evaluator.ts';
import type { QuotaEvaluators } from './quota-evaluators.ts';
import { type ScopeTerm, scopeTermsOf } from './quota-scope.ts';

/** The objects that are counted, as they are stored now. */
export interface CountedObjects<R extends GroupResource> {
  readonly resources: readonly R[];
  count(resource: R): Promise<number>;
  list(resource: R): Promise<readonly MeasuredObject[]>;
}

/** The usage by the objects of a namespace, and the kinds that could not be counted. */
export interface CalculatedUsage {
  /** The usage of each limited resource that some kind of object uses. */
  readonly used: Amounts;
  /** The reasons why some kinds could not be counted; their usage is not in `used`. */
  readonly errors: readonly unknown[];
}

/** Counts the usage of each limited resource by the objects of a namespace. */
export async function calculateUsage<R extends GroupResource>(
  { spec }: DeepReadonly<ResourceQuota>,
  evaluators: QuotaEvaluators,
  objects: CountedObjects<R>,
): Promise<CalculatedUsage> {
  const used = new Map<string, Quantity>();
  const uncounted = new Set<string>();
  const errors: unknown[] = [];
  const scopes = scopeTermsOf(spec ?? {});
  for (const resource of objects.resources) {
    const evaluator = evaluators.of(resource);
    if (evaluator === undefined) continue;
    const names = await runInTurns(measuredNames(evaluator, spec?.hard ?? {}));
    if (names.length === 0) continue;
    try {
      const amounts = await usageOf({ evaluator, resource, names, scopes }, objects);
      await runInTurns(addAmounts(used, amounts));
    } catch (error) {
      errors.push(error);
      for (const name of names) uncounted.add(name);
    }
  }
  for (const name of uncounted) used.delete(name);
  return { used, errors };
}

interface Counted<R> {
  readonly evaluator: QuotaEvaluator;
  readonly resource: R;
  readonly names: readonly string[];
  readonly scopes: readonly ScopeTerm[];
}

/** Returns an amount for each of the names, zero where nothing is used. */
async function usageOf<R extends GroupResource>(
  { evaluator, resource, names, scopes }: Counted<R>,
  objects: CountedObjects<R>,
): Promise<Amounts> {
  const none = new Map(names.map((name) => [name, zero]));
  if (evaluator.matchesScope === undefined && scopes.length > 0) return none;
  if (evaluator.isCount !== true)
    return runInTurns(sumOf(evaluator, { objects: await objects.list(resource), scopes, none }));
  const count = quantityOf(await objects.count(resource));
  return new Map(names.map((name) => [name, count]));
}

/** Number of objects that are measured between two looks at the clock. */
const objectsPerSlice = 20;

function* sumOf(
  evaluator: QuotaEvaluator,
  {
    objects,
    scopes,
    none,
  }: { readonly objects: readonly MeasuredObject[]; readonly scopes: readonly ScopeTerm[]; readonly none: Amounts },
): SlicedWork<Amounts> {
  const totals = new Map(none);
  for (const [at, object] of objects.entries()) {
    if (at % objectsPerSlice === objectsPerSlice - 1) yield;
    if (!scopes.every((term) => evaluator.matchesScope?.(term, object) === true)) continue;
    for (const [name, value] of yield* evaluator.usage(object)) {
      const total = totals.get(name);
      if (total !== undefined) totals.set(name, total.add(value));
    }
  }
  return totals;
}

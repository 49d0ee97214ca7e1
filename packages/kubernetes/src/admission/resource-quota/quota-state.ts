// QuotaState: a stored ResourceQuota in the form in which requests are compared with it. Kept by quota-store.ts.
import type { DeepReadonly, Quantity, Revision } from '@kapstan/api';
import { formatGroupResource, parseRevision, type SlicedWork } from '@kapstan/api/internal';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { measuredNames, type QuotaEvaluator } from '../../quota/quota-evaluator.ts';
import { type ScopeTerm, scopeTermsOf } from '../../quota/quota-scope.ts';
import { amount, type ResourceList } from '../../validation/resource-rules.ts';

/** The names in a quota that one measure concerns. */
export interface MeasuredNames {
  readonly names: readonly string[];
  /** False when some of them has no use yet, because nobody has counted. */
  readonly isCounted: boolean;
}

/** Amounts are parsed when they are first compared: a quota may limit thousands, of which a request uses a few. */
export class QuotaState {
  readonly name: string;
  readonly namespace: string;
  readonly uid: string;
  readonly revision: Revision;
  readonly scopes: readonly ScopeTerm[];
  readonly #hard: ResourceList;
  readonly #used: ResourceList;
  readonly #measured = new Map<string, MeasuredNames>();

  constructor({ metadata, spec, status }: DeepReadonly<ResourceQuota>) {
    this.name = metadata?.name ?? '';
    this.namespace = metadata?.namespace ?? '';
    this.uid = metadata?.uid ?? '';
    this.revision = parseRevision(metadata?.resourceVersion ?? '') ?? (0 as Revision);
    this.scopes = scopeTermsOf(spec ?? {});
    this.#hard = status?.hard ?? {};
    this.#used = status?.used ?? {};
  }

  /** Returns the limit of a resource; undefined when it is not limited. */
  limit(name: string): Quantity | undefined {
    return amountIn(this.#hard, name);
  }

  used(name: string): Quantity | undefined {
    return amountIn(this.#used, name);
  }

  /** Returns which of the limited names a measure concerns. It is kept by the measure's resource. */
  *measured(evaluator: QuotaEvaluator): SlicedWork<MeasuredNames> {
    const key = formatGroupResource(evaluator.resource);
    const known = this.#measured.get(key);
    if (known !== undefined) return known;
    const names = yield* measuredNames(evaluator, this.#hard);
    const measured = { names, isCounted: names.every((name) => Object.hasOwn(this.#used, name)) };
    // Device classes come and go, so the names for claims are not cached.
    if (evaluator.resource.resource !== 'resourceclaims') this.#measured.set(key, measured);
    return measured;
  }
}

function amountIn(list: ResourceList, name: string): Quantity | undefined {
  const text = Object.hasOwn(list, name) ? list[name] : undefined;
  return text === undefined ? undefined : amount(text);
}

// ObjectCount counts the objects of a resource that has no other measure. Made by quota-evaluators.ts. Source: apiserver
// pkg/quota/v1/generic objectCountEvaluator.
import type { GroupResource } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import { type Amounts, one } from './amounts.ts';
import { type MeasuredRequest, objectCountName, type QuotaEvaluator } from './quota-evaluator.ts';

export class ObjectCount implements QuotaEvaluator {
  readonly resource: GroupResource;
  readonly isCount = true;
  readonly #amounts: Amounts;

  /** `alias` is an older name for the same count: "secrets". */
  constructor(resource: GroupResource, alias?: string) {
    this.resource = resource;
    const names = [objectCountName(resource), ...(alias === undefined ? [] : [alias])];
    this.#amounts = new Map(names.map((name) => [name, one]));
  }

  handles({ operation, subresource }: MeasuredRequest): boolean {
    return operation === 'CREATE' && subresource === '';
  }

  measures(name: string): boolean {
    return this.#amounts.has(name);
  }

  // biome-ignore lint/correctness/useYield: counting is done at once, measuring other kinds is not.
  *usage(): SlicedWork<Amounts> {
    return this.#amounts;
  }
}

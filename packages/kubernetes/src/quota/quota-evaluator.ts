// QuotaEvaluator measures the usage by the objects of one resource. quota-evaluators.ts finds the evaluator for a resource; admission and
// the control loop use it. Source: apiserver pkg/quota/v1/interfaces.go.
import type { DeepReadonly, GroupResource, KubernetesObject } from '@kapstan/api';
import { membersPerSlice, type SlicedWork } from '@kapstan/api/internal';
import type { AdmissionAttributes } from '@kapstan/apiserver';
import type { Amounts } from './amounts.ts';
import type { ScopeTerm } from './quota-scope.ts';

export type MeasuredObject = DeepReadonly<KubernetesObject>;
export type MeasuredRequest = Pick<AdmissionAttributes, 'operation' | 'subresource' | 'object' | 'oldObject'>;

/** Measures the usage of a quota by the objects of a kind. */
export interface QuotaEvaluator {
  readonly resource: GroupResource;
  /** True when each object uses 1 of everything that is measured, whatever it is. Absent = false. */
  readonly isCount?: boolean;
  /** Returns true for a request that may change the usage. */
  handles(request: MeasuredRequest): boolean;
  /** Returns true for the name of a resource that its objects use. */
  measures(name: string): boolean;
  /** Returns whether an object is in a scope. Absent = quotas with scopes measure none of its objects. */
  matchesScope?(term: ScopeTerm, object: MeasuredObject): boolean;
  /** Returns an error that names the required amounts that the object does not set ("must specify …"). Absent = none is required. */
  missingAmounts?(names: readonly string[], object: MeasuredObject): SlicedWork<string | undefined>;
  usage(object: MeasuredObject): SlicedWork<Amounts>;
  /** Returns true for a change after which less may be used. Absent = only a deletion gives something back. */
  mayRelease?(old: MeasuredObject, next: MeasuredObject): boolean;
}

/** Returns the names that a measure concerns. */
export function* measuredNames(
  evaluator: QuotaEvaluator,
  names: Readonly<Record<string, unknown>>,
): SlicedWork<string[]> {
  const measured: string[] = [];
  let at = 0;
  for (const name in names) {
    if (Object.hasOwn(names, name) && evaluator.measures(name)) measured.push(name);
    at++;
    if (at % membersPerSlice === 0) yield;
  }
  return measured;
}

/** Returns "count/deployments.apps", the name under which any quota may count objects. */
export function objectCountName({ group, resource }: GroupResource): string {
  return group === '' ? `count/${resource}` : `count/${resource}.${group}`;
}

// The scopes of a quota: which objects it measures. Used by the evaluators. Source: apiserver
// pkg/quota/v1/generic getScopeSelectorsFromQuota, pkg/apis/core/v1/helper ScopedResourceSelectorRequirementsAsSelector.
import type { DeepReadonly } from '@kapstan/api';
import type { ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '@kapstan/kinds/core/v1';

/** One condition on the objects that a quota measures. */
export type ScopeTerm = DeepReadonly<ScopedResourceSelectorRequirement>;

/** Returns the terms that an object must match, all of them. */
export function scopeTermsOf({ scopes = [], scopeSelector }: DeepReadonly<ResourceQuotaSpec>): readonly ScopeTerm[] {
  const plain = scopes.map((scopeName): ScopeTerm => ({ scopeName, operator: 'Exists' }));
  return [...plain, ...(scopeSelector?.matchExpressions ?? [])];
}

/** Returns whether a term accepts an object with one of these names; an object without any has no name to be listed. */
export function acceptsNames({ operator, values = [] }: ScopeTerm, names: readonly string[]): boolean {
  switch (operator) {
    case 'Exists':
      return names.length > 0;
    case 'DoesNotExist':
      return names.length === 0;
    case 'In':
      return names.some((name) => values.includes(name));
    case 'NotIn':
      return names.length === 0 || names.some((name) => !values.includes(name));
    default:
      return false;
  }
}

/** Returns the text of a term as Go prints it: "{PriorityClass In [high]}". */
export function formatScopeTerm({ scopeName, operator, values = [] }: ScopeTerm): string {
  return `{${scopeName} ${operator} [${values.join(' ')}]}`;
}

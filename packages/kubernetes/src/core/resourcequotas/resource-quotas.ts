// Resource quotas. Source: pkg/apis/core/validation ValidateResourceQuotaSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { internalForm } from '../../validation/internal-form.ts';
import { isQuotaHugePages, validateResourceAmount, validateResourceName } from '../../validation/resource-rules.ts';

export const resourceQuotas: BuiltinKind<ResourceQuota> = {
  id: 'v1/resourcequotas',
  returnsDeletedObject: true,
  validate: (root, { spec }) => {
    const at = root.child('spec');
    at.child('hard').eachKey(spec?.hard, (name, value, place) => {
      validateQuotaResource(place, name);
      validateResourceAmount(place, name, value);
    });
    validateScopes(at.child('scopes'), spec ?? {});
    validateScopeSelector(at.child('scopeSelector', 'matchExpressions'), spec ?? {});
  },
  validateChange: (root, next, old) => {
    const at = root.child('spec', 'scopes');
    if (!jsonEqual(sorted(next.spec?.scopes), sorted(old.spec?.scopes)))
      at.invalid(next.spec?.scopes ?? null, 'field is immutable');
  },
  status: {
    validate: (root, { status }) => {
      for (const name of ['hard', 'used'] as const) {
        root.child('status', name).eachKey(status?.[name], (resource, value, place) => {
          validateQuotaResource(place, resource);
          validateResourceAmount(place, resource, value);
        });
      }
    },
  },
};

const sorted = (scopes: readonly string[] | undefined): string[] => [...new Set(scopes)].sort();

const computeResources = ['cpu', 'memory', 'ephemeral-storage'];
const quotaResources: ReadonlySet<string> = new Set([
  ...computeResources,
  ...computeResources.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  'requests.storage',
  'pods',
  'resourcequotas',
  'services',
  'replicationcontrollers',
  'secrets',
  'persistentvolumeclaims',
  'configmaps',
  'services.nodeports',
  'services.loadbalancers',
]);

/** Source: ValidateResourceQuotaResourceName. */
function validateQuotaResource(at: Field, name: string): void {
  validateResourceName(at, name);
  if (!name.includes('/') && !quotaResources.has(name) && !isQuotaHugePages(name))
    at.invalid(name, 'must be a standard resource for quota');
}

const podScopes: ReadonlySet<string> = new Set([
  'Terminating',
  'NotTerminating',
  'BestEffort',
  'NotBestEffort',
  'PriorityClass',
  'CrossNamespacePodAffinity',
]);
const standardScopes: ReadonlySet<string> = new Set([...podScopes, 'VolumeAttributesClass']);
const conflicts = [
  ['BestEffort', 'NotBestEffort'],
  ['Terminating', 'NotTerminating'],
];

/** True for resources that the scope can restrict. Source: IsResourceQuotaScopeValidForResource. */
function isValidFor(scope: string, resource: string): boolean {
  if (!quotaResources.has(resource)) return !isQuotaHugePages(resource) || !standardScopes.has(scope);
  if (scope === 'BestEffort') return resource === 'pods';
  if (podScopes.has(scope)) return resource === 'pods' || /^((requests|limits)\.)?(cpu|memory)$/.test(resource);
  if (scope === 'VolumeAttributesClass')
    return resource === 'persistentvolumeclaims' || resource === 'requests.storage';
  return true;
}

function validateScopes(at: Field, { scopes, hard }: DeepReadonly<ResourceQuotaSpec>): void {
  if (scopes === undefined) return;
  for (const scope of scopes) {
    if (!standardScopes.has(scope)) at.invalid(scopes, 'unsupported scope');
    for (const resource of Object.keys(hard ?? {})) {
      if (!isValidFor(scope, resource)) at.invalid(scopes, 'unsupported scope applied to resource');
    }
  }
  for (const pair of conflicts)
    if (pair.every((scope) => (scopes as readonly string[]).includes(scope))) at.invalid(scopes, 'conflicting scopes');
}

/** Scopes without values: they are set or not. */
const plainScopes: ReadonlySet<string> = new Set([...podScopes].filter((scope) => scope !== 'PriorityClass'));

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function validateScopeSelector(at: Field, { scopeSelector, scopes, hard }: DeepReadonly<ResourceQuotaSpec>): void {
  for (const term of scopeSelector?.matchExpressions ?? []) {
    if (!standardScopes.has(term.scopeName)) at.child('scopeName').invalid(term.scopeName, 'unsupported scope');
    for (const resource of Object.keys(hard ?? {})) {
      if (!isValidFor(term.scopeName, resource))
        at.invalid(internalForm('core.ScopeSelector', scopeSelector), 'unsupported scope applied to resource');
    }
    validateScopeTerm(at, term);
  }
  const named = (scopeSelector?.matchExpressions ?? []).map((term) => term.scopeName as string);
  // Kubernetes shows the plain scopes in this error.
  for (const pair of conflicts)
    if (pair.every((scope) => named.includes(scope))) at.invalid(scopes ?? null, 'conflicting scopes');
}

function validateScopeTerm(
  at: Field,
  { scopeName, operator, values }: DeepReadonly<ScopedResourceSelectorRequirement>,
): void {
  if (plainScopes.has(scopeName) && operator !== 'Exists') {
    at.child('operator').invalid(
      operator,
      "must be 'Exists' when scope is any of ResourceQuotaScopeTerminating, ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, ResourceQuotaScopeNotBestEffort or ResourceQuotaScopeCrossNamespacePodAffinity",
    );
  }
  const hasValues = (values?.length ?? 0) > 0;
  if (!operators.includes(operator)) return at.child('operator').invalid(operator, 'not a valid selector operator');
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (needsValues && !hasValues) {
    at.child('values').required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (!needsValues && hasValues) {
    at.child('values').invalid(
      values,
      "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
    );
  }
}

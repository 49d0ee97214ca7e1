// Resource quotas. Source: pkg/apis/core/validation ValidateResourceQuotaSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { ResourceQuota, ResourceQuotaSpec, ScopedResourceSelectorRequirement } from '@kapstan/kinds/core/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import { jsonEqual } from '../../json-equality.ts';
import type { Field } from '../../validation/field.ts';
import { validateResourceAmount, validateResourceName } from '../../validation/resource-rules.ts';

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

const sorted = (scopes: readonly string[] | undefined): string[] => [...(scopes ?? [])].sort();

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
  const isHugePages = name.startsWith('hugepages-') || name.startsWith('requests.hugepages-');
  if (!name.includes('/') && !quotaResources.has(name) && !isHugePages)
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

/** Which resources a scope can narrow. Source: IsResourceQuotaScopeValidForResource. */
function isValidFor(scope: string, resource: string): boolean {
  if (scope === 'BestEffort') return resource === 'pods';
  if (podScopes.has(scope))
    return resource === 'pods' || /^((requests|limits)\.)?(cpu|memory|ephemeral-storage)$/.test(resource);
  return true;
}

function validateScopes(at: Field, { scopes, hard }: DeepReadonly<ResourceQuotaSpec>): void {
  if (scopes === undefined) return;
  for (const scope of new Set(scopes)) {
    if (!standardScopes.has(scope)) at.invalid(scopes, 'unsupported scope');
    for (const resource of Object.keys(hard ?? {})) {
      if (standardScopes.has(scope) && !isValidFor(scope, resource))
        at.invalid(scopes, 'unsupported scope applied to resource');
    }
  }
  for (const pair of conflicts)
    if (pair.every((scope) => (scopes as readonly string[]).includes(scope))) at.invalid(scopes, 'conflicting scopes');
}

const operators = ['In', 'NotIn', 'Exists', 'DoesNotExist'];

function validateScopeSelector(at: Field, { scopeSelector, hard }: DeepReadonly<ResourceQuotaSpec>): void {
  for (const term of scopeSelector?.matchExpressions ?? []) {
    if (!standardScopes.has(term.scopeName)) at.child('scopeName').invalid(term.scopeName, 'unsupported scope');
    for (const resource of Object.keys(hard ?? {})) {
      if (!isValidFor(term.scopeName, resource)) at.invalid(scopeSelector, 'unsupported scope applied to resource');
    }
    validateScopeTerm(at, term);
  }
}

function validateScopeTerm(at: Field, { operator, values }: DeepReadonly<ScopedResourceSelectorRequirement>): void {
  const hasValues = (values?.length ?? 0) > 0;
  if (!operators.includes(operator)) return at.child('operator').invalid(operator, 'not a valid selector operator');
  const needsValues = operator === 'In' || operator === 'NotIn';
  if (needsValues && !hasValues) {
    at.child('values').required("must be at least one value when `operator` is 'In' or 'NotIn' for scope selector");
  } else if (!needsValues && hasValues) {
    at.child('values').invalid(
      values,
      "must be no value when `operator` is 'Exists' or 'DoesNotExist' for scope selector",
    );
  }
}

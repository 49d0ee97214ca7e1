// Rules and bindings of RBAC. Source: pkg/apis/rbac/validation, pkg/apis/rbac/v1/defaults.go.
import type { DeepReadonly } from '@kapstan/api';
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual, pathSegmentErrors } from '@kapstan/apiserver/internal';
import type { PolicyRule, RoleBinding, RoleRef, Subject } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';

const group = 'rbac.authorization.k8s.io';

export function validateRules(
  at: Field,
  rules: readonly DeepReadonly<PolicyRule>[] | undefined,
  scope: 'Namespaced' | 'Cluster',
): void {
  at.each(rules, (rule, place) => validateResourceRule(place, rule, scope));
}

/** Source: ValidatePolicyRule. */
function validateResourceRule(at: Field, rule: DeepReadonly<PolicyRule>, scope: 'Namespaced' | 'Cluster'): void {
  if ((rule.verbs?.length ?? 0) === 0) at.child('verbs').required('verbs must contain at least one value');
  const urls = rule.nonResourceURLs ?? [];
  if (urls.length > 0) {
    const place = at.child('nonResourceURLs');
    if (scope === 'Namespaced') place.invalid(urls, 'namespaced rules cannot apply to non-resource URLs');
    const hasResources = [rule.apiGroups, rule.resources, rule.resourceNames].some((list) => (list?.length ?? 0) > 0);
    if (hasResources) place.invalid(urls, 'rules cannot apply to both regular resources and non-resource URLs');
    return;
  }
  if ((rule.apiGroups?.length ?? 0) === 0)
    at.child('apiGroups').required('resource rules must supply at least one api group');
  if ((rule.resources?.length ?? 0) === 0)
    at.child('resources').required('resource rules must supply at least one resource');
}

/** Source: SetDefaults_RoleBinding, SetDefaults_Subject. */
export function setBindingDefaults(binding: RoleBinding): void {
  binding.roleRef = { ...binding.roleRef, apiGroup: binding.roleRef?.apiGroup || group };
  for (const subject of binding.subjects ?? []) {
    if (!subject.apiGroup && (subject.kind === 'User' || subject.kind === 'Group')) subject.apiGroup = group;
  }
}

/** Source: ValidateRoleBinding, ValidateClusterRoleBinding. */
export function validateRoleBinding(
  root: Field,
  binding: DeepReadonly<RoleBinding>,
  roleKinds: readonly string[],
): void {
  const { roleRef } = binding;
  const at = root.child('roleRef');
  at.child('apiGroup').oneOf(roleRef.apiGroup, [group]);
  at.child('kind').oneOf(roleRef.kind, roleKinds);
  if (!roleRef.name) at.child('name').required();
  else at.child('name').invalidAll(roleRef.name, pathSegmentErrors(roleRef.name));
  const isNamespaced = roleKinds.length > 1;
  root.child('subjects').each(binding.subjects, (subject, place) => validateSubject(place, subject, isNamespaced));
}

function validateSubject(at: Field, subject: DeepReadonly<Subject>, isNamespaced: boolean): void {
  if (!subject.name) at.child('name').required();
  switch (subject.kind) {
    case 'ServiceAccount':
      if (subject.name) at.child('name').invalidAll(subject.name, dnsSubdomainErrors(subject.name));
      if (subject.apiGroup) at.child('apiGroup').notSupported(subject.apiGroup, ['']);
      if (!isNamespaced && !subject.namespace) at.child('namespace').required();
      return;
    case 'User':
    case 'Group':
      return at.child('apiGroup').oneOf(subject.apiGroup, [group]);
    default:
      at.child('kind').notSupported(subject.kind, ['ServiceAccount', 'User', 'Group']);
  }
}

/** A binding cannot change its role. */
export function validateRoleRefUnchanged(root: Field, next: RoleRef, old: RoleRef): void {
  if (jsonEqual(next, old)) return;
  root.child('roleRef').invalid({ APIGroup: next.apiGroup, Kind: next.kind, Name: next.name }, 'cannot change roleRef');
}

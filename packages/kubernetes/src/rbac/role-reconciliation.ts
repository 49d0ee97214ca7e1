// Adds the labels, annotations, rules and subjects that a server expects to an existing role or binding; additions by
// others are kept. Source: component-helpers auth/rbac/reconciliation.
import { type DeepReadonly, deepCopy, type KubernetesObject } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { uncoveredRules } from './rule-coverage.ts';

type AnyRole = ClusterRole | Role;
type AnyBinding = ClusterRoleBinding | RoleBinding;

/** Annotation whose value "false" keeps servers from changing the object. */
const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';

/** Returns the role to write; undefined when nothing is missing or servers must not change it. */
export function reconciledRole<T extends AnyRole>(present: DeepReadonly<T>, expected: DeepReadonly<T>): T | undefined {
  if (isProtected(present) || isReconciledRole(present, expected)) return undefined;
  const next = withExpectedMetadata(present, expected);
  const rules = present.rules ?? [];
  // Usually nothing has changed, and that is cheaper to detect than which rules cover which.
  const missing = jsonEqual(rules, expected.rules) ? [] : uncoveredRules(rules, expected.rules ?? []);
  if (missing.length > 0) next.rules = [...(next.rules ?? []), ...(deepCopy(missing) as NonNullable<T['rules']>)];
  reconcileAggregation(next as ClusterRole, expected as DeepReadonly<ClusterRole>);
  return jsonEqual(next, present) ? undefined : next;
}

/** Does what {@link reconciledRole} does for bindings; 'recreate' when the role differs, which cannot be changed. */
export function reconciledBinding<T extends AnyBinding>(
  present: DeepReadonly<T>,
  expected: DeepReadonly<T>,
): T | 'recreate' | undefined {
  if (isProtected(present)) return undefined;
  if (!jsonEqual(present.roleRef, expected.roleRef)) return 'recreate';
  if (hasMetadataOf(expected, present) && jsonEqual(present.subjects, expected.subjects)) return undefined;
  const next = withExpectedMetadata(present, expected);
  const missing = (expected.subjects ?? []).filter(
    (subject) => !present.subjects?.some((each) => jsonEqual(each, subject)),
  );
  if (missing.length > 0) next.subjects = [...(next.subjects ?? []), ...deepCopy(missing)];
  return jsonEqual(next, present) ? undefined : next;
}

function isProtected({ metadata }: DeepReadonly<KubernetesObject>): boolean {
  return metadata?.annotations?.[autoUpdate] === 'false';
}

/** Returns true for the usual role at a start: nothing is missing, which is cheaper to see without a copy. */
function isReconciledRole<T extends AnyRole>(present: DeepReadonly<T>, expected: DeepReadonly<T>): boolean {
  const [{ aggregationRule: own }, { aggregationRule: wanted }] = [present as ClusterRole, expected as ClusterRole];
  return hasMetadataOf(expected, present) && jsonEqual(present.rules, expected.rules) && jsonEqual(own, wanted);
}

/** True when the present object has every expected label and annotation, with whatever value. */
function hasMetadataOf(expected: DeepReadonly<KubernetesObject>, present: DeepReadonly<KubernetesObject>): boolean {
  return (['labels', 'annotations'] as const).every((part) => {
    const own = present.metadata?.[part] ?? {};
    return Object.keys(expected.metadata?.[part] ?? {}).every((key) => Object.hasOwn(own, key));
  });
}

/** If both have a label or annotation, the present value is kept. */
function withExpectedMetadata<T extends KubernetesObject>(present: DeepReadonly<T>, expected: DeepReadonly<T>): T {
  const next = deepCopy(present) as T;
  const { labels, annotations } = expected.metadata ?? {};
  next.metadata = {
    ...next.metadata,
    ...(labels !== undefined && { labels: { ...labels, ...next.metadata?.labels } }),
    ...(annotations !== undefined && { annotations: { ...annotations, ...next.metadata?.annotations } }),
  };
  return next;
}

/** Drops the aggregation of a role that should have none; adds missing selectors. */
function reconcileAggregation(next: ClusterRole, expected: DeepReadonly<ClusterRole>): void {
  const wanted = expected.aggregationRule;
  if (wanted === undefined) {
    delete next.aggregationRule;
    return;
  }
  const present = next.aggregationRule?.clusterRoleSelectors ?? [];
  const missing = (wanted.clusterRoleSelectors ?? []).filter(
    (each) => !present.some((other) => jsonEqual(other, each)),
  );
  const selectors = [...present, ...(deepCopy(missing) as typeof present)];
  next.aggregationRule = { ...next.aggregationRule, clusterRoleSelectors: selectors };
}

// What brings a role or a binding that is there in line with what a server expects of it: labels, annotations, rules and
// subjects that are missing are added, what others added stays. Source: component-helpers auth/rbac/reconciliation.
import { type DeepReadonly, deepCopy, type KubernetesObject } from '@kapstan/api';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { ClusterRole, ClusterRoleBinding, Role, RoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { uncoveredRules } from './rule-coverage.ts';

type AnyRole = ClusterRole | Role;
type AnyBinding = ClusterRoleBinding | RoleBinding;

/** Of an object whose owner wants no server to touch it: "false". */
const autoUpdate = 'rbac.authorization.kubernetes.io/autoupdate';

/** The role as it has to be written; undefined when nothing is missing, or its owner does not want it touched. */
export function reconciledRole<T extends AnyRole>(present: DeepReadonly<T>, expected: DeepReadonly<T>): T | undefined {
  if (isProtected(present)) return undefined;
  const next = withExpectedMetadata(present, expected);
  const rules = present.rules ?? [];
  // Mostly nothing has changed, which is quicker to see than what covers what.
  const missing = jsonEqual(rules, expected.rules) ? [] : uncoveredRules(rules, expected.rules ?? []);
  if (missing.length > 0) next.rules = [...(next.rules ?? []), ...(deepCopy(missing) as NonNullable<T['rules']>)];
  reconcileAggregation(next as ClusterRole, expected as DeepReadonly<ClusterRole>);
  return jsonEqual(next, present) ? undefined : next;
}

/** As {@link reconciledRole}; 'recreate' where it is of another role: that cannot be changed. */
export function reconciledBinding<T extends AnyBinding>(
  present: DeepReadonly<T>,
  expected: DeepReadonly<T>,
): T | 'recreate' | undefined {
  if (isProtected(present)) return undefined;
  if (!jsonEqual(present.roleRef, expected.roleRef)) return 'recreate';
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

/** Where both have a label or annotation, the present value stays. */
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

/** A role that is not to be gathered from others stops being so; selectors that are missing are added. */
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

// clusterrole-aggregation-controller: gives cluster roles with an aggregationRule the rules of those that it selects.
// Source: pkg/controller/clusterroleaggregation.
import { isDeepStrictEqual } from 'node:util';
import { type DeepReadonly, deepCopy, labelSelectorFrom } from '@kapstan/api';
import type { Lister } from '@kapstan/informers';
import { ClusterRole, type PolicyRule } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { type ControlLoop, loopQueue, runQueue, settledBefore } from './control-loop.ts';

const workers = 5;
const fieldManager = 'clusterrole-aggregation-controller';

export const clusterRoleAggregationController: ControlLoop = async (context, signal) => {
  const { client } = context;
  const informer = context.informers.informer(ClusterRole);
  const { lister } = informer;
  const queue = loopQueue(context, { name: 'ClusterRoleAggregator', signal });
  // Cluster roles are few, and we cannot tell which of them select a changed role, so all are checked.
  const addAll = (): void => {
    for (const role of lister.list()) if (role.aggregationRule !== undefined) queue.add(role.metadata?.name ?? '');
  };
  const registration = informer.addEventHandler({ onAdd: addAll, onUpdate: addAll, onDelete: addAll });
  const reconcile = async ({ name }: { readonly name: string }): Promise<undefined> => {
    const role = lister.find(name);
    if (role?.aggregationRule === undefined) return;
    const rules = gatheredRules(role, lister);
    if (isDeepStrictEqual(rules, role.rules ?? [])) return;
    const head = { apiVersion: 'rbac.authorization.k8s.io/v1', kind: 'ClusterRole', metadata: { name } };
    const object = { ...head, rules: deepCopy(rules) as PolicyRule[] };
    await client.apply(ClusterRole, object, { fieldManager, force: true, signal });
  };
  try {
    if (!(await settledBefore(registration.whenSynced(), signal))) return;
    context.onSynced();
    await runQueue(context, { queue, reconcile, workers }, signal);
  } finally {
    await registration.close();
  }
};

/** Gathers rules selector by selector, the roles of each sorted by name; equal rules appear once. */
function gatheredRules(
  role: DeepReadonly<ClusterRole>,
  lister: Lister<ClusterRole>,
): readonly DeepReadonly<PolicyRule>[] {
  const gathered: DeepReadonly<PolicyRule>[] = [];
  for (const selector of role.aggregationRule?.clusterRoleSelectors ?? []) {
    const selected = lister.list(labelSelectorFrom(selector)).filter((each) => nameOf(each) !== nameOf(role));
    for (const { rules } of [...selected].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1))) {
      for (const rule of rules ?? []) {
        if (!gathered.some((known) => isDeepStrictEqual(known, rule))) gathered.push(rule);
      }
    }
  }
  return gathered;
}

function nameOf({ metadata }: DeepReadonly<ClusterRole>): string {
  return metadata?.name ?? '';
}

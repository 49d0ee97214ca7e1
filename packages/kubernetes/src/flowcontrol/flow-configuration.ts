// Turns flow schemas and priority levels into the configuration of the API server's flow control. Used by flow-control-objects.ts. Source:
// apf_controller.go digestNewPLsLocked, queueSetCompleterForPL.
import type { DeepReadonly } from '@kapstan/api';
import type { FlowRule, FlowSubject, PriorityLevelConfig, FlowSchema as ServedSchema } from '@kapstan/apiserver';
import type {
  FlowSchema,
  PolicyRulesWithSubjects,
  PriorityLevelConfiguration,
  Subject,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';

/** Returns undefined for a level whose parts contradict each other, which then counts as absent. */
export function readLevel({
  metadata,
  spec,
}: DeepReadonly<PriorityLevelConfiguration>): PriorityLevelConfig | undefined {
  const name = metadata?.name ?? '';
  const isExempt = spec?.type === 'Exempt';
  const { exempt, limited } = spec ?? {};
  if (isExempt !== (name === 'exempt') || isExempt !== (exempt !== undefined) || isExempt === (limited !== undefined))
    return undefined;
  const queuing = isExempt ? 'unlimited' : readQueuing(limited?.limitResponse);
  if (queuing === undefined) return undefined;
  const part = exempt ?? limited;
  return {
    name,
    uid: metadata?.uid ?? '',
    shares: part?.nominalConcurrencyShares ?? 0,
    lendablePercent: part?.lendablePercent ?? 0,
    borrowingLimitPercent: limited?.borrowingLimitPercent,
    queuing,
  };
}

type LimitResponse = NonNullable<
  NonNullable<DeepReadonly<PriorityLevelConfiguration>['spec']>['limited']
>['limitResponse'];

function readQueuing(response: LimitResponse): PriorityLevelConfig['queuing'] | undefined {
  const queuing = response?.queuing;
  if ((response?.type === 'Reject') !== (queuing === undefined)) return undefined;
  if (queuing === undefined) return 'none';
  const { queues = 0, handSize = 0, queueLengthLimit = 0 } = queuing;
  return { queues, handSize, queueLengthLimit };
}

const distinguishers = { ByUser: 'user', ByNamespace: 'namespace' } as const;

export function readSchema({ metadata, spec }: DeepReadonly<FlowSchema>): ServedSchema {
  const method = spec?.distinguisherMethod?.type;
  return {
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    precedence: spec?.matchingPrecedence ?? 0,
    levelName: spec?.priorityLevelConfiguration?.name ?? '',
    distinguisher: method === 'ByUser' || method === 'ByNamespace' ? distinguishers[method] : 'none',
    rules: (spec?.rules ?? []).map(readRule),
  };
}

function readRule(rule: DeepReadonly<PolicyRulesWithSubjects>): FlowRule {
  return {
    subjects: (rule.subjects ?? []).flatMap(readSubject),
    resourceRules: (rule.resourceRules ?? []).map((each) => ({
      verbs: each.verbs ?? [],
      groups: each.apiGroups ?? [],
      resources: each.resources ?? [],
      namespaces: each.namespaces ?? [],
      clusterScope: each.clusterScope ?? false,
    })),
    pathRules: (rule.nonResourceRules ?? []).map((each) => ({
      verbs: each.verbs ?? [],
      paths: each.nonResourceURLs ?? [],
    })),
  };
}

/** Returns nothing for a subject whose parts contradict each other. */
function readSubject({ kind, user, group, serviceAccount }: DeepReadonly<Subject>): readonly FlowSubject[] {
  if (kind === 'User' && user !== undefined) return [{ type: 'user', name: user.name }];
  if (kind === 'Group' && group !== undefined) return [{ type: 'group', name: group.name }];
  if (kind === 'ServiceAccount' && serviceAccount !== undefined) return [{ type: 'serviceAccount', ...serviceAccount }];
  return [];
}

// The specs of flow schemas and priority levels as Kubernetes' errors show them: with the names and the order of its internal types, absent
// parts as null. Used by mandatory-specs.ts. Source: pkg/apis/flowcontrol/types.go.
import type { DeepReadonly } from '@kapstan/api';
import type {
  FlowSchemaSpec,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';

export function internalSchemaSpec(spec: DeepReadonly<FlowSchemaSpec> | undefined): object {
  const method = spec?.distinguisherMethod;
  return {
    PriorityLevelConfiguration: { Name: spec?.priorityLevelConfiguration?.name ?? '' },
    MatchingPrecedence: spec?.matchingPrecedence ?? 0,
    DistinguisherMethod: method === undefined ? null : { Type: method.type },
    Rules: spec?.rules?.map(internalRule) ?? null,
  };
}

function internalRule({ subjects, resourceRules, nonResourceRules }: DeepReadonly<PolicyRulesWithSubjects>): object {
  return {
    Subjects:
      subjects?.map(({ kind, user, group, serviceAccount }) => ({
        Kind: kind,
        User: user === undefined ? null : { Name: user.name },
        Group: group === undefined ? null : { Name: group.name },
        ServiceAccount:
          serviceAccount === undefined ? null : { Namespace: serviceAccount.namespace, Name: serviceAccount.name },
      })) ?? null,
    ResourceRules:
      resourceRules?.map(({ verbs, apiGroups, resources, clusterScope, namespaces }) => ({
        Verbs: verbs ?? null,
        APIGroups: apiGroups ?? null,
        Resources: resources ?? null,
        ClusterScope: clusterScope ?? false,
        Namespaces: namespaces ?? null,
      })) ?? null,
    NonResourceRules:
      nonResourceRules?.map(({ verbs, nonResourceURLs }) => ({
        Verbs: verbs ?? null,
        NonResourceURLs: nonResourceURLs ?? null,
      })) ?? null,
  };
}

export function internalLevelSpec({
  type,
  limited,
  exempt,
}: Partial<DeepReadonly<PriorityLevelConfigurationSpec>>): object {
  return {
    Type: type ?? '',
    Limited:
      limited === undefined
        ? null
        : {
            NominalConcurrencyShares: limited.nominalConcurrencyShares ?? 0,
            LimitResponse: internalResponse(limited.limitResponse),
            LendablePercent: limited.lendablePercent ?? null,
            BorrowingLimitPercent: limited.borrowingLimitPercent ?? null,
          },
    Exempt:
      exempt === undefined
        ? null
        : {
            NominalConcurrencyShares: exempt.nominalConcurrencyShares ?? null,
            LendablePercent: exempt.lendablePercent ?? null,
          },
  };
}

type Response = NonNullable<DeepReadonly<PriorityLevelConfigurationSpec>['limited']>['limitResponse'];

function internalResponse(response: Response): object {
  const queuing = response?.queuing;
  return {
    Type: response?.type ?? '',
    Queuing:
      queuing === undefined
        ? null
        : {
            Queues: queuing.queues ?? 0,
            HandSize: queuing.handSize ?? 0,
            QueueLengthLimit: queuing.queueLengthLimit ?? 0,
          },
  };
}

// The flow schemas and priority levels that a server keeps in its store. The mandatory ones always have these specs; the suggested ones may
// be changed, and are created again after a deletion. Used by configuration-ensurer.ts and mandatory-specs.ts. Source: Kubernetes 1.36,
// apiserver pkg/apis/flowcontrol/bootstrap.
import type {
  FlowSchemaSpec,
  NonResourcePolicyRule,
  PolicyRulesWithSubjects,
  PriorityLevelConfigurationSpec,
  ResourcePolicyRule,
  Subject,
} from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';

export interface BootstrapObject<S> {
  readonly metadata: { readonly name: string };
  readonly spec: S;
}

const all = ['*'];
const everyResource: ResourcePolicyRule = {
  verbs: all,
  apiGroups: all,
  resources: all,
  clusterScope: true,
  namespaces: all,
};
const everyPath: NonResourcePolicyRule = { verbs: all, nonResourceURLs: all };

const groups = (...names: readonly string[]): Subject[] => names.map((name) => ({ kind: 'Group', group: { name } }));
const users = (...names: readonly string[]): Subject[] => names.map((name) => ({ kind: 'User', user: { name } }));
const systemAccounts: Subject[] = [{ kind: 'ServiceAccount', serviceAccount: { namespace: 'kube-system', name: '*' } }];
const everybody = groups('system:unauthenticated', 'system:authenticated');

const everything = (subjects: Subject[]): PolicyRulesWithSubjects => ({
  subjects,
  resourceRules: [everyResource],
  nonResourceRules: [everyPath],
});

interface SchemaFacts {
  readonly level: string;
  readonly precedence: number;
  readonly by?: 'ByUser' | 'ByNamespace';
  readonly rule: PolicyRulesWithSubjects;
}

function schema(name: string, { level, precedence, by, rule }: SchemaFacts): BootstrapObject<FlowSchemaSpec> {
  const spec: FlowSchemaSpec = {
    priorityLevelConfiguration: { name: level },
    matchingPrecedence: precedence,
    rules: [rule],
  };
  if (by !== undefined) spec.distinguisherMethod = { type: by };
  return { metadata: { name }, spec };
}

interface QueuedLevel {
  readonly shares: number;
  readonly lendablePercent: number;
  readonly queues: number;
  readonly handSize: number;
}

function level(
  name: string,
  { shares, lendablePercent, queues, handSize }: QueuedLevel,
): BootstrapObject<PriorityLevelConfigurationSpec> {
  const queuing = { queues, handSize, queueLengthLimit: 50 };
  const limited = {
    nominalConcurrencyShares: shares,
    lendablePercent,
    limitResponse: { type: 'Queue', queuing },
  };
  return { metadata: { name }, spec: { type: 'Limited', limited } };
}

const exemptLevel: BootstrapObject<PriorityLevelConfigurationSpec> = {
  metadata: { name: 'exempt' },
  spec: { type: 'Exempt', exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } },
};

export const catchAllLevel: BootstrapObject<PriorityLevelConfigurationSpec> = {
  metadata: { name: 'catch-all' },
  spec: {
    type: 'Limited',
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
  },
};

export const mandatoryLevels: readonly BootstrapObject<PriorityLevelConfigurationSpec>[] = [catchAllLevel, exemptLevel];

export const mandatorySchemas: readonly BootstrapObject<FlowSchemaSpec>[] = [
  schema('exempt', { level: 'exempt', precedence: 1, rule: everything(groups('system:masters')) }),
  schema('catch-all', { level: 'catch-all', precedence: 10_000, by: 'ByUser', rule: everything(everybody) }),
];

export const suggestedLevels: readonly BootstrapObject<PriorityLevelConfigurationSpec>[] = [
  level('system', { shares: 30, lendablePercent: 33, queues: 64, handSize: 6 }),
  level('node-high', { shares: 40, lendablePercent: 25, queues: 64, handSize: 6 }),
  level('leader-election', { shares: 10, lendablePercent: 0, queues: 16, handSize: 4 }),
  level('workload-high', { shares: 40, lendablePercent: 50, queues: 128, handSize: 6 }),
  level('workload-low', { shares: 100, lendablePercent: 90, queues: 128, handSize: 6 }),
  level('global-default', { shares: 20, lendablePercent: 50, queues: 128, handSize: 6 }),
];

const leases: ResourcePolicyRule = {
  verbs: all,
  apiGroups: ['coordination.k8s.io'],
  resources: ['leases'],
  namespaces: all,
};

export const suggestedSchemas: readonly BootstrapObject<FlowSchemaSpec>[] = [
  schema('system-nodes', {
    level: 'system',
    precedence: 500,
    by: 'ByUser',
    rule: everything(groups('system:nodes')),
  }),
  schema('system-node-high', {
    level: 'node-high',
    precedence: 400,
    by: 'ByUser',
    rule: {
      subjects: groups('system:nodes'),
      resourceRules: [{ ...everyResource, apiGroups: [''], resources: ['nodes', 'nodes/status'] }, leases],
    },
  }),
  schema('probes', {
    level: 'exempt',
    precedence: 2,
    rule: {
      subjects: everybody,
      nonResourceRules: [{ verbs: ['get'], nonResourceURLs: ['/healthz', '/readyz', '/livez'] }],
    },
  }),
  schema('system-leader-election', {
    level: 'leader-election',
    precedence: 100,
    by: 'ByUser',
    rule: {
      subjects: [...users('system:kube-controller-manager', 'system:kube-scheduler'), ...systemAccounts],
      resourceRules: [{ ...leases, verbs: ['get', 'create', 'update'] }],
    },
  }),
  schema('kube-controller-manager', {
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rule: everything(users('system:kube-controller-manager')),
  }),
  schema('kube-scheduler', {
    level: 'workload-high',
    precedence: 800,
    by: 'ByNamespace',
    rule: everything(users('system:kube-scheduler')),
  }),
  schema('kube-system-service-accounts', {
    level: 'workload-high',
    precedence: 900,
    by: 'ByNamespace',
    rule: everything(systemAccounts),
  }),
  schema('service-accounts', {
    level: 'workload-low',
    precedence: 9000,
    by: 'ByUser',
    rule: everything(groups('system:serviceaccounts')),
  }),
  schema('global-default', {
    level: 'global-default',
    precedence: 9900,
    by: 'ByUser',
    rule: everything(everybody),
  }),
];

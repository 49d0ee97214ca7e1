// The flow schemas and priority levels that every cluster has, each with its only allowed spec. Source:
// pkg/apis/flowcontrol/internalbootstrap, pkg/apis/flowcontrol/validation.
import type { DeepReadonly } from '@kapstan/api';
import type { Field } from '@kapstan/apiserver/internal';
import { jsonEqual } from '@kapstan/apiserver/internal';
import type { FlowSchemaSpec, PriorityLevelConfigurationSpec } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';

const everything = {
  resourceRules: [{ verbs: ['*'], apiGroups: ['*'], resources: ['*'], clusterScope: true, namespaces: ['*'] }],
  nonResourceRules: [{ verbs: ['*'], nonResourceURLs: ['*'] }],
};
const ofGroups = (...names: readonly string[]): NonNullable<FlowSchemaSpec['rules']> => [
  { subjects: names.map((name) => ({ kind: 'Group', group: { name } })), ...everything },
];

const flowSchemaSpecs: ReadonlyMap<string, FlowSchemaSpec> = new Map([
  [
    'exempt',
    { priorityLevelConfiguration: { name: 'exempt' }, matchingPrecedence: 1, rules: ofGroups('system:masters') },
  ],
  [
    'catch-all',
    {
      priorityLevelConfiguration: { name: 'catch-all' },
      matchingPrecedence: 10_000,
      distinguisherMethod: { type: 'ByUser' },
      rules: ofGroups('system:unauthenticated', 'system:authenticated'),
    },
  ],
]);

const catchAllLevel: PriorityLevelConfigurationSpec = {
  type: 'Limited',
  limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: 'Reject' } },
};

/** `at` is the spec, `name` the object's. */
export function validateMandatorySchema(at: Field, spec: DeepReadonly<FlowSchemaSpec> | undefined, name: string): void {
  const wanted = flowSchemaSpecs.get(name);
  if (wanted !== undefined && !jsonEqual(spec, wanted))
    at.invalid(spec, `spec of '${name}' must equal the fixed value`);
}

/** The cluster may choose how much the exempt level lends. */
export function validateMandatoryLevel(
  at: Field,
  spec: Partial<DeepReadonly<PriorityLevelConfigurationSpec>>,
  name: string,
): void {
  if (name === 'exempt') {
    const { exempt: _changeable, ...rest } = spec;
    if (!jsonEqual(rest, { type: 'Exempt' }))
      at.invalid(spec, "spec of 'exempt' except the 'spec.exempt' field must equal the fixed value");
  } else if (name === 'catch-all' && !jsonEqual(spec, catchAllLevel))
    at.invalid(spec, "spec of 'catch-all' must equal the fixed value");
}

// Flow schemas. Source: pkg/apis/flowcontrol/v1/defaults.go, pkg/apis/flowcontrol/validation ValidateFlowSchemaSpec.
import type { DeepReadonly } from '@kapstan/api';
import type { FlowSchema, PolicyRulesWithSubjects } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { BuiltinKind } from '../../builtin-kind.ts';
import type { Field } from '../../validation/field.ts';

const maxPrecedence = 10_000;
const verbs = ['create', 'delete', 'deletecollection', 'get', 'list', 'patch', 'proxy', 'update', 'watch'];

export const flowSchemas: BuiltinKind<FlowSchema> = {
  id: 'flowcontrol.apiserver.k8s.io/v1/flowschemas',
  strategy: { updateMetadata: 'whole' },
  setDefaults: ({ spec }) => {
    if (spec !== undefined) spec.matchingPrecedence ||= 1000;
  },
  validate: (root, { spec }) => {
    const at = root.child('spec');
    const precedence = spec?.matchingPrecedence ?? 0;
    if (precedence <= 0) at.child('matchingPrecedence').invalid(precedence, 'must be a positive value');
    if (precedence > maxPrecedence)
      at.child('matchingPrecedence').invalid(precedence, `must not be greater than ${maxPrecedence}`);
    if (spec?.distinguisherMethod !== undefined) {
      at.child('distinguisherMethod', 'type').oneOf(spec.distinguisherMethod.type, ['ByNamespace', 'ByUser']);
    }
    if (!spec?.priorityLevelConfiguration?.name)
      at.child('priorityLevelConfiguration', 'name').required('must reference a priority level');
    at.child('rules').each(spec?.rules, (rule, place) => validateRule(place, rule));
  },
};

function validateRule(at: Field, rule: DeepReadonly<PolicyRulesWithSubjects>): void {
  if ((rule.subjects?.length ?? 0) === 0) at.child('subjects').required('subjects must contain at least one value');
  if ((rule.resourceRules?.length ?? 0) + (rule.nonResourceRules?.length ?? 0) === 0) {
    at.required('at least one of resourceRules and nonResourceRules has to be non-empty');
  }
  at.child('resourceRules').each(rule.resourceRules, (resourceRule, place) => {
    const given = resourceRule.verbs ?? [];
    if (given.length === 0) place.child('verbs').required('verbs must contain at least one value');
    else if (!given.every((verb) => verb === '*' || verbs.includes(verb)))
      place.child('verbs').notSupported(given, verbs);
    if ((resourceRule.apiGroups?.length ?? 0) === 0)
      place.child('apiGroups').required('resource rules must supply at least one api group');
    if ((resourceRule.resources?.length ?? 0) === 0)
      place.child('resources').required('resource rules must supply at least one resource');
  });
}

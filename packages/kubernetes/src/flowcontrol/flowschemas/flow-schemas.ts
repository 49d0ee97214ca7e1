// Flow schemas. Source: pkg/apis/flowcontrol/v1/defaults.go, pkg/apis/flowcontrol/validation ValidateFlowSchemaSpec.
import { dnsSubdomainErrors } from '@kapstan/api/errors';
import type { FlowSchema } from '@kapstan/kinds/flowcontrol.apiserver.k8s.io/v1';
import type { BuiltinKind } from '../../builtin/builtin-kind.ts';
import { validateConditionTypes } from '../conditions.ts';
import { validateMandatorySchema } from '../mandatory-specs.ts';
import { validateFlowRule } from './rule-validation.ts';

const maxPrecedence = 10_000;
const defaultPrecedence = 1000;

export const flowSchemas: BuiltinKind<FlowSchema> = {
  id: 'flowcontrol.apiserver.k8s.io/v1/flowschemas',
  strategy: { updateMetadata: 'whole' },
  setDefaults: (object) => {
    object.spec ??= {} as NonNullable<FlowSchema['spec']>;
    object.spec.matchingPrecedence ||= defaultPrecedence;
  },
  validate: (root, { metadata, spec, status }) => {
    const at = root.child('spec');
    const precedence = spec?.matchingPrecedence ?? 0;
    const place = at.child('matchingPrecedence');
    if (precedence <= 0) place.invalid(precedence, 'must be a positive value');
    if (precedence > maxPrecedence) place.invalid(precedence, `must not be greater than ${maxPrecedence}`);
    if (precedence === 1 && metadata?.name !== 'exempt')
      place.invalid(precedence, "only the schema named 'exempt' may have matchingPrecedence 1");
    const method = spec?.distinguisherMethod;
    if (method !== undefined && !['ByNamespace', 'ByUser'].includes(method.type))
      at.child('distinguisherMethod', 'type').notSupported({ Type: method.type }, ['ByNamespace', 'ByUser']);
    const level = spec?.priorityLevelConfiguration?.name ?? '';
    if (level === '') at.child('priorityLevelConfiguration', 'name').required('must reference a priority level');
    else at.child('priorityLevelConfiguration', 'name').invalidAll(level, dnsSubdomainErrors(level));
    at.child('rules').each(spec?.rules, (rule, rulePlace) => validateFlowRule(rulePlace, rule));
    validateMandatorySchema(at, spec, metadata?.name ?? '');
    validateConditionTypes(root.child('status', 'conditions'), status?.conditions);
  },
  status: {
    updateMetadata: 'none',
    keepsMetadata: true,
    validate: (root, { status }) => validateConditionTypes(root.child('status', 'conditions'), status?.conditions),
  },
};

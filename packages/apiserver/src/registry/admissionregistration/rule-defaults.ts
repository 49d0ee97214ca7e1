// Defaults and rules that webhooks and admission policies share. Source: pkg/apis/admissionregistration/v1/defaults.go, validation.
import type { DeepReadonly } from '@kapstan/api';
import type { RuleWithOperations } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import type { Field } from '../validation/field.ts';

export function setRuleDefaults(rules: readonly RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*';
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

/** Source: validateRuleWithOperations. */
export function validateRule(at: Field, rule: DeepReadonly<RuleWithOperations>): void {
  for (const name of ['apiGroups', 'apiVersions', 'resources'] as const) {
    const list = rule[name] ?? [];
    if (list.length === 0) at.child(name).required();
    if (list.length > 1 && list.includes('*')) {
      at.child(name).invalid(
        list,
        name === 'resources'
          ? "if '*/*' is present, must not specify other resources"
          : "if '*' is present, must not specify other values",
      );
    }
  }
  if ((rule.operations?.length ?? 0) === 0) at.child('operations').required();
  at.child('operations').each(rule.operations, (operation, place) => place.oneOf(operation, operations));
  if (rule.scope !== undefined) at.child('scope').oneOf(rule.scope, ['*', 'Cluster', 'Namespaced']);
}

// Defaults and rules that webhooks and admission policies share. Source: pkg/apis/admissionregistration/v1/defaults.go, validation.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import { CompileFault, type Field } from '@kapstan/apiserver/internal';
import type { MatchCondition, RuleWithOperations } from '@kapstan/kinds/admissionregistration.k8s.io/v1';
import { tellFault } from '../validation/expression-fault.ts';
import { requestExpressions } from './request-expressions.ts';

export function setRuleDefaults(rules: readonly RuleWithOperations[] | undefined): void {
  for (const rule of rules ?? []) rule.scope ??= '*';
}

const operations = ['*', 'CONNECT', 'CREATE', 'DELETE', 'UPDATE'];

/** Source: validateRuleWithOperations. */
export function validateOperationsRule(at: Field, rule: DeepReadonly<RuleWithOperations>): void {
  validateWithWildcard(at.child('operations'), rule.operations ?? [], 'operations');
  at.child('operations').each(rule.operations, (operation, place) => place.oneOf(operation, operations));
  validateWithWildcard(at.child('apiGroups'), rule.apiGroups ?? [], 'API groups');
  validateWithWildcard(at.child('apiVersions'), rule.apiVersions ?? [], 'API versions');
  at.child('apiVersions').each(rule.apiVersions, (version, place) => void place.present(version));
  validateResources(at.child('resources'), rule.resources ?? []);
  if (rule.scope !== undefined) at.child('scope').oneOf(rule.scope, ['*', 'Cluster', 'Namespaced']);
}

function validateWithWildcard(at: Field, list: readonly string[], others: string): void {
  if (list.length === 0) at.required();
  if (list.length > 1 && list.includes('*')) at.invalid(list, `if '*' is present, must not specify other ${others}`);
}

/** "pods", "pods/log", "pods/*", "*\/scale", "*", "*\/*". Source: validateResources. */
function validateResources(at: Field, resources: readonly string[]): void {
  if (resources.length === 0) at.required();
  // If several names have no subresource, the last one counts.
  const last = resources.findLast((name) => name !== '' && !name.includes('/'));
  const whole = new Set<string>();
  const everywhere = new Set<string>();
  at.each(resources, (name, place) => {
    if (name === '') return place.required();
    const slash = name.indexOf('/');
    if (slash < 0) return;
    const [resource, subresource] = [name.slice(0, slash), name.slice(slash + 1)];
    if (whole.has(resource)) place.invalid(name, `if '${resource}/*' is present, must not specify ${name}`);
    if (everywhere.has(subresource)) place.invalid(name, `if '*/${subresource}' is present, must not specify ${name}`);
    if (subresource === '*') whole.add(resource);
    if (resource === '*') everywhere.add(subresource);
  });
  if (resources.length > 1 && resources.includes('*/*'))
    at.invalid(resources, "if '*/*' is present, must not specify other resources");
  if (resources.includes('*') && last !== '*')
    at.invalid(resources, "if '*' is present, must not specify other resources without subresources");
}

const maxConditions = 64;

export interface ConditionRules {
  /** Expressions that were stored before keep being accepted. */
  readonly stored: ReadonlySet<string>;
  /** True = conditions may name parameters. */
  readonly hasParams: boolean;
}

/** Source: validateMatchConditions. */
export function validateMatchConditions(
  at: Field,
  conditions: readonly DeepReadonly<MatchCondition>[],
  rules: ConditionRules,
): void {
  if (conditions.length > maxConditions) at.tooMany(conditions.length, maxConditions);
  const names = new Set<string>();
  at.each(conditions, ({ name = '', expression = '' }, place) => {
    const text = expression.trim();
    if (text === '') place.child('expression').required();
    else validateCondition(place.child('expression'), text, rules);
    if (place.child('name').present(name)) place.child('name').invalidAll(name, qualifiedNameErrors(name));
    if (name !== '' && names.has(name)) place.child('name').duplicate(name);
    names.add(name);
  });
}

function validateCondition(at: Field, expression: string, { stored, hasParams }: ConditionRules): void {
  const age = stored.has(expression) ? 'stored' : 'new';
  at.later(function* () {
    const compiled = yield* requestExpressions.condition(expression, { age, hasParams, hasAuthorizer: true });
    if (compiled instanceof CompileFault) tellFault(at, expression, compiled);
    yield;
  });
}

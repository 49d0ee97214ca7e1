// Rules for when a job counts as failed, or as done early. Used by job-spec.ts. Source: pkg/apis/batch/validation
// validatePodFailurePolicy, validateSuccessPolicy.
import type { DeepReadonly } from '@kapstan/api';
import { qualifiedNameErrors } from '@kapstan/api/errors';
import type { Field } from '@kapstan/apiserver/internal';
import type { JobSpec, PodFailurePolicyRule, SuccessPolicyRule } from '@kapstan/kinds/batch/v1';
import { internalForm } from '../validation/internal-form.ts';
import { countIndexes } from './index-list.ts';

type ReadonlySpec = DeepReadonly<JobSpec>;

const maxFailureRules = 20;
const maxConditionPatterns = 20;
const maxExitCodes = 255;
const maxSuccessRules = 20;
const maxSucceededIndexesBytes = 64 * 1024;

/** Formats a list like Go's %q. */
const quoted = (values: readonly string[]): string => `[${values.map((value) => JSON.stringify(value)).join(' ')}]`;

export function validatePodFailurePolicy(at: Field, spec: ReadonlySpec): void {
  const rules = spec.podFailurePolicy?.rules ?? [];
  const place = at.child('rules');
  if (rules.length > maxFailureRules) place.tooMany(rules.length, maxFailureRules);
  const pod = spec.template?.spec;
  const names = new Set([...(pod?.containers ?? []), ...(pod?.initContainers ?? [])].map(({ name }) => name));
  place.each(rules, (rule, rulePlace) => validateFailureRule(rulePlace, rule, { spec, names }));
}

interface PolicyContext {
  readonly spec: ReadonlySpec;
  /** Names of the containers and init containers. */
  readonly names: ReadonlySet<string>;
}

const actions = ['Count', 'FailIndex', 'FailJob', 'Ignore'];
const statuses = ['False', 'True', 'Unknown'];

function validateFailureRule(at: Field, rule: DeepReadonly<PodFailurePolicyRule>, context: PolicyContext): void {
  const action: string = rule.action ?? '';
  if (action === '') at.child('action').required(`valid values: ${quoted(actions)}`);
  else if (action !== 'FailIndex') at.child('action').oneOf(action, actions);
  else if (context.spec.backoffLimitPerIndex === undefined)
    at.child('action').invalid(action, 'requires the backoffLimitPerIndex to be set');
  if (rule.onExitCodes !== undefined) validateExitCodes(at.child('onExitCodes'), rule.onExitCodes, context.names);
  const conditions = rule.onPodConditions ?? [];
  const place = at.child('onPodConditions');
  if (conditions.length > maxConditionPatterns) place.tooMany(conditions.length, maxConditionPatterns);
  place.each(conditions, ({ type, status }, patternPlace) => {
    patternPlace.child('type').invalidAll(type, qualifiedNameErrors(type));
    if (!status) patternPlace.child('status').required(`valid values: ${quoted(statuses)}`);
    else patternPlace.child('status').oneOf(status, statuses);
  });
  if (rule.onExitCodes !== undefined && conditions.length > 0)
    at.invalid(undefined, 'specifying both OnExitCodes and OnPodConditions is not supported');
  if (rule.onExitCodes === undefined && conditions.length === 0)
    at.invalid(undefined, 'specifying one of OnExitCodes and OnPodConditions is required');
}

const operators = ['In', 'NotIn'];

function validateExitCodes(
  at: Field,
  { operator, containerName, values: given }: NonNullable<DeepReadonly<PodFailurePolicyRule>['onExitCodes']>,
  names: ReadonlySet<string>,
): void {
  const values = given ?? [];
  if (!operator) at.child('operator').required(`valid values: ${quoted(operators)}`);
  else at.child('operator').oneOf(operator, operators);
  if (containerName !== undefined && !names.has(containerName)) {
    at.child('containerName').invalid(
      containerName,
      'must be one of the container or initContainer names in the pod template',
    );
  }
  const place = at.child('values');
  if (values.length === 0) place.invalid(given ?? null, 'at least one value is required');
  else if (values.length > maxExitCodes) place.tooMany(values.length, maxExitCodes);
  const seen = new Set<number>();
  place.each(values, (value, valuePlace) => {
    if (operator === 'In' && value === 0) valuePlace.invalid(value, 'must not be 0 for the In operator');
    if (seen.has(value)) valuePlace.duplicate(value);
    seen.add(value);
  });
  if (values.some((value, index) => index > 0 && (values[index - 1] ?? 0) > value))
    place.invalid(values, 'must be ordered');
}

export function validateSuccessPolicy(at: Field, spec: ReadonlySpec): void {
  if (spec.completionMode !== 'Indexed')
    return at.invalid(internalForm('batch.SuccessPolicy', spec.successPolicy), 'requires indexed completion mode');
  const rules = spec.successPolicy?.rules ?? [];
  const place = at.child('rules');
  if (rules.length === 0) place.required('at least one rules must be specified when the successPolicy is specified');
  if (rules.length > maxSuccessRules) place.tooMany(rules.length, maxSuccessRules);
  place.each(rules, (rule, rulePlace) => validateSuccessRule(rulePlace, rule, spec.completions ?? 0));
}

function validateSuccessRule(at: Field, rule: DeepReadonly<SuccessPolicyRule>, completions: number): void {
  const { succeededCount: count, succeededIndexes: indexes } = rule;
  if (count === undefined && indexes === undefined)
    at.required('at least one of succeededCount or succeededIndexes must be specified');
  const listed =
    indexes === undefined ? 0 : validateSucceededIndexes(at.child('succeededIndexes'), indexes, completions);
  if (count === undefined) return;
  const place = at.child('succeededCount');
  place.nonNegative(count);
  if (count > completions)
    place.invalid(count, `must be less than or equal to ${completions} (the number of specified completions)`);
  if (indexes !== undefined && count > listed) {
    place.invalid(
      count,
      `must be less than or equal to ${listed} (the number of indexes in the specified succeededIndexes field)`,
    );
  }
}

/** Returns the number of indexes; 0 when they cannot be read. */
function validateSucceededIndexes(at: Field, text: string, completions: number): number {
  if (Buffer.byteLength(text) > maxSucceededIndexesBytes) at.tooLong(maxSucceededIndexesBytes);
  const count = countIndexes(text, completions);
  if (typeof count === 'number') return count;
  at.invalid(text, `error parsing succeededIndexes: ${count}`);
  return 0;
}

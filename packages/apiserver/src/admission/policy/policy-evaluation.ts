// Evaluates a validating policy with one parameter: its validations, messages and audit annotations. Used by
// validating-policies.ts. Source: plugin/policy/validating/validator.go.
import { CompiledExpression, perCallLimit } from '@kapstan/cel';
import { evaluateList, type ListedResult } from '../matching/expression-list.ts';
import type { PolicyInvocation } from './policy-invocation.ts';
import type { CompiledAnnotation, CompiledValidation, ValidatingPolicy } from './validating-policy.ts';

/** Source: celconfig.RuntimeCELCostBudget. */
export const policyBudget = 10_000_000;
/** Source: celconfig.MaxEvaluatedMessageExpressionSizeBytes. */
const maxMessageBytes = 5 * 1024;

/** The result of one validation. `admitted-error`: it failed, and the policy ignores failures. */
export interface PolicyDecision {
  readonly outcome: 'admit' | 'admitted-error' | 'deny' | 'error';
  readonly message: string;
  /** "" = Invalid. */
  readonly reason: string;
  readonly durationMs: number;
}

export type PolicyAnnotation =
  | { readonly key: string; readonly value: string }
  | { readonly error: string; readonly durationMs: number };

export interface PolicyVerdict {
  readonly decisions: readonly PolicyDecision[];
  readonly annotations: readonly PolicyAnnotation[];
}

/** Evaluates a policy whose match conditions hold. */
export async function evaluatePolicy(policy: ValidatingPolicy, invocation: PolicyInvocation): Promise<PolicyVerdict> {
  const { run } = invocation.call;
  const checks = policy.validations.map(({ check }) => check);
  const variables = invocation.scope({ hasAuthorizer: true, hasNamespace: true });
  const checked = await evaluateList(checks, { run, variables, budget: policyBudget });
  if (checked.stopped !== undefined) return errorVerdict(policy, checked.stopped);
  const messages = await messagesOf(policy, invocation, checked);
  const decisions = policy.validations.map((validation, index) =>
    decide(policy, validation, { result: checked.results[index], messages, index }),
  );
  const annotated = await annotationsOf(policy, invocation);
  return 'decisions' in annotated ? annotated : { decisions, annotations: annotated.annotations };
}

/** Returns the only decision of a policy that could not be evaluated as a whole. */
export function errorVerdict({ ignoresFailure }: ValidatingPolicy, message: string): PolicyVerdict {
  return { decisions: [failure(ignoresFailure, message, 0)], annotations: [] };
}

/** `stopped`: the reason why there are no messages. */
type Messages = { readonly results: readonly ListedResult[] } | { readonly stopped: string };

const noMessages: Messages = { results: [] };

/**
 * Evaluates the expressions of all messages, even of validations that hold, because their cost may cause a refusal.
 * They are skipped if all validations hold and the cost cannot reach its limit.
 */
async function messagesOf(
  policy: ValidatingPolicy,
  invocation: PolicyInvocation,
  { results, left }: { readonly results: readonly ListedResult[]; readonly left: number },
): Promise<Messages> {
  const messages = policy.validations.map(({ message }) => message);
  const compiled = messages.filter((message) => message instanceof CompiledExpression);
  const isAllowed = results.every(({ value }) => value === true);
  const mostCost = (compiled.length + policy.variables.size) * perCallLimit;
  if (compiled.length === 0 || (isAllowed && mostCost <= left)) return noMessages;
  const variables = invocation.scope({ hasAuthorizer: false, hasNamespace: true });
  const listed = await evaluateList(messages, { run: invocation.call.run, variables, budget: left });
  return listed.stopped === undefined ? listed : { stopped: listed.stopped };
}

interface Checked {
  readonly result: ListedResult | undefined;
  readonly messages: Messages;
  readonly index: number;
}

function decide(
  { ignoresFailure }: ValidatingPolicy,
  { spec }: CompiledValidation,
  { result = { durationMs: 0 }, messages, index }: Checked,
): PolicyDecision {
  const { value, error, durationMs } = result;
  if (error !== undefined) return failure(ignoresFailure, error, durationMs);
  if ('stopped' in messages)
    return failure(ignoresFailure, `failed messageExpression: ${messages.stopped}`, durationMs);
  if (value === true) return { outcome: 'admit', message: '', reason: '', durationMs };
  const { message = '', reason = '', expression } = spec;
  const text = evaluatedMessage(messages.results[index]) || message.trim() || `failed expression: ${expression.trim()}`;
  return { outcome: 'deny', message: text, reason, durationMs };
}

/** A message that is too long or has several lines counts as missing. */
function evaluatedMessage(result: ListedResult | undefined): string {
  if (typeof result?.value !== 'string') return '';
  const text = result.value.trim();
  return Buffer.byteLength(text) > maxMessageBytes || text.includes('\n') ? '' : text;
}

function failure(ignoresFailure: boolean, message: string, durationMs: number): PolicyDecision {
  return { outcome: ignoresFailure ? 'admitted-error' : 'error', message, reason: '', durationMs };
}

async function annotationsOf(
  policy: ValidatingPolicy,
  invocation: PolicyInvocation,
): Promise<PolicyVerdict | { readonly annotations: readonly PolicyAnnotation[] }> {
  if (policy.annotations.length === 0) return { annotations: [] };
  const variables = invocation.scope({ hasAuthorizer: false, hasNamespace: true });
  const expressions = policy.annotations.map(({ compiled }) => compiled);
  const listed = await evaluateList(expressions, { run: invocation.call.run, variables, budget: policyBudget });
  if (listed.stopped !== undefined) return errorVerdict(policy, listed.stopped);
  return {
    annotations: listed.results.flatMap((result, index) => {
      const annotation = policy.annotations[index];
      return annotation === undefined ? [] : annotationOf(policy, annotation, result);
    }),
  };
}

function annotationOf(
  { ignoresFailure }: ValidatingPolicy,
  { spec }: CompiledAnnotation,
  { value, error, durationMs }: ListedResult,
): readonly PolicyAnnotation[] {
  if (error !== undefined) return ignoresFailure ? [] : [{ error, durationMs }];
  const text = typeof value === 'string' ? value.trim() : '';
  return text === '' ? [] : [{ key: spec.key, value: text }];
}

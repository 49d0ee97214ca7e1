// Evaluates a list of expressions within one budget: the conditions, the validations, the messages or the annotations of
// one policy, or the conditions of one webhook. Source: plugin/cel/condition.go ForInput, activation.go Evaluate.
import { CompiledExpression, type VariableSource } from '@kapstan/cel';
import type { ExpressionRun } from './expression-run.ts';
import type { Compiled, CompileFault } from './request-expressions.ts';

/** Variables that are evaluated when an expression names them; their cost is charged to that expression. */
export interface EvaluatedVariables extends VariableSource {
  /** Returns the cost of variables since the last call. Absent = nothing. */
  takeCost?(): number;
}

export interface ListRun {
  readonly run: ExpressionRun;
  readonly variables: EvaluatedVariables;
  /** Cost that all expressions together may have. */
  readonly budget: number;
}

/** `error`: the reason why there is no value. Both are absent for an absent expression. */
export interface ListedResult {
  readonly value?: unknown;
  readonly error?: string | undefined;
  readonly durationMs: number;
}

/** `stopped`: the reason why the list has no results at all. */
export type ListResult =
  | { readonly results: readonly ListedResult[]; readonly left: number; readonly stopped?: undefined }
  | { readonly stopped: string };

export const outOfBudget =
  'validation failed due to running out of cost budget, no further validation rules will be run';

const absent: ListedResult = { durationMs: 0 };

export async function evaluateList(
  expressions: readonly (Compiled | undefined)[],
  { run, variables, budget }: ListRun,
): Promise<ListResult> {
  const results: ListedResult[] = [];
  let left = budget;
  for (const compiled of expressions) {
    if (!(compiled instanceof CompiledExpression)) {
      results.push(compiled === undefined ? absent : faultOf(compiled));
      continue;
    }
    const beganMs = run.clock.monotonicNow();
    const pending = run.evaluate(compiled, variables);
    const { value, error, cost } = pending instanceof Promise ? await pending : pending;
    left -= (variables.takeCost?.() ?? 0) + cost;
    if (left < 0) return { stopped: outOfBudget };
    const durationMs = run.clock.monotonicNow() - beganMs;
    results.push(error === undefined ? { value, durationMs } : { error: failureText(compiled, error), durationMs });
  }
  return { results, left };
}

/** Returns the text for an expression whose evaluation failed. */
function failureText({ text }: CompiledExpression, error: string): string {
  return `expression '${text}' resulted in error: ${error}`;
}

function faultOf({ detail }: CompileFault): ListedResult {
  return { error: `compilation error: ${detail}`, durationMs: 0 };
}

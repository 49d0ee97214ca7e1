// MatchConditions: the expressions of a webhook or a policy that select its requests. Used by webhook/ and
// policy/. Source: plugin/webhook/matchconditions.
import type { Clock, DeepReadonly } from '@kapstan/api';
import type { CallSignal, SlicedWork } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { Authorizer } from '../../authz/authorizer.ts';
import type { MaybePromise } from '../../registry/definition/first-decision.ts';
import { type EvaluatedVariables, evaluateList } from './expression-list.ts';
import { ExpressionRun } from './expression-run.ts';
import type { Invocation } from './invocation.ts';
import type { Compiled, RequestExpressions } from './request-expressions.ts';
import { RequestVariables } from './request-variables.ts';

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Source: celconfig.RuntimeCELCostBudgetMatchConditions. */
const budget = 2_500_000;

export interface MatchPorts {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly signal?: CallSignal | undefined;
}

/** 'failed': nothing is known; the failure policy decides. */
export type MatchResult = 'matches' | 'differs' | { readonly failed: string; readonly errors: number };

/** The conditions of a webhook. They see no parameters and no variables. */
export class MatchConditions {
  readonly #conditions: DeepReadonly<readonly MatchCondition[]>;
  readonly #expressions: RequestExpressions;
  #compiled: MaybePromise<readonly Compiled[]> | undefined;

  /** Compiles when a request needs it. */
  constructor(conditions: DeepReadonly<readonly MatchCondition[]>, expressions: RequestExpressions) {
    this.#conditions = conditions;
    this.#expressions = expressions;
  }

  /** Returns whether all conditions hold. A false one decides, even if others fail. */
  async match(invocation: Invocation, { authorizer, clock, signal }: MatchPorts): Promise<MatchResult> {
    this.#compiled ??= runInTurns(this.#compile());
    const compiled = await this.#compiled;
    const variables = RequestVariables.ofConditions(invocation, authorizer);
    return matchConditions(compiled, { run: new ExpressionRun({ clock, signal }), variables });
  }

  *#compile(): SlicedWork<readonly Compiled[]> {
    const compiled: Compiled[] = [];
    for (const { expression } of this.#conditions)
      compiled.push(
        yield* this.#expressions.condition(expression, { age: 'stored', hasParams: false, hasAuthorizer: true }),
      );
    return compiled;
  }
}

/** Returns whether all conditions hold. A false one decides, even if others fail. */
export async function matchConditions(
  conditions: readonly Compiled[],
  { run, variables }: { readonly run: ExpressionRun; readonly variables: EvaluatedVariables },
): Promise<MatchResult> {
  const { stopped, ...list } = await evaluateList(conditions, { run, variables, budget });
  if (!('results' in list)) return { failed: stopped ?? '', errors: 0 };
  if (list.results.some(({ value }) => value === false)) return 'differs';
  const errors = list.results.flatMap(({ error }) => (error === undefined ? [] : [error]));
  return errors.length === 0 ? 'matches' : { failed: aggregate(errors), errors: errors.length };
}

/** Equal texts appear once. Source: apimachinery util/errors Aggregate. */
function aggregate(errors: readonly string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

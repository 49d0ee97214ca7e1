// MatchConditions: the expressions of a webhook that say for which requests it is called. Used by webhook-matching.ts.
// Source: plugin/webhook/matchconditions, plugin/cel/condition.go, plugin/cel/activation.go.
import type { Clock, DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { CallSignal } from '@kapstan/api/internal';
import { CelAuthorizer, CelResourceCheck, type CompiledExpression, perCallLimit } from '@kapstan/cel';
import type { Authorizer } from '../../authz/authorizer.ts';
import { describeRequest, type Invocation } from './admission-review.ts';
import { celAuthorizerOf } from './cel-authorizer.ts';
import type { RequestExpressions } from './request-expressions.ts';

export interface MatchCondition {
  readonly name: string;
  readonly expression: string;
}

/** Source: celconfig.RuntimeCELCostBudgetMatchConditions. */
const budget = 2_500_000;
const outOfBudget = 'validation failed due to running out of cost budget, no further validation rules will be run';

export interface MatchPorts {
  readonly authorizer: Authorizer;
  readonly clock: Clock;
  readonly signal?: CallSignal | undefined;
}

/** 'failed': nothing is known; the failure policy decides. */
export type MatchResult = 'matches' | 'differs' | { readonly failed: string; readonly errors: number };

export class MatchConditions {
  readonly #conditions: DeepReadonly<readonly MatchCondition[]>;
  readonly #expressions: RequestExpressions;
  #compiled: readonly (CompiledExpression | string)[] | undefined;

  /** Compiles when a request needs it. */
  constructor(conditions: DeepReadonly<readonly MatchCondition[]>, expressions: RequestExpressions) {
    this.#conditions = conditions;
    this.#expressions = expressions;
  }

  /** Returns whether all conditions hold. One that is false counts even if others fail. */
  async match(invocation: Invocation, ports: MatchPorts): Promise<MatchResult> {
    this.#compiled ??= this.#conditions.map(({ expression }) => this.#expressions.condition(expression, 'stored'));
    const activation = activationOf(invocation, ports.authorizer);
    const errors: string[] = [];
    let left = budget;
    let isFalse = false;
    for (const compiled of this.#compiled) {
      if (typeof compiled === 'string') {
        errors.push(`compilation error: ${compiled}`);
        continue;
      }
      const { clock, signal } = ports;
      const options = { budget: perCallLimit, clock, signal };
      const { value, error, cost } = await compiled.evaluateInTurns(activation, options);
      if (cost > left) return { failed: outOfBudget, errors: 0 };
      left -= cost;
      if (error !== undefined) errors.push(`expression '${compiled.text}' resulted in error: ${error}`);
      else if (value === false) isFalse = true;
    }
    if (isFalse) return 'differs';
    return errors.length === 0 ? 'matches' : { failed: aggregate(errors), errors: errors.length };
  }
}

/** Returns the values of the variables. `namespaceObject` is declared, but null for webhooks. */
function activationOf(invocation: Invocation, port: Authorizer): Record<string, unknown> {
  const { object, oldObject, attributes } = invocation;
  const { resource, subresource, namespace, name, context } = attributes;
  const authorizer = new CelAuthorizer(celAuthorizerOf(port, context.user));
  const asked = {
    apiGroup: resource.group,
    resource: resource.resource,
    ...(subresource === '' ? {} : { subresource }),
    ...(namespace === '' ? {} : { namespace }),
    ...(name === '' ? {} : { name }),
  };
  return {
    object: shownObject(object),
    oldObject: shownObject(oldObject),
    request: { ...describeRequest(invocation), object: null, oldObject: null },
    namespaceObject: null,
    authorizer,
    'authorizer.requestResource': new CelResourceCheck(authorizer, asked),
  };
}

function shownObject(object: DeepReadonly<KubernetesObject> | undefined): unknown {
  return object ?? null;
}

/** Equal texts are said once. Source: apimachinery util/errors Aggregate. */
function aggregate(errors: readonly string[]): string {
  const texts = [...new Set(errors)];
  return texts.length === 1 ? (texts[0] ?? '') : `[${texts.join(', ')}]`;
}

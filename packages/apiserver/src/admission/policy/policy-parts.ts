// The common parts of validating and mutating policies, compiled: variables, match conditions and request criteria. Used by
// validating-policy.ts and mutating-policy.ts.
import type { DeepReadonly } from '@kapstan/api';
import type { SlicedWork } from '@kapstan/api/internal';
import { CompiledExpression } from '@kapstan/cel';
import type { MatchCondition } from '../matching/match-conditions.ts';
import type { Compiled, RequestExpressions } from '../matching/request-expressions.ts';
import { type ExpressionPurpose, PolicyExpressions } from './policy-expressions.ts';
import type { AdmissionPolicy, ParamKind } from './policy-source.ts';
import type { CompiledVariables } from './policy-variables.ts';
import { type CriteriaSpec, RequestCriteria } from './request-criteria.ts';

/** The API form of these parts, with its defaults set. */
export interface PolicySpec {
  readonly paramKind?: ParamKind;
  readonly matchConstraints?: CriteriaSpec;
  readonly matchConditions?: readonly MatchCondition[];
  readonly variables?: readonly { readonly name: string; readonly expression: string }[];
  readonly failurePolicy?: string;
}

export interface CompiledPolicyParts extends AdmissionPolicy {
  readonly variables: CompiledVariables;
  readonly conditions: readonly Compiled[];
}

/** Compiles the expressions of one policy, each in its own slice. */
export class PolicyCompiler {
  readonly #expressions: PolicyExpressions;
  #namesNamespace = false;

  constructor(requests: RequestExpressions, { paramKind }: Pick<PolicySpec, 'paramKind'>) {
    this.#expressions = new PolicyExpressions(requests, { hasParams: paramKind !== undefined, hasVariables: true });
  }

  /** True when an expression so far names the namespace of the request. */
  get namesNamespace(): boolean {
    return this.#namesNamespace;
  }

  *parts(name: string, spec: DeepReadonly<PolicySpec>): SlicedWork<CompiledPolicyParts> {
    const criteria = new RequestCriteria(spec.matchConstraints ?? {});
    const variables = new Map<string, Compiled>();
    for (const variable of spec.variables ?? []) {
      variables.set(
        variable.name,
        this.#noted(yield* this.#expressions.variable(variable.name, variable.expression, 'stored')),
      );
      yield;
    }
    const conditions: Compiled[] = [];
    for (const { expression } of spec.matchConditions ?? []) {
      conditions.push(yield* this.#expressions.condition(expression, 'stored'));
      yield;
    }
    const { paramKind, failurePolicy } = spec;
    return { name, ignoresFailure: failurePolicy === 'Ignore', paramKind, criteria, variables, conditions };
  }

  /** Returns undefined for an expression that is absent. */
  *compile(purpose: ExpressionPurpose, text: string | undefined): SlicedWork<Compiled | undefined> {
    if (text === undefined || text === '') return undefined;
    const compiled = this.#noted(yield* this.#expressions.compile(purpose, text, 'stored'));
    yield;
    return compiled;
  }

  #noted(compiled: Compiled): Compiled {
    if (compiled instanceof CompiledExpression) this.#namesNamespace ||= compiled.names('namespaceObject');
    return compiled;
  }
}

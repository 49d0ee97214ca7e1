// PolicyVariables: the variable `variables` of a policy, whose members are evaluated when an expression first names them.
// Made for each list of expressions. Source: plugin/cel/composition.go, pkg/cel/lazy.
import { CelFailure, CelObject, type CelType, type Evaluation, ValuePending, type VariableSource } from '@kapstan/cel';
import type { EvaluatedVariables } from '../matching/expression-list.ts';
import type { ExpressionRun } from '../matching/expression-run.ts';
import { type Compiled, CompileFault } from '../matching/request-expressions.ts';
import { variablesType } from './policy-expressions.ts';

export type CompiledVariables = ReadonlyMap<string, Compiled>;

/** The variables of a request together with the policy's variables. */
export class PolicyVariables implements EvaluatedVariables {
  readonly #request: VariableSource;
  readonly #members: VariablesObject;

  constructor(request: VariableSource, variables: CompiledVariables, run: ExpressionRun) {
    this.#request = request;
    this.#members = new VariablesObject(variables, run, this);
  }

  find(name: string): unknown {
    return name === 'variables' ? this.#members : this.#request.find(name);
  }

  takeCost(): number {
    return this.#members.takeCost();
  }
}

class VariablesObject extends CelObject {
  readonly type: CelType = variablesType;
  readonly #variables: CompiledVariables;
  readonly #run: ExpressionRun;
  readonly #scope: VariableSource;
  readonly #values = new Map<string, unknown>();
  #cost = 0;

  constructor(variables: CompiledVariables, run: ExpressionRun, scope: VariableSource) {
    super();
    this.#variables = variables;
    this.#run = run;
    this.#scope = scope;
  }

  override get hasFields(): boolean {
    return true;
  }

  /** Throws ValuePending for a variable that takes longer than this turn. */
  override field(name: string): unknown {
    const known = this.#values.get(name);
    if (known !== undefined) return known;
    const compiled = this.#variables.get(name);
    if (compiled === undefined) return undefined;
    if (compiled instanceof CompileFault) {
      return new CelFailure(`composited variable "${name}" fails to compile: ${compiled.detail}`);
    }
    const evaluation = this.#run.evaluate(compiled, this.#scope);
    if (evaluation instanceof Promise) throw new ValuePending(evaluation.then((later) => this.#keep(name, later)));
    return this.#keep(name, evaluation);
  }

  takeCost(): number {
    const cost = this.#cost;
    this.#cost = 0;
    return cost;
  }

  #keep(name: string, { value, error, cost }: Evaluation): unknown {
    this.#cost += cost;
    const kept =
      error === undefined
        ? (value ?? null)
        : new CelFailure(`composited variable "${name}" fails to evaluate: ${error}`);
    this.#values.set(name, kept);
    return kept;
  }
}

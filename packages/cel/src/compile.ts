// compile turns a text into an expression that can be evaluated.
import { runWhole, type SlicedWork } from '@kapstan/api/internal';
import { checkExpression } from './checker/checker.ts';
import { checkPatterns } from './checker/pattern-check.ts';
import { resolveNames } from './checker/unchecked.ts';
import { validateLiterals } from './checker/validators.ts';
import { estimateCost } from './cost/cost-estimate.ts';
import type { SizeEstimator } from './cost/cost-node.ts';
import type { Range } from './cost/range.ts';
import type { Environment } from './environment/environment.ts';
import type { Library } from './environment/library.ts';
import { storedExpressions } from './kubernetes-environment.ts';
import { Program } from './program.ts';
import { childrenOf, type Expr } from './syntax/expr.ts';
import { Issues } from './syntax/issues.ts';
import { parseExpression } from './syntax/parser.ts';
import { Source } from './syntax/source.ts';
import { CelType, dynType } from './types/cel-type.ts';
import type { TypeProvider } from './types/type-provider.ts';
import { typeOf } from './types/type-text.ts';

/** The variables, types and functions that an expression may use. */
export interface Declarations {
  /** Types of variables, as texts (`list(string)`) or as types. */
  readonly variables?: Readonly<Record<string, string | CelType>>;
  /** Structs that variables may be. */
  readonly types?: TypeProvider;
  /** Further functions and macros. */
  readonly libraries?: readonly Library[];
}

/** Options of the compilation of an expression. */
export interface CompileOptions {
  readonly declarations?: Declarations;
  /** Default: the environment of stored expressions in the newest version of Kubernetes. */
  readonly environment?: Environment;
  /** True if types are checked. If not, type errors appear when the expression is evaluated. Default true. */
  readonly checksTypes?: boolean;
  /** Limits of the sizes of variables, for the estimate of the cost. Default: they are unknown. */
  readonly sizes?: SizeEstimator;
}

/** An expression that has been parsed and checked. Its program is made on first use. */
export class CompiledExpression {
  readonly text: string;
  readonly type: CelType;
  readonly #expr: Expr;
  readonly #environment: Environment;
  readonly #sizes: SizeEstimator;
  #cost: Range | undefined;
  #program: Program | undefined;

  constructor(text: string, parts: { expr: Expr; environment: Environment; sizes: SizeEstimator }) {
    this.text = text;
    this.#expr = parts.expr;
    this.#environment = parts.environment;
    this.#sizes = parts.sizes;
    this.type = parts.expr.type ?? dynType;
  }

  /** The lowest and highest cost of an evaluation. */
  get cost(): Range {
    this.#cost ??= estimateCost(this.#expr, this.#sizes);
    return this.#cost;
  }

  /** True if the expression names a variable anywhere, even where a macro declares one of that name. */
  names(variable: string): boolean {
    return namesVariable(this.#expr, variable);
  }

  /** True if the expression reads this field of a variable anywhere, as `variable.field`, `variable.?field` or in `has()`. */
  selects(variable: string, field: string): boolean {
    return selectsField(this.#expr, variable, field);
  }

  /** The program. Throws CelProgramError when a constant part has no value (`int('x')`). */
  get program(): Program {
    this.#program ??= new Program(this.#expr, this.#environment);
    return this.#program;
  }

  /** Evaluates at once. See {@link Program.evaluate}. */
  evaluate(...args: Parameters<Program['evaluate']>): ReturnType<Program['evaluate']> {
    return this.program.evaluate(...args);
  }

  /** Evaluates with pauses. See {@link Program.evaluateInSlices}. */
  evaluateInSlices(...args: Parameters<Program['evaluateInSlices']>): ReturnType<Program['evaluateInSlices']> {
    return this.program.evaluateInSlices(...args);
  }

  /** Evaluates in turns of the event loop. See {@link Program.evaluateInTurns}. */
  evaluateInTurns(...args: Parameters<Program['evaluateInTurns']>): ReturnType<Program['evaluateInTurns']> {
    return this.program.evaluateInTurns(...args);
  }
}

/** Compiles an expression. Throws CelCompileError, with the place of each error, for an invalid text. */
export function compile(text: string, options: CompileOptions = {}): CompiledExpression {
  return runWhole(compileInSlices(text, options));
}

/**
 * Does what {@link compile} does, and yields between its steps, so that the longest text does not hold the event loop for all of them. The
 * program is not made yet.
 */
export function* compileInSlices(text: string, options: CompileOptions = {}): SlicedWork<CompiledExpression> {
  const environment = environmentOf(options);
  const issues = new Issues(new Source(text));
  const expr = yield* parseExpression(text, environment.syntax, issues);
  issues.throwIfAny();
  yield;
  if (options.checksTypes === false) resolveNames(expr, environment);
  else checkExpression(expr, environment, issues);
  issues.throwIfAny();
  yield* checkPatterns(expr);
  issues.throwIfAny();
  if (options.checksTypes !== false) {
    validateLiterals(expr, environment, issues);
    issues.throwIfAny();
  }
  return new CompiledExpression(text, { expr, environment, sizes: options.sizes ?? (() => undefined) });
}

function namesVariable(expr: Expr, variable: string): boolean {
  if (expr.kind === 'ident' && expr.name === variable) return true;
  return childrenOf(expr).some((child) => namesVariable(child, variable));
}

function selectsField(expr: Expr, variable: string, field: string): boolean {
  const isVariable = (operand: Expr | undefined): boolean => operand?.kind === 'ident' && operand.name === variable;
  if (expr.kind === 'select' && expr.field === field && isVariable(expr.operand)) return true;
  if (expr.kind === 'call' && expr.name === '_?._' && isVariable(expr.args[0])) {
    const [, name] = expr.args;
    if (name?.kind === 'literal' && name.value === field) return true;
  }
  return childrenOf(expr).some((child) => selectsField(child, variable, field));
}

function environmentOf({ declarations, environment = storedExpressions() }: CompileOptions): Environment {
  if (declarations === undefined) return environment;
  const { variables = {}, types, libraries } = declarations;
  const typed = Object.entries(variables).map(
    ([name, type]) => [name, type instanceof CelType ? type : typeOf(type)] as const,
  );
  return environment.extend({
    variables: new Map(typed),
    provider: types,
    libraries,
  });
}

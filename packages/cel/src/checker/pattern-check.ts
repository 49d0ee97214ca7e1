// Checks constant patterns before the program is made, with pauses, because one expression may have thousands of them
// or a single one that takes seconds to compile.
import type { SlicedWork } from '@kapstan/api/internal';
import { isCompiledPattern } from '../patterns/pattern.ts';
import { patternSize } from '../patterns/pattern-size.ts';
import { patternWork } from '../patterns/pattern-work.ts';
import { childrenOf, type Expr, type LiteralExpr } from '../syntax/expr.ts';
import { EvaluationStop, isFailure } from '../values/failure.ts';

/** Functions with a pattern among their arguments. */
const patternFunctions: ReadonlySet<string> = new Set(['matches', 'find', 'findAll']);

/** Number of instructions compiled between two pauses; they take about a millisecond. */
const instructionsPerSlice = 128;

/**
 * Notes in each constant pattern what is wrong with it. A pattern that the thread cannot check now, because it is busy or ends, is left to the
 * evaluation, because a fault that is noted here lasts as long as the expression.
 */
export function* checkPatterns(expr: Expr): SlicedWork<void> {
  const literals: LiteralExpr[] = [];
  collect(expr, literals);
  let instructions = 0;
  for (const literal of literals) {
    const pattern = literal.value as string;
    if (!isCompiledPattern(pattern)) instructions += patternSize(pattern);
    if (instructions > instructionsPerSlice) {
      instructions = 0;
      yield;
    }
    yield* check(literal, pattern);
  }
}

function* check(literal: LiteralExpr, pattern: string): SlicedWork<void> {
  try {
    const checked = yield* patternWork({ operation: 'check', pattern, text: '', limit: 0 });
    if (isFailure(checked)) literal.patternFault = checked;
  } catch (error) {
    if (!(error instanceof EvaluationStop)) throw error;
  }
}

function collect(expr: Expr, literals: LiteralExpr[]): void {
  if (expr.kind === 'call' && patternFunctions.has(expr.name)) {
    for (const arg of expr.args) {
      const literal = constantText(arg);
      if (literal !== undefined) literals.push(literal);
    }
  }
  for (const child of childrenOf(expr)) collect(child, literals);
}

/** Returns the literal of a constant text, which may be converted: `string('a')`. */
export function constantText(expr: Expr | undefined): LiteralExpr | undefined {
  if (expr?.kind === 'literal') return typeof expr.value === 'string' ? expr : undefined;
  const isConversion = expr?.kind === 'call' && (expr.name === 'string' || expr.name === 'dyn');
  return isConversion && expr.target === undefined && expr.args.length === 1 ? constantText(expr.args[0]) : undefined;
}

// Resolves names of an expression that is not checked: namespaced functions, dotted variables and types. Everything
// else is resolved during evaluation.
import type { Environment } from '../environment/environment.ts';
import { becomeIdent, type CallExpr, childrenOf, type Expr, qualifiedNameOf } from '../syntax/expr.ts';

/** Resolves names without types. `locals` are the variables of the surrounding macros. */
export function resolveNames(expr: Expr, environment: Environment, locals: readonly string[] = []): void {
  if (expr.kind === 'comprehension') return resolveComprehension(expr, environment, locals);
  const name = expr.kind === 'ident' || expr.kind === 'select' ? qualifiedNameOf(expr) : undefined;
  const root = name?.split('.')[0] ?? '';
  if (name !== undefined && !locals.includes(root)) {
    const found = environment.candidates(name).find((candidate) => environment.lookUp(candidate) !== undefined);
    if (found !== undefined) return becomeIdent(expr, found);
  }
  if (expr.kind === 'call') resolveCall(expr, environment);
  for (const child of childrenOf(expr)) resolveNames(child, environment, locals);
}

function resolveComprehension(
  expr: Extract<Expr, { kind: 'comprehension' }>,
  environment: Environment,
  locals: readonly string[],
): void {
  const inner = [...locals, expr.accumulator, expr.variable, expr.variable2 ?? expr.variable];
  resolveNames(expr.range, environment, locals);
  resolveNames(expr.start, environment, locals);
  for (const part of [expr.condition, expr.step, expr.result]) resolveNames(part, environment, inner);
}

function resolveCall(expr: CallExpr, environment: Environment): void {
  const prefix = expr.target === undefined ? undefined : qualifiedNameOf(expr.target);
  const written = prefix === undefined ? expr.name : `${prefix}.${expr.name}`;
  if (expr.target !== undefined && prefix === undefined) return;
  const found = environment.candidates(written).find((candidate) => environment.function(candidate) !== undefined);
  if (found === undefined) return;
  expr.name = found;
  expr.target = undefined;
}

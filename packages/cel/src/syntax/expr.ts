// Expr: the tree of an expression. The checker writes types and references into it, so a tree belongs to one compilation.
import type { CelType } from '../types/cel-type.ts';
import type { CelFailure } from '../values/failure.ts';
import type { Value } from '../values/value.ts';

/** The declaration of a name: a variable or type (`name`), or the overloads that a call may use. */
interface Reference {
  readonly name?: string;
  readonly overloads?: readonly string[];
}

interface ExprBase {
  /** Offset in UTF-16 units. A compound expression begins at its operator, dot or bracket. */
  readonly offset: number;
  type?: CelType;
  reference?: Reference;
}

export interface LiteralExpr extends ExprBase {
  kind: 'literal';
  readonly value: Value;
  /** Says why a constant text is not a pattern. Set by checker/pattern-check.ts. */
  patternFault?: CelFailure;
}

export interface IdentExpr extends ExprBase {
  kind: 'ident';
  name: string;
}

export interface SelectExpr extends ExprBase {
  kind: 'select';
  readonly operand: Expr;
  readonly field: string;
  /** True for `has(operand.field)`. */
  readonly isTest: boolean;
}

export interface CallExpr extends ExprBase {
  kind: 'call';
  name: string;
  target: Expr | undefined;
  readonly args: readonly Expr[];
}

export interface ListExpr extends ExprBase {
  kind: 'list';
  readonly elements: readonly Expr[];
  /** Indices of the elements written as `?x`. */
  readonly optionals: ReadonlySet<number>;
}

export interface MapEntry {
  readonly offset: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface MapExpr extends ExprBase {
  kind: 'map';
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly offset: number;
  readonly name: string;
  readonly value: Expr;
  readonly isOptional: boolean;
}

export interface StructExpr extends ExprBase {
  kind: 'struct';
  name: string;
  readonly fields: readonly StructField[];
}

export interface ComprehensionExpr extends ExprBase {
  kind: 'comprehension';
  readonly range: Expr;
  /** The element of a list or key of a map; with `variable2`, the index of a list or key of a map. */
  readonly variable: string;
  /** The element of a list or value of a map, in comprehensions of two variables. */
  readonly variable2: string | undefined;
  readonly accumulator: string;
  readonly start: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

/** Replaces a part of the text with an error; never reaches the checker. */
interface BrokenExpr extends ExprBase {
  kind: 'broken';
}

export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr
  | BrokenExpr;

/** Returns the expression as a dotted name (`a.b.c`); undefined for other expressions. */
export function qualifiedNameOf(expr: Expr): string | undefined {
  if (expr.kind === 'ident') return expr.name;
  if (expr.kind !== 'select' || expr.isTest) return undefined;
  const prefix = qualifiedNameOf(expr.operand);
  return prefix === undefined ? undefined : `${prefix}.${expr.field}`;
}

/** Turns a selection that forms a dotted name into the identifier that it means. */
export function becomeIdent(expr: Expr, name: string): void {
  const ident = expr as IdentExpr;
  ident.kind = 'ident';
  ident.name = name;
}

/** Returns the direct subexpressions in the order in which they are written or evaluated. */
export function childrenOf(expr: Expr): readonly Expr[] {
  switch (expr.kind) {
    case 'literal':
    case 'ident':
    case 'broken':
      return [];
    case 'select':
      return [expr.operand];
    case 'call':
      return expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    case 'list':
      return expr.elements;
    case 'map':
      return expr.entries.flatMap(({ key, value }) => [key, value]);
    case 'struct':
      return expr.fields.map(({ value }) => value);
    case 'comprehension':
      return [expr.range, expr.start, expr.condition, expr.step, expr.result];
  }
}

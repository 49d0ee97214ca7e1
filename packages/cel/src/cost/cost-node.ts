// CostNode: what the estimate of a call's cost knows of an operand.
import type { Expr } from '../syntax/expr.ts';
import type { CelType } from '../types/cel-type.ts';
import type { Range } from './range.ts';

export interface CostNode {
  /**
   * Where the value comes from: a variable, then names of fields, `@items`, `@keys`, `@values`. Undefined for values that
   * expressions compute.
   */
  readonly path: readonly string[] | undefined;
  readonly type: CelType;
  /** Undefined for the elements of an operand. */
  readonly expr: Expr | undefined;
  /** The size as far as the expression itself tells it. */
  readonly size: Range | undefined;
}

/** Bounds of sizes that the expression does not tell: of variables and what is in them. Undefined where it knows none. */
export type SizeEstimator = (node: Pick<CostNode, 'path' | 'type'>) => Range | undefined;

export interface CallEstimate {
  readonly cost: Range;
  /** Undefined when nothing is known of the result's size. */
  readonly resultSize?: Range | undefined;
}

/** A call as estimators see it. */
export interface EstimatedCall {
  readonly name: string;
  readonly overload: string;
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  /** The size of an operand, or the range of all sizes. */
  sizeOf(node: CostNode): Range;
}

/** Costs that both the estimate and evaluation count by. */
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;
/** Cost of a code point that is looked at. */
export const stringFactor = 0.1;
/** Cost of a character of a pattern. */
export const patternFactor = 0.25;

/** The elements of a list, as an operand; undefined for what is no list. */
export function elementOf(list: CostNode): CostNode | undefined {
  const [type] = list.type.parameters;
  if (type === undefined) return undefined;
  return { path: list.path && [...list.path, '@items'], type, expr: undefined, size: undefined };
}

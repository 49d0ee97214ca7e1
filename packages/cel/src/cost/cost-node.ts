// CostNode: an operand as the estimate of a call's cost sees it.
import type { Expr } from '../syntax/expr.ts';
import type { CelType } from '../types/cel-type.ts';
import type { Range } from './range.ts';

/** The origin of a value and how large it can be, from which the cost of an expression is estimated. */
export interface CostNode {
  /**
   * Origin of the value: a variable, then names of fields, `@items`, `@keys`, `@values`. Undefined for values that
   * expressions compute.
   */
  readonly path: readonly string[] | undefined;
  readonly type: CelType;
  /** Undefined for the elements of an operand. */
  readonly expr: Expr | undefined;
  /** The size, if the expression itself shows it. */
  readonly size: Range | undefined;
}

/**
 * Returns limits of sizes that the expression does not show, of variables and their contents. Undefined for unknown
 * ones.
 */
export type SizeEstimator = (node: Pick<CostNode, 'path' | 'type'>) => Range | undefined;

export interface CallEstimate {
  readonly cost: Range;
  /** Undefined when the result's size is unknown. */
  readonly resultSize?: Range | undefined;
}

/** A call as estimators see it. */
export interface EstimatedCall {
  readonly name: string;
  readonly overload: string;
  readonly target: CostNode | undefined;
  readonly args: readonly CostNode[];
  /** Returns the size of an operand, or the range of all sizes. */
  sizeOf(node: CostNode): Range;
}

/** Costs used by both the estimate and evaluation. */
export const listCost = 10;
export const mapCost = 30;
export const structCost = 40;
/** Cost per code point read. */
export const stringFactor = 0.1;
/** Cost per character of a pattern. */
export const patternFactor = 0.25;

/** Returns the elements of a list as an operand; undefined for another type. */
export function elementOf(list: CostNode): CostNode | undefined {
  const [type] = list.type.parameters;
  if (type === undefined) return undefined;
  return { path: list.path && [...list.path, '@items'], type, expr: undefined, size: undefined };
}

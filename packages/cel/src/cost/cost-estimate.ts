// The static estimate: the lowest and highest cost of an expression, from its text and the limits of its variables.
import type { CallExpr, ComprehensionExpr, Expr, ListExpr, MapExpr, SelectExpr } from '../syntax/expr.ts';
import { type CelType, dynType, isOptional, type TypeKind } from '../types/cel-type.ts';
import { sizeOf } from '../values/sizes.ts';
import { estimateCall } from './call-estimates.ts';
import {
  type CallEstimate,
  type CostNode,
  listCost,
  mapCost,
  type SizeEstimator,
  stringFactor,
  structCost,
} from './cost-node.ts';
import { CostScope, type EntrySize, type LocalVariable } from './cost-scope.ts';
import { add, exactly, largest, multiply, one, type Range, scale, union, unknownSize, zero } from './range.ts';

/** Returns the cost of a checked expression. */
export function estimateCost(expr: Expr, sizes: SizeEstimator): Range {
  return new Coster(sizes).cost(expr);
}

const emptyRange: Range = { min: largest, max: 0n };

class Coster {
  readonly #sizes: SizeEstimator;
  readonly #paths = new Map<Expr, readonly string[]>();
  readonly #computedSizes = new Map<Expr, Range>();
  readonly #entrySizes = new Map<Expr, EntrySize>();
  readonly #scope = new CostScope();

  constructor(sizes: SizeEstimator) {
    this.#sizes = sizes;
  }

  cost(expr: Expr): Range {
    switch (expr.kind) {
      case 'literal':
      case 'broken':
        return zero;
      case 'ident':
        this.#paths.set(expr, this.#scope.find(expr.name)?.path ?? [expr.name]);
        return one;
      case 'select':
        return this.#costSelect(expr);
      case 'call':
        return this.#costCall(expr);
      case 'list':
        return this.#costList(expr);
      case 'map':
        return this.#costMap(expr);
      case 'struct':
        return expr.fields.reduce((sum, field) => add(sum, this.cost(field.value)), exactly(structCost));
      case 'comprehension':
        return isBinding(expr) ? this.#costBinding(expr) : this.#costComprehension(expr);
    }
  }

  #costSelect(expr: SelectExpr): Range {
    const operandCost = this.cost(expr.operand);
    if (expr.isTest) return operandCost;
    this.#paths.set(expr, [...(this.#path(expr.operand) ?? []), expr.field]);
    const { kind } = typeOf(expr.operand);
    return kind === 'map' || kind === 'struct' || kind === 'typeParam' ? add(operandCost, one) : operandCost;
  }

  #costCall(expr: CallExpr): Range {
    if (expr.name === 'dyn') return this.#costDyn(expr);
    const argCosts = expr.args.map((arg) => this.cost(arg));
    const args = expr.args.map((arg) => this.#node(arg));
    const overloads = expr.reference?.overloads ?? [];
    if (overloads.length === 0) return zero;
    const targetCost = expr.target === undefined ? zero : this.cost(expr.target);
    const target = expr.target === undefined ? undefined : this.#node(expr.target);
    let cost = emptyRange;
    let resultSize: Range | undefined;
    for (const overload of overloads) {
      const estimate = this.#functionCost(expr, { overload, target, args, argCosts });
      cost = union(cost, estimate.cost);
      if (estimate.resultSize !== undefined) {
        resultSize = resultSize === undefined ? estimate.resultSize : union(resultSize, estimate.resultSize);
      }
      if (overload === 'index_list' || overload === 'index_map') resultSize = this.#costIndex(expr, overload);
      resultSize ??= this.#size(expr);
    }
    if (resultSize !== undefined) this.#computedSizes.set(expr, resultSize);
    return add(targetCost, cost);
  }

  #costIndex(expr: CallExpr, overload: string): Range | undefined {
    const container = expr.args[0] as Expr;
    const part = overload === 'index_list' ? '@items' : '@values';
    this.#paths.set(expr, [...(this.#path(container) ?? []), part]);
    return this.#entrySize(container)?.value;
  }

  /** `dyn` only disables type checks, so its result has the size of its argument. */
  #costDyn(expr: CallExpr): Range {
    const arg = expr.args[0] as Expr;
    const cost = add(one, this.cost(arg));
    this.#copySizes(expr, arg);
    return cost;
  }

  #functionCost(
    expr: CallExpr,
    call: { overload: string; target: CostNode | undefined; args: readonly CostNode[]; argCosts: readonly Range[] },
  ): CallEstimate {
    const { overload, target, args, argCosts } = call;
    const argCost = argCosts.reduce(add, zero);
    const estimate = estimateCall({ name: expr.name, overload, target, args, sizeOf: (node) => this.#nodeSize(node) });
    if (estimate !== undefined) return { ...estimate, cost: add(estimate.cost, argCost) };
    switch (overload) {
      case 'logical_or':
      case 'logical_and':
        return { cost: { min: (argCosts[0] as Range).min, max: argCost.max } };
      case 'conditional':
        return this.#costConditional(expr, argCosts);
      case 'add_string':
      case 'add_bytes':
      case 'add_list':
        return this.#costAddition(expr, { overload, argCost });
      default:
        return { cost: add(one, argCost) };
    }
  }

  #costConditional(expr: CallExpr, argCosts: readonly Range[]): CallEstimate {
    const [condition, whenTrue, whenFalse] = argCosts as readonly [Range, Range, Range];
    const [, trueExpr, falseExpr] = expr.args as readonly [Expr, Expr, Expr];
    const resultSize = union(this.#sizeOrUnknown(trueExpr), this.#sizeOrUnknown(falseExpr));
    this.#joinEntrySizes(expr, trueExpr, falseExpr);
    return { cost: add(condition, union(whenTrue, whenFalse)), resultSize };
  }

  #costAddition(expr: CallExpr, { overload, argCost }: { overload: string; argCost: Range }): CallEstimate {
    const [left, right] = expr.args as readonly [Expr, Expr];
    const resultSize = add(this.#sizeOrUnknown(left), this.#sizeOrUnknown(right));
    this.#joinEntrySizes(expr, left, right);
    const own = overload === 'add_list' ? one : scale(resultSize, stringFactor);
    return { cost: add(own, argCost), resultSize };
  }

  #joinEntrySizes(expr: Expr, left: Expr, right: Expr): void {
    const a = this.#entrySize(left);
    const b = this.#entrySize(right);
    if (a === undefined || b === undefined) return;
    this.#entrySizes.set(expr, { kind: a.kind, key: union(a.key, b.key), value: union(a.value, b.value) });
  }

  #costList(expr: ListExpr): Range {
    let cost = exactly(listCost);
    let value: Range = expr.elements.length === 0 ? zero : emptyRange;
    for (const element of expr.elements) {
      cost = add(cost, this.cost(element));
      value = union(value, this.#sizeOrUnknown(element));
    }
    this.#entrySizes.set(expr, { kind: 'list', key: one, value });
    return cost;
  }

  #costMap(expr: MapExpr): Range {
    let cost = exactly(mapCost);
    let key: Range = expr.entries.length === 0 ? zero : emptyRange;
    let value = key;
    for (const entry of expr.entries) {
      cost = add(add(cost, this.cost(entry.key)), this.cost(entry.value));
      key = union(key, this.#sizeOrUnknown(entry.key));
      value = union(value, this.#sizeOrUnknown(entry.value));
    }
    this.#entrySizes.set(expr, { kind: 'map', key, value });
    return cost;
  }

  #costBinding(expr: ComprehensionExpr): Range {
    const cost = add(this.cost(expr.range), this.cost(expr.start));
    this.#scope.push(expr.accumulator, this.#localVariable(expr.start));
    const resultCost = this.cost(expr.result);
    this.#copySizes(expr, expr.result);
    this.#scope.pop(expr.accumulator);
    return add(cost, resultCost);
  }

  #costComprehension(expr: ComprehensionExpr): Range {
    const startCost = add(this.cost(expr.range), this.cost(expr.start));
    this.#scope.push(expr.accumulator, this.#localVariable(expr.start));
    if (expr.variable2 === undefined) this.#scope.push(expr.variable, this.#element(expr.range));
    else {
      this.#scope.push(expr.variable, this.#key(expr.range));
      this.#scope.push(expr.variable2, this.#value(expr.range));
    }
    const loopCost = this.cost(expr.condition);
    const stepCost = this.cost(expr.step);
    this.#scope.pop(expr.variable);
    if (expr.variable2 !== undefined) this.#scope.pop(expr.variable2);
    const resultCost = this.cost(expr.result);
    this.#scope.pop(expr.accumulator);
    const count = this.#sizeOrUnknown(expr.range);
    this.#setResultSize(expr, count);
    return add(add(startCost, resultCost), multiply(count, add(stepCost, loopCost)));
  }

  #setResultSize(expr: ComprehensionExpr, count: Range): void {
    if (expr.start.kind === 'literal') {
      const size = this.#size(expr.start);
      if (size !== undefined) this.#computedSizes.set(expr, size);
    } else if (expr.start.kind === 'list' || expr.start.kind === 'map') {
      this.#computedSizes.set(expr, count);
      const entries = this.#entrySize(expr.step);
      if (entries !== undefined) this.#entrySizes.set(expr, entries);
    }
  }

  #localVariable(expr: Expr): LocalVariable {
    return { path: this.#path(expr), size: this.#size(expr), entrySize: this.#entrySize(expr) };
  }

  #containerKind(range: Expr): TypeKind {
    return this.#entrySize(range)?.kind ?? typeOf(range).kind;
  }

  #element(range: Expr): LocalVariable {
    return this.#containerKind(range) === 'list'
      ? this.#part(range, '@items', 'value')
      : this.#part(range, '@keys', 'key');
  }

  #key(range: Expr): LocalVariable {
    return this.#part(range, this.#containerKind(range) === 'list' ? '@indices' : '@keys', 'key');
  }

  #value(range: Expr): LocalVariable {
    return this.#part(range, this.#containerKind(range) === 'list' ? '@items' : '@values', 'value');
  }

  #part(range: Expr, name: string, side: 'key' | 'value'): LocalVariable {
    const path = [...(this.#path(range) ?? []), name];
    return { path, size: this.#entrySize(range)?.[side], entrySize: undefined };
  }

  #path(expr: Expr): readonly string[] | undefined {
    const local = expr.kind === 'ident' ? this.#scope.find(expr.name) : undefined;
    return local === undefined ? this.#paths.get(expr) : local.path;
  }

  #node(expr: Expr): CostNode {
    const path = this.#path(expr);
    const isAccumulated = path?.[0] === '@result' || path?.[0] === '__result__';
    return { path: isAccumulated ? undefined : path, type: typeOf(expr), expr, size: this.#size(expr) };
  }

  #nodeSize(node: CostNode): Range {
    return node.size ?? this.#sizes(node) ?? unknownSize;
  }

  #sizeOrUnknown(expr: Expr): Range {
    return this.#size(expr) ?? unknownSize;
  }

  #copySizes(to: Expr, from: Expr): void {
    const size = this.#size(from);
    if (size !== undefined) this.#computedSizes.set(to, size);
    const entries = this.#entrySize(from);
    if (entries !== undefined) this.#entrySizes.set(to, entries);
  }

  #size(expr: Expr): Range | undefined {
    const known = this.#computedSizes.get(expr) ?? literalSize(expr);
    if (known !== undefined) return known;
    const estimated = this.#sizes({ path: this.#path(expr), type: typeOf(expr) });
    if (estimated !== undefined) {
      this.#computedSizes.set(expr, estimated);
      return estimated;
    }
    if (isScalar(typeOf(expr))) return one;
    return expr.kind === 'ident' ? this.#scope.find(expr.name)?.size : undefined;
  }

  #entrySize(expr: Expr): EntrySize | undefined {
    const known = this.#entrySizes.get(expr);
    if (known !== undefined) return known;
    return expr.kind === 'ident' ? this.#scope.find(expr.name)?.entrySize : undefined;
  }
}

function typeOf(expr: Expr): CelType {
  return expr.type ?? dynType;
}

/** True for a loop over nothing, which only gives a value a name. */
function isBinding({ range, condition, accumulator }: ComprehensionExpr): boolean {
  const isEmpty = range.kind === 'list' && range.elements.length === 0;
  return isEmpty && condition.kind === 'literal' && condition.value === false && accumulator !== '__result__';
}

function literalSize(expr: Expr): Range | undefined {
  if (expr.kind === 'list') return exactly(expr.elements.length);
  if (expr.kind === 'map') return exactly(expr.entries.length);
  return expr.kind === 'literal' ? exactly(sizeOf(expr.value) ?? 1) : undefined;
}

/** True when all values of the type have the same size. */
function isScalar(type: CelType): boolean {
  if (isOptional(type)) return isScalar(type.first);
  return ['bool', 'double', 'duration', 'int', 'timestamp', 'uint'].includes(type.kind);
}

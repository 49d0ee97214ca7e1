// MacroBuilder makes the expressions that a macro expands to. All of them begin where the macro's call does.

import type { Value } from '../values/value.ts';
import type { ComprehensionExpr, Expr, MapEntry, StructField } from './expr.ts';

const noOptionals: ReadonlySet<number> = new Set();

/** A loop from the accumulator's initial value to the result; its variable is the macro's first argument. */
export type Fold = Pick<ComprehensionExpr, 'start' | 'condition' | 'step' | 'result'>;

export class MacroBuilder {
  readonly #offset: number;

  constructor(offset: number) {
    this.#offset = offset;
  }

  literal(value: Value): Expr {
    return { kind: 'literal', offset: this.#offset, value };
  }

  ident(name: string): Expr {
    return { kind: 'ident', offset: this.#offset, name };
  }

  accumulator(): Expr {
    return this.ident('@result');
  }

  call(name: string, args: readonly Expr[]): Expr {
    return { kind: 'call', offset: this.#offset, name, target: undefined, args };
  }

  memberCall(name: string, target: Expr, args: readonly Expr[]): Expr {
    return { kind: 'call', offset: this.#offset, name, target, args };
  }

  list(elements: readonly Expr[]): Expr {
    return { kind: 'list', offset: this.#offset, elements, optionals: noOptionals };
  }

  emptyMap(): Expr {
    return { kind: 'map', offset: this.#offset, entries: [] };
  }

  test(operand: Expr, field: string): Expr {
    return { kind: 'select', offset: this.#offset, operand, field, isTest: true };
  }

  /** Makes the loop of a macro; the accumulator has the hidden name. */
  fold(loop: Pick<ComprehensionExpr, 'range' | 'variable' | 'variable2'>, fold: Fold): Expr {
    return { kind: 'comprehension', offset: this.#offset, accumulator: '@result', ...loop, ...fold };
  }

  /** Evaluates `result` with `value` under a name, as a loop over nothing. */
  bind(name: string, value: Expr, result: Expr): Expr {
    return {
      kind: 'comprehension',
      offset: this.#offset,
      range: this.list([]),
      variable: '#unused',
      variable2: undefined,
      accumulator: name,
      start: value,
      condition: this.literal(false),
      step: this.ident(name),
      result,
    };
  }

  /** Copies the tree of an expression: the checker writes into trees, so no two places may share one. */
  copy(expr: Expr): Expr {
    const copyAll = (list: readonly Expr[]): Expr[] => list.map((item) => this.copy(item));
    switch (expr.kind) {
      case 'literal':
      case 'ident':
      case 'broken':
        return { ...expr };
      case 'select':
        return { ...expr, operand: this.copy(expr.operand) };
      case 'call':
        return { ...expr, target: expr.target && this.copy(expr.target), args: copyAll(expr.args) };
      case 'list':
        return { ...expr, elements: copyAll(expr.elements) };
      case 'map':
        return { ...expr, entries: expr.entries.map((entry) => this.#copyEntry(entry)) };
      case 'struct':
        return { ...expr, fields: expr.fields.map((field) => this.#copyField(field)) };
      case 'comprehension':
        return this.#copyComprehension(expr);
    }
  }

  #copyEntry(entry: MapEntry): MapEntry {
    return { ...entry, key: this.copy(entry.key), value: this.copy(entry.value) };
  }

  #copyField(field: StructField): StructField {
    return { ...field, value: this.copy(field.value) };
  }

  #copyComprehension(expr: ComprehensionExpr): Expr {
    return {
      ...expr,
      range: this.copy(expr.range),
      start: this.copy(expr.start),
      condition: this.copy(expr.condition),
      step: this.copy(expr.step),
      result: this.copy(expr.result),
    };
  }
}

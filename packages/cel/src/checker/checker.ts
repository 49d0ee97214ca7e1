// Checker gives every expression its type, and every name and call the declaration to which it refers. It writes both
// into the tree.
import type { Environment } from '../environment/environment.ts';
import {
  becomeIdent,
  type CallExpr,
  type ComprehensionExpr,
  type Expr,
  type ListExpr,
  type MapExpr,
  qualifiedNameOf,
  type SelectExpr,
} from '../syntax/expr.ts';
import type { Issues } from '../syntax/issues.ts';
import { mostGeneral, TypeMapping } from '../types/assignability.ts';
import {
  boolType,
  type CelType,
  dynType,
  errorType,
  formatSignature,
  formatType,
  intType,
  isDyn,
  isDynOrError,
  isOptional,
  listType,
  mapType,
  optionalType,
  typeParam,
} from '../types/cel-type.ts';
import type { FunctionDeclaration } from '../types/function-declaration.ts';
import { typeOfValue } from '../values/value.ts';
import type { CheckContext } from './check-context.ts';
import { type Resolution, resolveOverloads } from './overload-resolution.ts';
import { Scope } from './scope.ts';
import { checkStruct } from './struct-check.ts';

/** Checks an expression. The tree is valid only when there are no issues. */
export function checkExpression(expr: Expr, environment: Environment, issues: Issues): void {
  const checker = new Checker(environment, issues);
  checker.check(expr);
  checker.finish();
}

class Checker implements CheckContext {
  readonly environment: Environment;
  readonly #issues: Issues;
  readonly mapping: TypeMapping = new TypeMapping();
  readonly #typed: Expr[] = [];
  #scope: Scope | undefined;
  #typeVariables = 0;

  constructor(environment: Environment, issues: Issues) {
    this.environment = environment;
    this.#issues = issues;
  }

  /** Replaces the type parameters by the types found for them. A parameter without a type becomes `dyn`. */
  finish(): void {
    for (const expr of this.#typed) expr.type = this.mapping.substitute(expr.type ?? dynType, true);
  }

  check(expr: Expr): void {
    switch (expr.kind) {
      case 'literal':
        return this.setType(expr, typeOfValue(expr.value));
      case 'ident':
        return this.#checkIdent(expr, expr.name);
      case 'select':
        return this.#checkSelect(expr);
      case 'call':
        return this.#checkCall(expr);
      case 'list':
        return this.#checkList(expr);
      case 'map':
        return this.#checkMap(expr);
      case 'struct':
        return checkStruct(this, expr);
      case 'comprehension':
        return this.#checkComprehension(expr);
      case 'broken':
        return this.setType(expr, errorType);
    }
  }

  setType(expr: Expr, type: CelType): void {
    expr.type = type;
    this.#typed.push(expr);
  }

  typeOf(expr: Expr): CelType {
    return expr.type ?? dynType;
  }

  report(expr: { readonly offset: number }, message: string): void {
    this.#issues.add(expr.offset, message);
  }

  reportMismatch(expr: { readonly offset: number }, expected: CelType, actual: CelType): void {
    this.report(expr, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
  }

  reportUndeclared(expr: Expr, name: string): void {
    this.report(expr, `undeclared reference to '${name}' (in container '${this.environment.container}')`);
    this.setType(expr, errorType);
  }

  newTypeVariable(): CelType {
    return typeParam(`_var${this.#typeVariables++}`);
  }

  /** Returns the type inside an optional; for another type, the type itself after reporting an error. */
  unwrapOptional(expr: Expr): CelType {
    const type = this.typeOf(expr);
    if (isOptional(type)) return type.first;
    if (!isDyn(type)) this.reportMismatch(expr, optionalType(type), type);
    return type;
  }

  #lookUp(name: string): { readonly name: string; readonly type: CelType } | undefined {
    for (const candidate of this.environment.candidates(name)) {
      const local = this.#scope?.find(candidate);
      if (local !== undefined) return { name: candidate, type: local };
      const found = this.environment.lookUp(candidate);
      if (found !== undefined) return { name: candidate, type: found.type };
    }
    return undefined;
  }

  #function(name: string): FunctionDeclaration | undefined {
    for (const candidate of this.environment.candidates(name)) {
      const found = this.environment.function(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }

  #checkIdent(expr: Expr, name: string): void {
    const found = this.#lookUp(name);
    if (found === undefined) return this.reportUndeclared(expr, name);
    this.setType(expr, found.type);
    expr.reference = { name: found.name };
    becomeIdent(expr, found.name);
  }

  #checkSelect(expr: SelectExpr): void {
    const name = qualifiedNameOf(expr);
    const found = name === undefined ? undefined : this.#lookUp(name);
    if (found !== undefined) return this.#checkIdent(expr, name as string);
    const type = this.#fieldType(expr, expr.operand, { field: expr.field, isOptional: false });
    this.setType(expr, expr.isTest ? boolType : this.mapping.substitute(type));
  }

  #fieldType(expr: Expr, operand: Expr, selection: { field: string; isOptional: boolean }): CelType {
    this.check(operand);
    const operandType = this.mapping.substitute(this.typeOf(operand));
    const isInOptional = isOptional(operandType);
    const target = isInOptional ? operandType.first : operandType;
    const type = this.#selectedType(expr, target, selection.field);
    return isInOptional || selection.isOptional ? optionalType(type) : type;
  }

  #selectedType(expr: Expr, target: CelType, field: string): CelType {
    if (target.kind === 'map') return target.second;
    if (target.kind === 'struct') {
      const type = this.environment.provider.fieldType(target.name, field);
      if (type !== undefined) return type;
      const isKnown = this.environment.provider.hasStruct(target.name);
      this.report(expr, isKnown ? `undefined field '${field}'` : `unexpected failed resolution of '${target.name}'`);
      return errorType;
    }
    if (target.kind === 'typeParam') this.mapping.isAssignable(dynType, target);
    else if (!isDynOrError(target)) {
      this.report(expr, `type '${formatType(target)}' does not support field selection`);
    }
    return dynType;
  }

  #checkCall(expr: CallExpr): void {
    if (expr.name === '_?._') return this.#checkOptionalSelect(expr);
    for (const arg of expr.args) this.check(arg);
    if (expr.target === undefined) return this.#checkGlobalCall(expr, expr.name);
    const prefix = qualifiedNameOf(expr.target);
    const namespaced = prefix === undefined ? undefined : this.#function(`${prefix}.${expr.name}`);
    if (namespaced !== undefined) {
      expr.target = undefined;
      expr.name = namespaced.name;
      return this.#resolve(expr, namespaced);
    }
    this.check(expr.target);
    const declaration = this.#function(expr.name);
    if (declaration === undefined) return this.reportUndeclared(expr, expr.name);
    this.#resolve(expr, declaration);
  }

  #checkGlobalCall(expr: CallExpr, name: string): void {
    const declaration = this.#function(name);
    if (declaration === undefined) return this.reportUndeclared(expr, name);
    expr.name = declaration.name;
    this.#resolve(expr, declaration);
  }

  #checkOptionalSelect(expr: CallExpr): void {
    const [operand, field] = expr.args as [Expr, Expr];
    const name = field.kind === 'literal' && typeof field.value === 'string' ? field.value : '';
    const type = this.#fieldType(expr, operand, { field: name, isOptional: true });
    this.setType(field, typeOfValue(name));
    this.setType(expr, this.mapping.substitute(type));
    expr.reference = { overloads: ['select_optional_field'] };
  }

  #resolve(expr: CallExpr, declaration: FunctionDeclaration): void {
    const resolution = this.#resolution(expr, declaration);
    this.setType(expr, resolution?.type ?? errorType);
    if (resolution !== undefined) expr.reference = { overloads: resolution.overloads };
  }

  #resolution(expr: CallExpr, declaration: FunctionDeclaration): Resolution | undefined {
    if (declaration.name === '_&&_' || declaration.name === '_||_') return this.#logicResolution(expr, declaration);
    const operands = expr.target === undefined ? expr.args : [expr.target, ...expr.args];
    const types = operands.map((operand) => this.typeOf(operand));
    const isMember = expr.target !== undefined;
    const resolution = resolveOverloads(this, { declaration, types, isMember });
    if (resolution !== undefined) return resolution;
    const shown = formatSignature(
      types.map((type) => this.mapping.substitute(type, true)),
      isMember,
    );
    this.report(expr, `found no matching overload for '${declaration.name}' applied to '${shown}'`);
    return undefined;
  }

  #logicResolution(expr: CallExpr, declaration: FunctionDeclaration): Resolution | undefined {
    let isSound = true;
    for (const arg of expr.args) {
      if (this.mapping.isAssignable(this.typeOf(arg), boolType)) continue;
      this.reportMismatch(arg, boolType, this.typeOf(arg));
      isSound = false;
    }
    return isSound ? { type: boolType, overloads: [declaration.overloads[0]?.id ?? ''] } : undefined;
  }

  #checkList(expr: ListExpr): void {
    let type: CelType | undefined;
    for (const [i, element] of expr.elements.entries()) {
      this.check(element);
      type = this.#joined(type, expr.optionals.has(i) ? this.unwrapOptional(element) : this.typeOf(element));
    }
    this.setType(expr, listType(type ?? this.newTypeVariable()));
  }

  #checkMap(expr: MapExpr): void {
    let keyType: CelType | undefined;
    let valueType: CelType | undefined;
    for (const { key, value, isOptional: isOptionalEntry } of expr.entries) {
      this.check(key);
      keyType = this.#joined(keyType, this.typeOf(key));
      this.check(value);
      valueType = this.#joined(valueType, isOptionalEntry ? this.unwrapOptional(value) : this.typeOf(value));
    }
    this.setType(expr, mapType(keyType ?? this.newTypeVariable(), valueType ?? this.newTypeVariable()));
  }

  /** Returns the common type of a literal's elements so far and one more: `dyn` when there is none. */
  #joined(before: CelType | undefined, next: CelType): CelType {
    if (before === undefined) return next;
    return this.mapping.isAssignable(before, next) ? mostGeneral(before, next) : dynType;
  }

  #checkComprehension(expr: ComprehensionExpr): void {
    this.check(expr.range);
    this.check(expr.start);
    const rangeType = this.mapping.substitute(this.typeOf(expr.range));
    const accumulatorType = this.typeOf(expr.start);
    const outer = this.#scope;
    const accumulatorScope = new Scope(outer, [[expr.accumulator, accumulatorType]]);
    const [type, type2] = this.#variableTypes(expr, rangeType);
    const variables: [string, CelType][] = [[expr.variable, type]];
    if (expr.variable2 !== undefined) variables.push([expr.variable2, type2]);
    this.#scope = new Scope(accumulatorScope, variables);
    this.check(expr.condition);
    this.#require(expr.condition, boolType);
    this.check(expr.step);
    this.#require(expr.step, accumulatorType);
    this.#scope = accumulatorScope;
    this.check(expr.result);
    this.#scope = outer;
    this.setType(expr, this.mapping.substitute(this.typeOf(expr.result)));
  }

  #require(expr: Expr, type: CelType): void {
    if (!this.mapping.isAssignable(type, this.typeOf(expr))) this.reportMismatch(expr, type, this.typeOf(expr));
  }

  #variableTypes(expr: ComprehensionExpr, range: CelType): [first: CelType, second: CelType] {
    const hasTwo = expr.variable2 !== undefined;
    if (range.kind === 'list') return hasTwo ? [intType, range.first] : [range.first, dynType];
    if (range.kind === 'map') return [range.first, range.second];
    if (range.kind === 'dyn' || range.kind === 'error' || range.kind === 'typeParam') {
      this.mapping.isAssignable(dynType, range);
      return [dynType, dynType];
    }
    const shown = formatType(range);
    const message = `expression of type '${shown}' cannot be range of a comprehension (must be list, map, or dynamic)`;
    this.report(expr.range, message);
    return [errorType, errorType];
  }
}

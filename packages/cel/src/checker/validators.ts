// Validators: checks of literals after the types are known: constant durations, timestamps and patterns, elements of one type,
// format strings.
import type { Environment, ValidationOptions } from '../environment/environment.ts';
import { type CallExpr, childrenOf, type Expr, type ListExpr, type LiteralExpr, type MapExpr } from '../syntax/expr.ts';
import type { Issues } from '../syntax/issues.ts';
import { type CelType, durationType, dynType, formatType, isEquivalentType, timestampType } from '../types/cel-type.ts';
import { convertValue } from '../values/conversion.ts';
import { isFailure } from '../values/failure.ts';
import { validateFormat } from './format-validator.ts';

/**
 * Reports literals that are wrong for all values of the variables. The expression must have been checked without
 * issues.
 */
export function validateLiterals(expr: Expr, environment: Environment, issues: Issues): void {
  const hasFormat = environment.function('format') !== undefined;
  visit(expr, false, { ...environment.validation, hasFormat, issues });
}

interface Validation extends ValidationOptions {
  readonly hasFormat: boolean;
  readonly issues: Issues;
}

/** Arguments of `format` may be of different types. */
function visit(expr: Expr, isInFormat: boolean, validation: Validation): void {
  const { requiresSameTypes, hasFormat, issues } = validation;
  if (requiresSameTypes && !(isInFormat && hasFormat)) validateAggregate(expr, issues);
  const isCall = expr.kind === 'call';
  if (isCall) validateCallIn(expr, validation);
  const isFormat = isInFormat || (isCall && expr.name === 'format');
  for (const child of childrenOf(expr)) visit(child, isFormat, validation);
}

function validateCallIn(expr: CallExpr, { checksLiterals, hasFormat, issues }: Validation): void {
  if (checksLiterals) validateCall(expr, issues);
  if (hasFormat) validateFormat(expr, issues);
}

function validateCall(call: CallExpr, issues: Issues): void {
  const [arg] = call.args;
  if (arg?.kind !== 'literal') return;
  const isValid = literalCheck(call.name);
  if (isValid !== undefined && !isValid(arg)) issues.add(arg.offset, `invalid ${call.name} argument`);
}

function literalCheck(name: string): ((literal: LiteralExpr) => boolean) | undefined {
  switch (name) {
    case 'duration':
      return ({ value }) => !isFailure(convertValue(value, durationType));
    case 'timestamp':
      return ({ value }) => !isFailure(convertValue(value, timestampType));
    case 'matches':
      return ({ patternFault }) => patternFault === undefined;
    default:
      return undefined;
  }
}

function validateAggregate(expr: Expr, issues: Issues): void {
  if (expr.kind === 'list') validateList(expr, issues);
  if (expr.kind === 'map') validateMap(expr, issues);
}

function validateList(expr: ListExpr, issues: Issues): void {
  let first: CelType | undefined;
  for (const [i, element] of expr.elements.entries()) {
    const own = element.type ?? dynType;
    const type = expr.optionals.has(i) ? own.first : own;
    first ??= type;
    if (isEquivalentType(first, type)) continue;
    return reportMismatch(issues, element, [first, type]);
  }
}

function validateMap(expr: MapExpr, issues: Issues): void {
  let types: readonly [key: CelType, value: CelType] | undefined;
  for (const { key, value, isOptional } of expr.entries) {
    const keyType = key.type ?? dynType;
    const own = value.type ?? dynType;
    const valueType = isOptional ? own.first : own;
    types ??= [keyType, valueType];
    if (!isEquivalentType(types[0], keyType)) reportMismatch(issues, key, [types[0], keyType]);
    if (!isEquivalentType(types[1], valueType)) reportMismatch(issues, value, [types[1], valueType]);
  }
}

function reportMismatch(issues: Issues, expr: Expr, [expected, actual]: readonly [CelType, CelType]): void {
  issues.add(expr.offset, `expected type '${formatType(expected)}' but found '${formatType(actual)}'`);
}

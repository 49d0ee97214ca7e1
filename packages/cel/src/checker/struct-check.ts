// Checks of struct literals: `Object.spec{replicas: 1}`.
import type { StructExpr } from '../syntax/expr.ts';
import { type CelType, errorType, formatType } from '../types/cel-type.ts';
import type { CheckContext } from './check-context.ts';

export function checkStruct(checker: CheckContext, expr: StructExpr): void {
  const name = checker.environment.candidates(expr.name).find((candidate) => checker.environment.lookUp(candidate));
  if (name === undefined) return checker.reportUndeclared(expr, expr.name);
  const { type } = checker.environment.lookUp(name) as { type: CelType };
  expr.name = name;
  expr.reference = { name };
  checker.setType(expr, structTypeOf(checker, expr, type));
  for (const field of expr.fields) {
    checker.check(field.value);
    const fieldType = fieldTypeOf(checker, expr, field);
    const valueType = field.isOptional ? checker.unwrapOptional(field.value) : checker.typeOf(field.value);
    if (checker.mapping.isAssignable(fieldType, valueType)) continue;
    const message = `expected type of field '${field.name}' is '${formatType(fieldType)}' but provided type is '${formatType(valueType)}'`;
    checker.report(field, message);
  }
}

function structTypeOf(checker: CheckContext, expr: StructExpr, type: CelType): CelType {
  if (type.kind === 'error') return errorType;
  if (type.kind !== 'type') {
    checker.report(expr, `'${type.name}' is not a type`);
    return errorType;
  }
  if (type.first.kind === 'struct' || checker.environment.provider.hasStruct(expr.name)) return type.first;
  checker.report(expr, `'${type.first.name}' is not a message type`);
  return errorType;
}

function fieldTypeOf(
  checker: CheckContext,
  expr: StructExpr,
  field: { readonly offset: number; readonly name: string },
): CelType {
  const { provider } = checker.environment;
  if (!provider.hasStruct(expr.name)) {
    checker.report(field, `unexpected failed resolution of '${expr.name}'`);
    return errorType;
  }
  const type = provider.fieldType(expr.name, field.name);
  if (type === undefined) checker.report(field, `undefined field '${field.name}'`);
  return type ?? errorType;
}

// The library of quantities: `quantity('1.5Gi')`.
import { parseQuantity, type Quantity, quantityOf } from '@kapstan/api';
import type { Library } from '../environment.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import { type FunctionDeclaration, globalOverload, memberOverload, oneOverload } from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { type Int, int64Range, intOf } from '../values/integers.ts';
import { doubleValue } from '../values/value.ts';

const quantityType = structType('kubernetes.Quantity');

export class CelQuantity extends CelObject {
  readonly type: CelType = quantityType;
  readonly quantity: Quantity;

  constructor(quantity: Quantity) {
    super();
    this.quantity = quantity;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelQuantity ? this.quantity.compare(other.quantity) === 0 : overloadFailure(other);
  }

  override toString(): string {
    return this.quantity.toString();
  }
}

function quantity(text: string): CelQuantity | CelFailure {
  try {
    return new CelQuantity(parseQuantity(text));
  } catch (error) {
    return new CelFailure((error as Error).message);
  }
}

/** The amount as an int, or undefined when it has a fraction or does not fit. */
function wholeOf({ quantity }: CelQuantity): Int | undefined {
  const rounded = quantity.scaledValue();
  if (!int64Range.has(rounded) || quantityOf(rounded).compare(quantity) !== 0) return undefined;
  return intOf(rounded);
}

const notWhole = new CelFailure('cannot convert value to integer');
const pair = 'kubernetes.Quantity, kubernetes.Quantity';

function compared(name: string, id: string, read: (order: number) => unknown, result: string): FunctionDeclaration {
  const run = (left: CelQuantity, right: CelQuantity): unknown => read(left.quantity.compare(right.quantity));
  return oneOverload(name, memberOverload(id, `${pair} -> ${result}`, run));
}

function combined(name: string, combine: (left: Quantity, right: Quantity) => Quantity): FunctionDeclaration {
  const run = (left: CelQuantity, right: CelQuantity): unknown => new CelQuantity(combine(left.quantity, right.quantity));
  const runInt = (left: CelQuantity, right: Int): unknown =>
    new CelQuantity(combine(left.quantity, quantityOf(right, 'DecimalExponent')));
  return {
    name,
    overloads: [
      memberOverload(`quantity_${name}`, `${pair} -> kubernetes.Quantity`, run),
      memberOverload(`quantity_${name}_int`, 'kubernetes.Quantity, int -> kubernetes.Quantity', runInt),
    ],
  };
}

export const quantityLibrary: Library = {
  name: 'kubernetes.quantity',
  functions: [
    oneOverload('quantity', globalOverload('string_to_quantity', 'string -> kubernetes.Quantity', quantity)),
    oneOverload(
      'isQuantity',
      globalOverload('is_quantity_string', 'string -> bool', (text: string) => !isFailure(quantity(text))),
    ),
    oneOverload(
      'sign',
      globalOverload('quantity_sign', 'kubernetes.Quantity -> int', ({ quantity }: CelQuantity) => quantity.sign),
    ),
    compared('isGreaterThan', 'quantity_is_greater_than', (order) => order === 1, 'bool'),
    compared('isLessThan', 'quantity_is_less_than', (order) => order === -1, 'bool'),
    compared('compareTo', 'quantity_compare_to', (order) => order, 'int'),
    oneOverload(
      'asApproximateFloat',
      memberOverload('quantity_get_float', 'kubernetes.Quantity -> double', ({ quantity }: CelQuantity) =>
        doubleValue(quantity.toNumber()),
      ),
    ),
    oneOverload(
      'asInteger',
      memberOverload('quantity_get_int', 'kubernetes.Quantity -> int', (value: CelQuantity) => wholeOf(value) ?? notWhole),
    ),
    oneOverload(
      'isInteger',
      memberOverload('quantity_is_integer', 'kubernetes.Quantity -> bool', (value: CelQuantity) => wholeOf(value) !== undefined),
    ),
    combined('add', (left, right) => left.add(right)),
    combined('sub', (left, right) => left.subtract(right)),
  ],
};

// The library of quantities: `quantity('1.5Gi')`.

import { parseQuantity, type Quantity } from '@kapstan/api';
import { quantityOf } from '@kapstan/api/internal';
import type { Library } from '../environment/library.ts';
import { type CelType, structType } from '../types/cel-type.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { type Int, intOf } from '../values/integers.ts';
import { doubleValue } from '../values/value.ts';
import { type Amount, addAmounts, approximate, integerOf, negative, readAmount } from './amount.ts';

const quantityType = structType('kubernetes.Quantity');

/** A value of the type `kubernetes.Quantity`. */
export class CelQuantity extends CelObject {
  readonly type: CelType = quantityType;
  readonly quantity: Quantity;
  readonly amount: Amount;
  /** True when it was computed. Go can compare such a quantity with others, but not others with it. */
  readonly isCalculated: boolean;

  constructor(quantity: Quantity, amount: Amount = readAmount(quantity.toString()), isCalculated = false) {
    super();
    this.quantity = quantity;
    this.amount = amount;
    this.isCalculated = isCalculated;
  }

  override equals(other: unknown): boolean | CelFailure {
    return other instanceof CelQuantity && !other.isCalculated
      ? this.quantity.compare(other.quantity) === 0
      : overloadFailure(other);
  }

  override get nativeType(): string {
    return '*resource.Quantity';
  }

  override toString(): string {
    return this.quantity.toString();
  }
}

function quantity(text: string): CelQuantity | CelFailure {
  try {
    return new CelQuantity(parseQuantity(text), readAmount(text));
  } catch (error) {
    return new CelFailure((error as Error).message);
  }
}

function wholeOf({ amount }: CelQuantity): Int | undefined {
  const whole = integerOf(amount);
  return whole === undefined ? undefined : intOf(whole);
}

function approximation({ amount }: CelQuantity): unknown {
  return doubleValue(approximate(amount));
}

const smallest = -(2n ** 63n);
const notWhole = new CelFailure('cannot convert value to integer');
const pair = 'kubernetes.Quantity, kubernetes.Quantity';

function compared(
  name: string,
  [id, result]: readonly [string, string],
  read: (order: number) => unknown,
): FunctionDeclaration {
  const run = (left: CelQuantity, right: CelQuantity): unknown => read(left.quantity.compare(right.quantity));
  return oneOverload(name, memberOverload(id, `${pair} -> ${result}`, run));
}

function sum(left: CelQuantity, right: CelQuantity): CelQuantity {
  return new CelQuantity(left.quantity.add(right.quantity), addAmounts(left.amount, right.amount), true);
}

function difference(left: CelQuantity, right: CelQuantity): CelQuantity {
  // The smallest 64-bit integer has no negation in Go, so it is added if the sum fits.
  const sum = addAmounts(left.amount, negative(right.amount));
  if (right.amount.value === smallest && !sum.isDecimal)
    return new CelQuantity(left.quantity.add(right.quantity), sum, true);
  const exact = addAmounts(left.amount, { ...right.amount, value: -right.amount.value });
  return new CelQuantity(left.quantity.subtract(right.quantity), sum.isDecimal ? exact : sum, true);
}

function combined(name: string, run: (left: CelQuantity, right: CelQuantity) => CelQuantity): FunctionDeclaration {
  const runInt = (left: CelQuantity, right: Int): unknown =>
    run(
      left,
      new CelQuantity(quantityOf(right, 'DecimalExponent'), { value: BigInt(right), scale: 0, isDecimal: false }),
    );
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
    compared('isGreaterThan', ['quantity_is_greater_than', 'bool'], (order) => order === 1),
    compared('isLessThan', ['quantity_is_less_than', 'bool'], (order) => order === -1),
    compared('compareTo', ['quantity_compare_to', 'int'], (order) => order),
    oneOverload(
      'asApproximateFloat',
      memberOverload('quantity_get_float', 'kubernetes.Quantity -> double', approximation),
    ),
    oneOverload(
      'asInteger',
      memberOverload(
        'quantity_get_int',
        'kubernetes.Quantity -> int',
        (value: CelQuantity) => wholeOf(value) ?? notWhole,
      ),
    ),
    oneOverload(
      'isInteger',
      memberOverload(
        'quantity_is_integer',
        'kubernetes.Quantity -> bool',
        (value: CelQuantity) => wholeOf(value) !== undefined,
      ),
    ),
    combined('add', sum),
    combined('sub', difference),
  ],
};

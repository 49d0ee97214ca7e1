// CelUint and CelDouble: numbers that would look like ints as plain numbers.
import { CelBox } from './cel-box.ts';

/** An unsigned 64-bit integer. */
export class CelUint extends CelBox {
  readonly kind = 'uint';
  readonly value: bigint;

  constructor(value: bigint) {
    super();
    this.value = value;
  }
}

/** A double whose value is a safe integer; every other double is a plain number. */
export class CelDouble extends CelBox {
  readonly kind = 'double';
  readonly value: number;

  constructor(value: number) {
    super();
    this.value = value;
  }
}

/** Returns the number of a value of kind `double`. */
export function numberOfDouble(value: unknown): number {
  return value instanceof CelDouble ? value.value : (value as number);
}

// CelOptional: a value, or the absence of one.
import { CelBox } from './cel-box.ts';
import { CelFailure } from './failure.ts';

/** A value of the type `optional_type`. */
export class CelOptional extends CelBox {
  readonly kind = 'optional';
  /** Undefined for none. */
  readonly value: unknown;

  private constructor(value: unknown) {
    super();
    this.value = value;
  }

  static readonly none: CelOptional = new CelOptional(undefined);

  static of(value: unknown): CelOptional {
    return new CelOptional(value);
  }

  get hasValue(): boolean {
    return this.value !== undefined;
  }

  /** Returns the value, or an error when there is none. */
  get(): unknown {
    return this.value ?? (this.value === null ? null : new CelFailure('optional.none() dereference'));
  }
}

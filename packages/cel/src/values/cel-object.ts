// CelObject: values of types from libraries and schemas: addresses, quantities, structs.
import type { CelType } from '../types/cel-type.ts';
import { CelBox } from './cel-box.ts';
import { type CelFailure, overloadFailure } from './failure.ts';

/** A value of a type of a library. */
export abstract class CelObject extends CelBox {
  readonly kind = 'object';
  abstract readonly type: CelType;

  /** Compares with another value. Equality of library types is defined within one type only. */
  equals(other: unknown): boolean | CelFailure {
    return other === this || overloadFailure(other);
  }

  /** Returns the value of a field, or undefined when there is none of that name. Library types have no fields. */
  field(_name: string): unknown {
    return undefined;
  }

  /** True when values of this type have fields. */
  get hasFields(): boolean {
    return false;
  }

  /** The size for costs; undefined for most types, which count as 1. */
  get size(): number | undefined {
    return undefined;
  }

  /** The wrapped Go type, for values that do not survive inside an optional; see plan/emit-attribute.ts. */
  get nativeType(): string | undefined {
    return undefined;
  }

  /** Returns the result of `string(value)`; undefined when there is no such conversion. */
  asString(): string | undefined {
    return undefined;
  }
}

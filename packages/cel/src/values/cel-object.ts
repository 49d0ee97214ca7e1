// CelObject: values of types that libraries and schemas bring: addresses, quantities, structs.
import type { CelType } from '../types/cel-type.ts';
import { CelBox } from './cel-box.ts';
import { type CelFailure, overloadFailure } from './failure.ts';

export abstract class CelObject extends CelBox {
  readonly kind = 'object';
  abstract readonly type: CelType;

  /** Equality of library types is defined within one type only. */
  equals(other: unknown): boolean | CelFailure {
    return other === this || overloadFailure(other);
  }

  /** The value of a field, or undefined when the object has none of that name. Library types have no fields. */
  field(_name: string): unknown {
    return undefined;
  }

  /** Whether values of this type have fields at all. */
  get hasFields(): boolean {
    return false;
  }

  /** The size that costs are counted by; undefined for most types, which count as 1. */
  get size(): number | undefined {
    return undefined;
  }

  /** The Go type that it wraps, for values that do not survive inside of an optional; see plan/emit-attribute.ts. */
  get nativeType(): string | undefined {
    return undefined;
  }

  /** The text that `string(value)` returns; undefined when there is no such conversion. */
  asString(): string | undefined {
    return undefined;
  }
}

// Returns the data behind a value of an expression, which a list that grows by the value stores.
import { CelDouble } from '@kapstan/cel';

/** A value that was made from data. */
interface WithData {
  readonly data: unknown;
}

export function dataOf(value: unknown): unknown {
  if (value instanceof CelDouble) return value.value;
  if (typeof value === 'object' && value !== null && 'data' in value && !isPlain(value))
    return (value as WithData).data;
  return value;
}

function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}

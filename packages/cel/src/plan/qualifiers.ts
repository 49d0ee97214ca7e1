// Selections at run time: the value of a field, key or index.
import { type AnyList, isList, listAt, listSize } from '../values/cel-list.ts';
import { isMap, mapFind } from '../values/cel-map.ts';
import { CelObject } from '../values/cel-object.ts';
import { CelFailure } from '../values/failure.ts';
import { formatValue } from '../values/format-value.ts';
import { type Int, int64Range } from '../values/integers.ts';
import { type CelUint, numberOfDouble } from '../values/numbers.ts';
import { kindOf, typeOfValue } from '../values/value.ts';

/** True when a value can be a key or index at all. */
export function isQualifier(value: unknown): boolean {
  return ['string', 'int', 'uint', 'bool', 'double'].includes(kindOf(value));
}

/** Returns the value of a key, or the error that explains why there is none. */
export function qualify(container: unknown, key: unknown): unknown {
  const value = findQualified(container, key);
  if (value !== undefined) return value;
  const what = isList(container) ? 'index out of bounds' : 'no such key';
  return new CelFailure(`${what}: ${formatValue(key)}`);
}

/** Returns the value of a key, undefined when there is none, or an error when there cannot be one. */
export function findQualified(container: unknown, key: unknown): unknown {
  if (isMap(container)) return mapFind(container, key);
  if (isList(container)) return findIndexed(container, key);
  if (container instanceof CelObject && typeof key === 'string') return container.field(key);
  return undefined;
}

function findIndexed(list: AnyList, key: unknown): unknown {
  const index = indexOf(key);
  if (index instanceof CelFailure) return index;
  return index >= 0 && index < listSize(list) ? listAt(list, index) : undefined;
}

function indexOf(key: unknown): number | CelFailure {
  switch (kindOf(key)) {
    case 'int':
      return Number(key as Int);
    case 'uint': {
      const { value } = key as CelUint;
      return int64Range.has(value) ? Number(value) : unsupportedIndex(key);
    }
    case 'double': {
      const value = numberOfDouble(key);
      return Number.isInteger(value) && Math.abs(value) < 2 ** 63 ? value : unsupportedIndex(key);
    }
    default:
      return new CelFailure(`unsupported index type '${typeOfValue(key)}' in list`);
  }
}

function unsupportedIndex(key: unknown): CelFailure {
  return new CelFailure(`unsupported index value ${formatValue(key)} in list`);
}

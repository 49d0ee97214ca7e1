// Converts values to JSON: numbers are doubles, and keys are strings.
import { type AnyList, listItems } from './cel-list.ts';
import { type AnyMap, CelMap, mapFind, mapKeys } from './cel-map.ts';
import { CelFailure, isFailure } from './failure.ts';
import { type Int, maxSafe, minSafe } from './integers.ts';
import type { CelUint } from './numbers.ts';
import { doubleValue, kindOf } from './value.ts';

/** Returns the value as protobuf's JSON types represent it, or an error. Integers beyond 2^53 become strings. */
export function toJsonValue(value: unknown): unknown {
  switch (kindOf(value)) {
    case 'bool':
    case 'double':
    case 'failure':
    case 'null':
    case 'string':
      return value;
    case 'int':
      return integer(BigInt(value as Int));
    case 'uint':
      return integer((value as CelUint).value);
    case 'list':
      return jsonList(value as AnyList);
    case 'map':
      return jsonMap(value as AnyMap);
    case 'duration':
    case 'timestamp':
      return String(value);
    case 'bytes':
      return btoa(Array.from(value as Uint8Array, (byte) => String.fromCharCode(byte)).join(''));
    default:
      return new CelFailure(`unsupported conversion to JSON of a value of kind '${kindOf(value)}'`);
  }
}

function integer(value: bigint): unknown {
  return value >= minSafe && value <= maxSafe ? doubleValue(Number(value)) : value.toString();
}

function jsonList(list: AnyList): unknown {
  const items = listItems(list).map(toJsonValue);
  return items.find(isFailure) ?? items;
}

function jsonMap(map: AnyMap): unknown {
  const result = new CelMap();
  for (const key of mapKeys(map)) {
    if (typeof key !== 'string') return new CelFailure('the keys of a JSON object are texts');
    const value = toJsonValue(mapFind(map, key));
    if (isFailure(value)) return value;
    result.set(key, value);
  }
  return result;
}

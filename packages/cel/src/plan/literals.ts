// Builds list, map and struct literals from the values of their parts.
import { CelMap } from '../values/cel-map.ts';
import { CelFailure, EvaluationStop, isFailure } from '../values/failure.ts';
import { formatValue } from '../values/format-value.ts';
import { CelOptional } from '../values/optional.ts';
import type { ListNode, MapNode, StructNode } from './plan-node.ts';

/** Returns undefined for an optional part without a value. */
function unwrapped(value: unknown, message: () => string): unknown {
  if (value instanceof CelOptional) return value.value;
  return new CelFailure(`${message()} from non-optional value ${formatValue(value)}`);
}

export function buildList({ optionals }: ListNode, values: readonly unknown[]): unknown {
  if (optionals.size === 0) return values;
  const items: unknown[] = [];
  for (const [i, value] of values.entries()) {
    const item = optionals.has(i) ? unwrapped(value, () => 'cannot initialize optional list element') : value;
    if (isFailure(item)) return item;
    if (item !== undefined) items.push(item);
  }
  return items;
}

/** Go has another text where it would take a key out of an empty map. */
function unhashable(isRemovedFromEmpty: boolean): string {
  const text = isRemovedFromEmpty ? 'hash of unhashable type:' : 'runtime error: hash of unhashable type';
  return `internal error: ${text} types.Bytes`;
}

/** `values` has each key followed by its value. */
export function buildMap({ entries }: MapNode, values: readonly unknown[]): unknown {
  const map = new CelMap();
  for (const [i, { isOptional }] of entries.entries()) {
    if (2 * i >= values.length) break;
    const key = values[2 * i];
    const given = values[2 * i + 1];
    const message = (): string => `cannot initialize optional entry '${formatValue(key)}'`;
    const value = isOptional ? unwrapped(given, message) : given;
    if (isFailure(value)) return value;
    if (key instanceof Uint8Array) throw new EvaluationStop(unhashable(value === undefined && map.size === 0));
    if (value === undefined) map.delete(key);
    else map.set(key, value);
  }
  return map;
}

export function buildStruct(node: StructNode, values: readonly unknown[]): unknown {
  const fields = new Map<string, unknown>();
  for (const [i, { name, isOptional }] of node.fields.entries()) {
    if (i >= values.length) break;
    const given = values[i];
    const value = isOptional ? unwrapped(given, () => `cannot initialize optional entry '${name}'`) : given;
    if (isFailure(value)) return value;
    if (value === undefined) fields.delete(name);
    else fields.set(name, value);
  }
  const value = node.construct(fields);
  return value === undefined ? new CelFailure('structs of this type cannot be constructed') : value;
}

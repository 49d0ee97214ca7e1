// Merges the values of a member that a JSON text repeats, as Go's decoder does. Used by typed-decoder.ts.
import { getOwn, isJsonObject, setOwn } from '@kapstan/api/internal';
import type { SchemaNode } from './node/schema-node.ts';

/** Returns the value after the second decoding. Go decodes both into the same value, so structs and maps are merged. */
export function mergeRepeated(old: unknown, next: unknown, node: SchemaNode): unknown {
  if (!isJsonObject(old) || !isJsonObject(next)) return next;
  for (const [name, member] of Object.entries(next)) {
    const property = node.properties?.get(name);
    setOwn(old, name, property === undefined ? member : mergeRepeated(getOwn(old, name), member, property));
  }
  return old;
}

// Go's view of JSON values: zero values, and the converter's texts for a wrong type. Part of
// typed-decoder.ts.
import type { SchemaNode } from '../node/schema-node.ts';
import { goKindName, goTypeName, jsonKind } from './go-types.ts';

/** Returns the value that null leaves in a list or map in Go. */
export function zeroOf(node: SchemaNode): unknown {
  if (node.properties !== undefined) return {};
  switch (node.type) {
    case 'string':
      return node.format === 'date-time' ? null : '';
    case 'boolean':
      return false;
    case 'integer':
    case 'number':
      return 0;
    default:
      return null;
  }
}

/** Returns the converter's text for a wrong type. Source: apimachinery runtime.fromUnstructured. */
export function converterText(value: unknown, node: SchemaNode): string {
  const kind = jsonKind(value);
  const from = { array: 'slice', object: 'map', number: isWhole(value) ? 'int64' : 'float64' }[kind] ?? kind;
  if (node.properties !== undefined) return `cannot restore struct from: ${from}`;
  if (node.additionalProperties !== undefined) return `cannot restore map from ${from}`;
  if (node.items !== undefined || node.format === 'byte') return `cannot restore slice from ${from}`;
  // Times decode themselves from JSON.
  if (node.format === 'date-time') return `json: cannot unmarshal ${kind} into Go value of type string`;
  // Go converts whole numbers to characters and therefore counts these two types as convertible.
  const isConvertible = kind === 'number' && (node.type === 'integer' || (node.type === 'string' && isWhole(value)));
  return isConvertible ? `cannot convert ${from} to ${goTypeName(node)}` : `unrecognized type: ${goKindName(node)}`;
}

function isWhole(value: unknown): boolean {
  return /^-?\d+$/.test(String(value));
}

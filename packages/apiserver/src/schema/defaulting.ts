// Defaults of a schema, written into an object in place. Shared by built-in kinds (where the OpenAPI document has few)
// and custom resources. Go's SetDefaults_* functions are in registry/<group>/<resource>/defaults.ts.
import { deepCopy, getOwn, isJsonObject, setOwn } from '@kapstan/api';
import type { SchemaNode } from './schema-node.ts';

/**
 * Fills absent members with their schema's defaults, deep-copied, and looks into what is there. A `null` where the
 * schema has a default and is not nullable counts as absent. Own keys only. Source: structural defaulting.Default.
 */
export function applySchemaDefaults(node: SchemaNode, value: unknown): void {
  if (Array.isArray(value)) {
    if (node.items !== undefined) for (const item of value) applySchemaDefaults(node.items, item);
    return;
  }
  if (!isJsonObject(value)) return;
  for (const [key, child] of node.properties ?? []) applyMember(value, key, child);
  if (typeof node.additionalProperties !== 'object') return;
  for (const key of Object.keys(value)) {
    if (!node.properties?.has(key)) applyMember(value, key, node.additionalProperties);
  }
}

function applyMember(object: Record<string, unknown>, key: string, node: SchemaNode): void {
  const isPresent = Object.hasOwn(object, key);
  const present = getOwn(object, key);
  const isAbsent = !isPresent || (present === null && node.nullable !== true);
  if (isAbsent && node.default !== undefined) setOwn(object, key, deepCopy(node.default));
  applySchemaDefaults(node, getOwn(object, key));
}

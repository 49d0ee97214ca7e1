// Nulls that a schema of a custom resource does not allow: taken out after defaults were filled in. Beside pruning.ts,
// which takes out unknown names.
import { isJsonObject } from '@kapstan/api';
import type { SchemaNode } from './schema-node.ts';

/**
 * Removes, in place, members that are null where their schema is not nullable. Nulls in lists stay: they are
 * validation's. True when something was removed. Source: structural defaulting.PruneNonNullableNullsWithoutDefaults.
 */
export function dropForbiddenNulls(node: SchemaNode, value: unknown): boolean {
  if (Array.isArray(value)) {
    const { items } = node;
    if (items === undefined) return false;
    return value.reduce((isChanged: boolean, item) => dropForbiddenNulls(items, item) || isChanged, false);
  }
  if (!isJsonObject(value)) return false;
  let isChanged = false;
  for (const key of Object.keys(value)) {
    const member = node.properties?.get(key) ?? valuesOf(node);
    if (member === undefined) continue;
    if (value[key] === null && member.nullable !== true) {
      delete value[key];
      isChanged = true;
    } else if (dropForbiddenNulls(member, value[key])) isChanged = true;
  }
  return isChanged;
}

function valuesOf({ additionalProperties }: SchemaNode): SchemaNode | undefined {
  return additionalProperties === true ? undefined : additionalProperties;
}

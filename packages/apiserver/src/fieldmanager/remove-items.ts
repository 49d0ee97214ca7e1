// An object without some of its fields, and without the maps and lists that this leaves empty. Source:
// structured-merge-diff typed.TypedValue.RemoveItems.
import { deepCopy, isJsonObject, setOwn } from '@kapstan/api';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { fieldElement } from './path-element.ts';
import { deduced, itemElement, itemSchema, memberSchema, ownershipOf } from './schema-atom.ts';

/** A new value; `value` is neither changed nor shared. Undefined when nothing is left of it. */
export function removeItems(value: unknown, removed: FieldSet, node: SchemaNode): unknown {
  const ownership = ownershipOf(node, value);
  if (ownership === 'map' && isJsonObject(value)) return removeMembers(value, removed, node);
  if (ownership === 'list' && Array.isArray(value)) return removeListItems(value, removed, node);
  return deepCopy(value);
}

function removeMembers(map: Record<string, unknown>, removed: FieldSet, node: SchemaNode): unknown {
  const kept: Record<string, unknown> = {};
  for (const [name, member] of Object.entries(map)) {
    const element = fieldElement(name);
    if (removed.members.has(element)) continue;
    const below = removed.children.get(element);
    const rest =
      below === undefined ? deepCopy(member) : removeItems(member, below, memberSchema(node, name) ?? deduced);
    if (rest !== undefined) setOwn(kept, name, rest);
  }
  return Object.keys(kept).length === 0 && Object.keys(map).length > 0 ? undefined : kept;
}

function removeListItems(list: readonly unknown[], removed: FieldSet, node: SchemaNode): unknown {
  const kept: unknown[] = [];
  for (const item of list) {
    const element = itemElement(node, item);
    if (removed.members.has(element)) continue;
    const below = removed.children.get(element);
    const rest = below === undefined ? deepCopy(item) : removeItems(item, below, itemSchema(node));
    if (rest !== undefined) kept.push(rest);
  }
  return kept.length === 0 && list.length > 0 ? undefined : kept;
}

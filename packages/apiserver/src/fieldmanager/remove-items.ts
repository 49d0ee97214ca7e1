// Returns an object without some of its fields. Maps and lists that are empty then become null, which a custom resource
// keeps and validation may refuse. Source: structured-merge-diff typed.TypedValue.RemoveItems.
import { copyAtPace, isJsonObject, type SlicedWork, type SlicePace, setOwn } from '@kapstan/api/internal';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { fieldElement } from './path-element.ts';
import { deduced, itemElement, itemSchema, memberSchema, ownershipOf } from './schema-atom.ts';

/** Returns a new value that shares nothing with `value`. Null when nothing is left of a map or list. */
export function* removeItems(value: unknown, removed: FieldSet, { node, pace }: Walk): SlicedWork<unknown> {
  const ownership = ownershipOf(node, value);
  if (ownership === 'map' && isJsonObject(value)) return yield* removeMembers(value, removed, { node, pace });
  if (ownership === 'list' && Array.isArray(value)) return yield* removeListItems(value, removed, { node, pace });
  return yield* copyAtPace(value, pace);
}

interface Walk {
  readonly node: SchemaNode;
  readonly pace: SlicePace;
}

function* removeMembers(
  map: Readonly<Record<string, unknown>>,
  removed: FieldSet,
  { node, pace }: Walk,
): SlicedWork<unknown> {
  const kept: Record<string, unknown> = {};
  let left = 0;
  for (const name of Object.keys(map)) {
    if (pace.isDue()) yield;
    const element = fieldElement(name);
    if (removed.members.has(element)) continue;
    const member = map[name];
    const below = removed.children.get(element);
    let rest: unknown = member;
    if (below !== undefined)
      rest = yield* removeItems(member, below, { node: memberSchema(node, name) ?? deduced, pace });
    else if (typeof member === 'object') rest = yield* copyAtPace(member, pace);
    setOwn(kept, name, rest);
    left++;
  }
  return left === 0 ? null : kept;
}

function* removeListItems(list: readonly unknown[], removed: FieldSet, { node, pace }: Walk): SlicedWork<unknown> {
  const kept: unknown[] = [];
  const below = { node: itemSchema(node), pace };
  for (const item of list) {
    if (pace.isDue()) yield;
    const element = itemElement(node, item);
    if (removed.members.has(element)) continue;
    const parts = removed.children.get(element);
    let rest: unknown = item;
    if (parts !== undefined) rest = yield* removeItems(item, parts, below);
    else if (typeof item === 'object') rest = yield* copyAtPace(item, pace);
    kept.push(rest);
  }
  return kept.length === 0 ? null : kept;
}

// The fields that an object sets, by its schema. Source: structured-merge-diff typed.TypedValue.ToFieldSet.
import { isJsonObject, type SlicedWork, SlicePace } from '@kapstan/api';
import type { SchemaNode } from '../schema/schema-node.ts';
import { FieldSet } from './field-set.ts';
import { fieldElement, fieldNameOf, type PathElement } from './path-element.ts';
import {
  declaredForm,
  deduced,
  isNamedField,
  itemSchema,
  itemsByElement,
  memberSchema,
  ownershipOf,
} from './schema-atom.ts';

/** All fields of a value: leaves, items of associative lists, keys of maps; named fields only where nothing is below. */
export function* fieldSetOf(value: unknown, schema: SchemaNode): SlicedWork<FieldSet> {
  const set = new FieldSet();
  yield* new Collector().collect(value, schema, set);
  return set;
}

class Collector {
  readonly #pace = new SlicePace();

  /** Adds what is below a place to `set`; false = the place itself is to be owned. */
  *collect(value: unknown, node: SchemaNode, set: FieldSet): SlicedWork<boolean> {
    const ownership = ownershipOf(node, value);
    if (ownership === 'map' && (isJsonObject(value) || value === null)) {
      for (const name of Object.keys(value ?? {})) {
        if (this.#pace.isDue()) yield;
        yield* this.#collectMember({ name, member: value?.[name] }, node, set);
      }
      return true;
    }
    if (ownership === 'list' && (Array.isArray(value) || value === null)) {
      yield* this.#collectItems(value ?? [], node, set);
      return true;
    }
    return false;
  }

  *#collectMember(
    { name, member }: { readonly name: string; readonly member: unknown },
    node: SchemaNode,
    set: FieldSet,
  ): SlicedWork<void> {
    const element = fieldElement(name);
    const isWhole = !(yield* this.#collectBelow(set, element, {
      value: member,
      node: memberSchema(node, name) ?? deduced,
    }));
    const isEmpty = member === null || (isJsonObject(member) && hasNoMembers(member));
    if (isWhole || isEmpty || !isNamedField(node, name)) set.members.add(element);
  }

  *#collectItems(items: readonly unknown[], node: SchemaNode, set: FieldSet): SlicedWork<void> {
    const item = itemSchema(node);
    for (const [element, same] of yield* itemsByElement(items, node, this.#pace)) {
      if (this.#pace.isDue()) yield;
      set.members.add(element);
      // Items with the same key are owned together, and not by their parts.
      if (same.length === 1) yield* this.#collectBelow(set, element, { value: same[0], node: item });
    }
  }

  *#collectBelow(
    set: FieldSet,
    element: PathElement,
    { value, node }: { readonly value: unknown; readonly node: SchemaNode },
  ): SlicedWork<boolean> {
    // A scalar has nothing below it.
    if (typeof value !== 'object') return false;
    const child = new FieldSet();
    const result = yield* this.collect(value, node, child);
    if (!child.isEmpty) set.children.set(element, child);
    return result;
  }
}

function hasNoMembers(map: Readonly<Record<string, unknown>>): boolean {
  for (const _ in map) return false;
  return true;
}

/** The set, with the named fields on the way to its paths. Source: Set.EnsureNamedFieldsAreMembers. */
export function* withNamedFields(
  set: FieldSet,
  node: SchemaNode,
  pace: SlicePace = new SlicePace(),
): SlicedWork<FieldSet> {
  const result = yield* set.copy(pace);
  for (const [element, child] of set.children) {
    if (pace.isDue()) yield;
    const name = fieldNameOf(element);
    if (name !== undefined && isNamedField(node, name)) result.members.add(element);
    result.children.set(element, yield* withNamedFields(child, schemaBelow(node, element), pace));
  }
  return result;
}

/**
 * The set of a manager who owned parts of what the schema has made atomic since: it owns the whole now. The other way
 * needs nothing: a former whole counts as no part. Source: typed/reconcile_schema.go.
 */
export function* withAtomicsWhole(set: FieldSet, node: SchemaNode, pace: SlicePace): SlicedWork<FieldSet> {
  let result = set;
  for (const [element, child] of set.children) {
    if (pace.isDue()) yield;
    const next = schemaBelow(node, element);
    const isAtomic = declaredForm(next) !== undefined && ownershipOf(next, undefined) === 'leaf';
    const below = isAtomic ? undefined : yield* withAtomicsWhole(child, next, pace);
    if (below === child) continue;
    if (result === set) result = yield* set.copy(pace);
    if (below !== undefined) result.children.set(element, below);
    else {
      result.members.add(element);
      result.children.delete(element);
    }
  }
  return result;
}

function schemaBelow(node: SchemaNode, element: PathElement): SchemaNode {
  const name = fieldNameOf(element);
  return name === undefined ? itemSchema(node) : (memberSchema(node, name) ?? deduced);
}

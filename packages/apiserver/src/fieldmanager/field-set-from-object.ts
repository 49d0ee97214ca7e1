// The fields that an object sets, by its schema. Source: structured-merge-diff typed.TypedValue.ToFieldSet.
import { isJsonObject } from '@kapstan/api';
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
export function fieldSetOf(value: unknown, schema: SchemaNode): FieldSet {
  const set = new FieldSet();
  collect(value, schema, set);
  return set;
}

/** Adds what is below a place to `set`; false = the place itself is to be owned. */
function collect(value: unknown, node: SchemaNode, set: FieldSet): boolean {
  const ownership = ownershipOf(node, value);
  if (ownership === 'map' && (isJsonObject(value) || value === null)) {
    for (const [name, member] of Object.entries(value ?? {})) collectMember({ name, member }, node, set);
    return true;
  }
  if (ownership === 'list' && (Array.isArray(value) || value === null)) {
    collectItems(value ?? [], node, set);
    return true;
  }
  return false;
}

function collectMember(
  { name, member }: { readonly name: string; readonly member: unknown },
  node: SchemaNode,
  set: FieldSet,
): void {
  const element = fieldElement(name);
  const isWhole = !below(set, element, (child) => collect(member, memberSchema(node, name) ?? deduced, child));
  const isEmpty = member === null || (isJsonObject(member) && Object.keys(member).length === 0);
  if (isWhole || isEmpty || !isNamedField(node, name)) set.members.add(element);
}

function collectItems(items: readonly unknown[], node: SchemaNode, set: FieldSet): void {
  for (const [element, same] of itemsByElement(items, node)) {
    set.members.add(element);
    // Items with the same key are owned together, and not by their parts.
    if (same.length === 1) below(set, element, (child) => collect(same[0], itemSchema(node), child));
  }
}

function below(set: FieldSet, element: PathElement, fill: (child: FieldSet) => boolean): boolean {
  const child = new FieldSet();
  const result = fill(child);
  if (!child.isEmpty) set.children.set(element, child);
  return result;
}

/** The set, with the named fields on the way to its paths. Source: Set.EnsureNamedFieldsAreMembers. */
export function withNamedFields(set: FieldSet, node: SchemaNode): FieldSet {
  const result = new FieldSet();
  for (const element of set.members) result.members.add(element);
  for (const [element, child] of set.children) {
    const name = fieldNameOf(element);
    if (name !== undefined && isNamedField(node, name)) result.members.add(element);
    result.children.set(element, withNamedFields(child, schemaBelow(node, element)));
  }
  return result;
}

/**
 * The set of a manager who owned parts of what the schema has made atomic since: it owns the whole now. The other way
 * needs nothing: a former whole counts as no part. Source: typed/reconcile_schema.go.
 */
export function withAtomicsWhole(set: FieldSet, node: SchemaNode): FieldSet {
  let result = set;
  for (const [element, child] of set.children) {
    const next = schemaBelow(node, element);
    const isAtomic = declaredForm(next) !== undefined && ownershipOf(next, undefined) === 'leaf';
    const below = isAtomic ? undefined : withAtomicsWhole(child, next);
    if (below === child) continue;
    if (result === set) result = set.copy();
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

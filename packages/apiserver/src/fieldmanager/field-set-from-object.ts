// Returns the fields that an object sets, by its schema. Source: structured-merge-diff typed.TypedValue.ToFieldSet.
import { isJsonObject, namesInSlices, type SlicedWork, SlicePace } from '@kapstan/api/internal';
import type { SchemaNode } from '../schema/node/schema-node.ts';
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

/**
 * Returns all fields of a value: leaves, items of associative lists and keys of maps; fields that the schema names only
 * if nothing is below them.
 */
export function* fieldSetOf(value: unknown, schema: SchemaNode): SlicedWork<FieldSet> {
  const set = new FieldSet();
  yield* collect(value, { node: schema, set, pace: new SlicePace() });
  return set;
}

interface Place {
  readonly node: SchemaNode;
  /** Receives the fields below. */
  readonly set: FieldSet;
  readonly pace: SlicePace;
}

/** A step from a map or list to one of its values. */
interface Step {
  readonly element: PathElement;
  readonly value: unknown;
  readonly node: SchemaNode;
  /** Says whether the step itself is a path of the set: always, or only when the set has nothing below it. */
  readonly isMember: 'always' | 'when whole';
}

/** Collects the fields of a place. It calls itself once per level; objects may be a thousand levels deep. */
function* collect(value: unknown, { node, set, pace }: Place): SlicedWork<void> {
  for (const { element, isMember, ...step } of yield* stepsInto(value, node, pace)) {
    if (pace.isDue()) yield;
    const isWhole = !isTakenApart(step.value, step.node);
    if (isWhole || isMember === 'always') set.members.add(element);
    if (isWhole) continue;
    const child = new FieldSet();
    yield* collect(step.value, { node: step.node, set: child, pace });
    if (!child.isEmpty) set.children.set(element, child);
  }
}

/** True when a value is owned through its contents. Scalars have none. */
function isTakenApart(value: unknown, node: SchemaNode): boolean {
  if (typeof value !== 'object') return false;
  const ownership = ownershipOf(node, value);
  if (ownership === 'map') return isJsonObject(value) || value === null;
  return ownership === 'list' && (Array.isArray(value) || value === null);
}

function* stepsInto(value: unknown, node: SchemaNode, pace: SlicePace): SlicedWork<Step[]> {
  const ownership = ownershipOf(node, value);
  if (ownership === 'map' && isJsonObject(value)) return yield* memberSteps(value, node, pace);
  return ownership === 'list' && Array.isArray(value) ? yield* itemSteps(value, node, pace) : [];
}

function* memberSteps(map: Readonly<Record<string, unknown>>, node: SchemaNode, pace: SlicePace): SlicedWork<Step[]> {
  const steps: Step[] = [];
  for (const name of yield* namesInSlices(map)) {
    if (pace.isDue()) yield;
    const value = map[name];
    const isEmpty = value === null || (isJsonObject(value) && hasNoMembers(value));
    const isMember = isEmpty || !isNamedField(node, name) ? 'always' : 'when whole';
    steps.push({ element: fieldElement(name), value, node: memberSchema(node, name) ?? deduced, isMember });
  }
  return steps;
}

function* itemSteps(items: readonly unknown[], node: SchemaNode, pace: SlicePace): SlicedWork<Step[]> {
  const steps: Step[] = [];
  for (const [element, same] of yield* itemsByElement(items, node)) {
    if (pace.isDue()) yield;
    // Items with the same key are owned together as a whole.
    const value = same.length === 1 ? same[0] : undefined;
    steps.push({ element, value, node: itemSchema(node), isMember: 'always' });
  }
  return steps;
}

function hasNoMembers(map: Readonly<Record<string, unknown>>): boolean {
  for (const _ in map) return false;
  return true;
}

/**
 * Returns the set with the fields named by the schema on the way to its paths. Source: Set.EnsureNamedFieldsAreMembers.
 */
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
 * Returns the set of a manager that owned parts of a value that has become atomic: it now owns the whole value. The
 * reverse case needs no change, because a former whole value counts as no part. Source: typed/reconcile_schema.go.
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

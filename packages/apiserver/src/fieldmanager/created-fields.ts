// What the creator of an object owns, written straight as FieldsV1. Tells what updater.ts would tell of an object that was
// nothing before, without the sets that only comparing with other managers needs. Used by field-manager.ts.
import { getOwn, isJsonObject, type SlicedWork, SlicePace, sortInSlices } from '@kapstan/api';
import { jsonEqual } from '../registry/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { fieldElement, type PathElement } from './path-element.ts';
import { deduced, itemElementOrNone, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type FieldsV1 = Record<string, unknown>;

export interface CreatedFieldsOptions {
  readonly schema: SchemaNode;
  /** What the object is when nobody sets anything: the zero value of its Go type, in which every list is empty. */
  readonly zero: JsonObject;
  /** Nobody owns these, nor what is below them. */
  readonly ignored: FieldSet;
  /** Nobody owns these; what is below them is owned. */
  readonly unowned: FieldSet;
}

/** FieldsV1 of all that is not as in the zero value; undefined when there is nothing. */
export function* createdFields(object: object, options: CreatedFieldsOptions): SlicedWork<FieldsV1 | undefined> {
  const { schema, zero, ignored, unowned } = options;
  const fields: FieldsV1 = {};
  const place = { zero, node: schema, ignored, unowned, pace: new SlicePace() };
  return (yield* addMembers(fields, object as JsonObject, place)) ? fields : undefined;
}

interface Place {
  /** Undefined = the value is new as a whole. */
  readonly zero: unknown;
  readonly node: SchemaNode;
  /** What is left out below; undefined = nothing. */
  readonly ignored: FieldSet | undefined;
  readonly unowned: FieldSet | undefined;
  readonly pace: SlicePace;
}

/** From a map or list to what is in it. */
interface Step {
  readonly element: PathElement;
  readonly value: unknown;
  readonly zero: unknown;
  readonly node: SchemaNode;
}

/** A place without owned parts, as most are: shared by all of them. */
const whole: FieldsV1 = Object.freeze({});

// Each of the functions that add is true when there was something to add.

function* addMembers(fields: FieldsV1, value: JsonObject, place: Place): SlicedWork<boolean> {
  const { node, pace } = place;
  const zeros = isJsonObject(place.zero) ? place.zero : undefined;
  let hasAdded = false;
  for (const name of yield* sortInSlices(Object.keys(value))) {
    if (pace.isDue()) yield;
    const member = value[name];
    const zero = zeros && getOwn(zeros, name);
    if (member === undefined || (zero !== undefined && jsonEqual(zero, member))) continue;
    const step = { element: fieldElement(name), value: member, zero, node: memberSchema(node, name) ?? deduced };
    if (isWholeStep(step, place)) fields[step.element] = whole;
    else if (!(yield* addStep(fields, step, place))) continue;
    hasAdded = true;
  }
  return hasAdded;
}

function* addItems(fields: FieldsV1, items: readonly unknown[], place: Place): SlicedWork<boolean> {
  const { pace } = place;
  const byElement = yield* itemsByElement(items, place.node, pace);
  let hasAdded = false;
  for (const element of yield* sortInSlices([...byElement.keys()])) {
    if (pace.isDue()) yield;
    const same = byElement.get(element) ?? [];
    // Items with the same key are owned together, and not by their parts.
    const item = same.length === 1 ? { value: same[0], node: itemSchema(place.node) } : { value: same, node: atomic };
    const step = { element, zero: undefined, ...item };
    if (isWholeStep(step, place)) fields[element] = whole;
    else if (!(yield* addStep(fields, step, place))) continue;
    hasAdded = true;
  }
  return hasAdded;
}

/** A new scalar, as most steps are: owned, without parts. */
function isWholeStep({ value, zero }: Step, { ignored, unowned }: Place): boolean {
  return typeof value !== 'object' && zero === undefined && ignored === undefined && unowned === undefined;
}

const atomic: SchemaNode = { type: 'array', items: deduced };

function* addStep(
  fields: FieldsV1,
  { element, value, zero, node }: Step,
  { ignored, unowned, pace }: Place,
): SlicedWork<boolean> {
  if (ignored?.members.has(element) === true) return false;
  const isPart = zero !== undefined && isTakenApart(value, zero, node);
  const isOwned = !isPart && unowned?.members.has(element) !== true;
  let below: FieldsV1 | undefined;
  // What was another thing before is owned as a whole.
  if (typeof value === 'object' && (zero === undefined || isPart)) {
    const [ignoredHere, unownedHere] = [ignored?.children.get(element), unowned?.children.get(element)];
    const place = { zero, node, ignored: ignoredHere, unowned: unownedHere, pace };
    const parts: FieldsV1 = isOwned ? { '.': whole } : {};
    if (yield* addParts(parts, value, place)) below = parts;
  }
  if (below === undefined && !isOwned) return false;
  fields[element] = below ?? whole;
  return true;
}

function* addParts(fields: FieldsV1, value: unknown, place: Place): SlicedWork<boolean> {
  const ownership = ownershipOf(place.node, value);
  if (ownership === 'map') return isJsonObject(value) && (yield* addMembers(fields, value, place));
  return ownership === 'list' && Array.isArray(value) && (yield* addItems(fields, value, place));
}

/** A map or list that had its place before, and keeps it: only what is in it is owned. */
function isTakenApart(value: unknown, zero: unknown, node: SchemaNode): boolean {
  const ownership = ownershipOf(node, value ?? zero);
  if (ownership === 'leaf' || ownershipOf(node, zero ?? value) !== ownership) return false;
  if (ownership === 'list')
    return Array.isArray(value) && value.some((item) => itemElementOrNone(node, item) !== undefined);
  // Two empty ones that differ are null and not null.
  return isMapOrNull(value) && isMapOrNull(zero) && sizeOf(value) + sizeOf(zero) > 0;
}

function isMapOrNull(value: unknown): value is Record<string, unknown> | null {
  return value === null || isJsonObject(value);
}

function sizeOf(map: Record<string, unknown> | null): number {
  return map === null ? 0 : Object.keys(map).length;
}

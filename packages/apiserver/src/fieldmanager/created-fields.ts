// What the creator of an object owns, written straight as FieldsV1. Tells what updater.ts would tell of an object that was
// nothing before, without the sets that only comparing with other managers needs. Used by field-manager.ts.
import { getOwn, isJsonObject, rememberSize, type SlicedWork, SlicePace, sortInSlices } from '@kapstan/api';
import { jsonEqual } from '../registry/meta/json-equality.ts';
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
  return (yield* addParts(fields, object, place)) ? fields : undefined;
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

/**
 * Adds what is in a map or list; true when there was something to add. The one function that calls itself: objects may be a
 * thousand levels deep, and each frame on the way costs stack.
 */
function* addParts(fields: FieldsV1, value: unknown, place: Place): SlicedWork<boolean> {
  const { pace } = place;
  let added = 0;
  for (const step of yield* stepsInto(value, place)) {
    if (pace.isDue()) yield;
    const { isOwned, hasParts } = ownershipAt(step, place);
    const below: FieldsV1 = isOwned ? { '.': whole } : {};
    const hasBelow = hasParts && (yield* addParts(below, step.value, placeBelow(step, place)));
    if (!hasBelow && !isOwned) continue;
    fields[step.element] = hasBelow ? below : whole;
    added++;
  }
  rememberSize(fields, added);
  return added > 0;
}

function ownershipAt(
  { element, value, zero, node }: Step,
  { ignored, unowned }: Place,
): { readonly isOwned: boolean; readonly hasParts: boolean } {
  if (ignored?.members.has(element) === true) return { isOwned: false, hasParts: false };
  const isPart = zero !== undefined && isTakenApart(value, zero, node);
  const isOwned = !isPart && unowned?.members.has(element) !== true;
  // What was another thing before is owned as a whole.
  return { isOwned, hasParts: typeof value === 'object' && (zero === undefined || isPart) };
}

function placeBelow({ element, zero, node }: Step, { ignored, unowned, pace }: Place): Place {
  return { zero, node, ignored: ignored?.children.get(element), unowned: unowned?.children.get(element), pace };
}

/** Where a map or list goes on, in order, but to members that are as in its zero value. */
function* stepsInto(value: unknown, place: Place): SlicedWork<readonly Step[]> {
  const ownership = ownershipOf(place.node, value);
  if (ownership === 'map') return isJsonObject(value) ? yield* memberSteps(value, place) : [];
  return ownership === 'list' && Array.isArray(value) ? yield* itemSteps(value, place) : [];
}

function* memberSteps(map: JsonObject, { node, pace, ...place }: Place): SlicedWork<Step[]> {
  const zeros = isJsonObject(place.zero) ? place.zero : undefined;
  const steps: Step[] = [];
  for (const name of yield* sortInSlices(Object.keys(map))) {
    if (pace.isDue()) yield;
    const value = map[name];
    const zero = zeros && getOwn(zeros, name);
    if (value === undefined || (zero !== undefined && jsonEqual(zero, value))) continue;
    steps.push({ element: fieldElement(name), value, zero, node: memberSchema(node, name) ?? deduced });
  }
  return steps;
}

function* itemSteps(items: readonly unknown[], { node, pace }: Place): SlicedWork<Step[]> {
  const byElement = yield* itemsByElement(items, node, pace);
  const steps: Step[] = [];
  for (const element of yield* sortInSlices([...byElement.keys()])) {
    if (pace.isDue()) yield;
    const same = byElement.get(element) ?? [];
    // Items with the same key are owned together, and not by their parts.
    const item = same.length === 1 ? { value: same[0], node: itemSchema(node) } : { value: same, node: atomic };
    steps.push({ element, zero: undefined, ...item });
  }
  return steps;
}

const atomic: SchemaNode = { type: 'array', items: deduced };

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

// What the creator of an object owns, written straight as FieldsV1. Tells what updater.ts would tell of an object that was
// nothing before, without the sets that only comparing with other managers needs. Used by field-manager.ts.
import {
  getOwn,
  isJsonObject,
  membersPerSlice,
  rememberSize,
  type SlicedWork,
  SlicePace,
  sortInSlices,
} from '@kapstan/api';
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
  const pace = new SlicePace();
  const root = new Place({ value: object, zero, node: schema, ignored, unowned });
  // The way down to the place that is looked at: one generator for all, however deep they lie.
  const way: Place[] = [root];
  for (let place = way.at(-1); place !== undefined; place = way.at(-1)) {
    place.steps ??= yield* stepsInto(place, pace);
    const step = place.steps[place.next++];
    if (pace.isDue()) yield;
    if (step === undefined) {
      rememberSize(place.fields, place.added);
      way.pop();
      way.at(-1)?.add(place);
    } else {
      const below = place.take(step);
      if (below !== undefined) way.push(below);
    }
  }
  return root.added > 0 ? root.fields : undefined;
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

interface PlaceOptions {
  readonly value: unknown;
  /** Undefined = the value is new as a whole. */
  readonly zero: unknown;
  readonly node: SchemaNode;
  /** What is left out below; undefined = nothing. */
  readonly ignored: FieldSet | undefined;
  readonly unowned: FieldSet | undefined;
}

/** A map or list, and what is owned in it as far as it was looked at. */
class Place {
  readonly options: PlaceOptions;
  readonly fields: FieldsV1 = {};
  /** In order, without members that are as in the zero value. Undefined = not listed yet. */
  steps: readonly Step[] | undefined;
  /** Index of the step that comes next. */
  next = 0;
  added = 0;
  readonly #element: PathElement;
  readonly #isOwned: boolean;

  constructor(options: PlaceOptions, element: PathElement = '', isOwned = false) {
    this.options = options;
    this.#element = element;
    this.#isOwned = isOwned;
    if (isOwned) this.fields['.'] = whole;
  }

  /** Adds a step, or returns the place that has to be looked at before. */
  take({ element, value, zero, node }: Step): Place | undefined {
    const { ignored, unowned } = this.options;
    if (ignored?.members.has(element) === true) return undefined;
    const isPart = zero !== undefined && isTakenApart(value, zero, node);
    const isOwned = !isPart && unowned?.members.has(element) !== true;
    // What was another thing before is owned as a whole.
    if (typeof value === 'object' && (zero === undefined || isPart)) {
      const below = { ignored: ignored?.children.get(element), unowned: unowned?.children.get(element) };
      return new Place({ value, zero, node, ...below }, element, isOwned);
    }
    if (isOwned) this.#set(element, whole);
    return undefined;
  }

  /** Adds a place that was looked at. */
  add(below: Place): void {
    if (below.added > 0) this.#set(below.#element, below.fields);
    else if (below.#isOwned) this.#set(below.#element, whole);
  }

  #set(element: PathElement, fields: FieldsV1): void {
    this.fields[element] = fields;
    this.added++;
  }
}

/** Where a map or list goes on, in order, but to members that are as in its zero value. */
function* stepsInto({ options }: Place, pace: SlicePace): SlicedWork<readonly Step[]> {
  const { value, node } = options;
  const ownership = ownershipOf(node, value);
  const steps: Step[] = [];
  if (ownership === 'map' && isJsonObject(value)) {
    const zeros = isJsonObject(options.zero) ? options.zero : undefined;
    const names = Object.keys(value);
    for (const name of isLong(names) ? yield* sortInSlices(names) : names.sort()) {
      if (pace.isDue()) yield;
      const member = value[name];
      const zero = zeros && getOwn(zeros, name);
      if (member === undefined || (zero !== undefined && jsonEqual(zero, member))) continue;
      steps.push({ element: fieldElement(name), value: member, zero, node: memberSchema(node, name) ?? deduced });
    }
  } else if (ownership === 'list' && Array.isArray(value)) {
    const byElement = yield* itemsByElement(value, node, pace);
    const elements = [...byElement.keys()];
    for (const element of isLong(elements) ? yield* sortInSlices(elements) : elements.sort()) {
      if (pace.isDue()) yield;
      const same = byElement.get(element) ?? [];
      // Items with the same key are owned together, and not by their parts.
      const item = same.length === 1 ? { value: same[0], node: itemSchema(node) } : { value: same, node: atomic };
      steps.push({ element, zero: undefined, ...item });
    }
  }
  return steps;
}

function isLong(list: readonly unknown[]): boolean {
  return list.length > membersPerSlice;
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

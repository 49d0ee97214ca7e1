// Writes what the creator of an object owns directly as FieldsV1. The result is the same as from updater.ts for an
// object that did not exist before, without the sets needed only to compare with other managers. Used by
// field-manager.ts.
import {
  getOwn,
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  rememberNames,
  type SlicedWork,
  SlicePace,
  sortInSlices,
} from '@kapstan/api/internal';
import { jsonEqual } from '../registry/meta/json-equality.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import type { FieldSet } from './field-set.ts';
import { fieldElement, type PathElement } from './path-element.ts';
import {
  deduced,
  type ItemGroups,
  itemElementOrNone,
  itemSchema,
  itemsByElement,
  memberSchema,
  ownershipOf,
} from './schema-atom.ts';

type JsonObject = Readonly<Record<string, unknown>>;
type FieldsV1 = Record<string, unknown>;

export interface CreatedFieldsOptions {
  readonly schema: SchemaNode;
  /** The object when nothing is set: the zero value of its Go type, in which every list is empty. */
  readonly zero: JsonObject;
  /** Nobody owns these fields or anything below them. */
  readonly ignored: FieldSet;
  /** Nobody owns these fields, but fields below them have owners. */
  readonly unowned: FieldSet;
}

/** Returns FieldsV1 of everything that differs from the zero value; undefined when nothing does. */
export function* createdFields(object: object, options: CreatedFieldsOptions): SlicedWork<FieldsV1 | undefined> {
  const { schema, zero, ignored, unowned } = options;
  const pace = new SlicePace();
  const root = new Place({ value: object, zero, node: schema, ignored, unowned });
  // The places from the root to the current one, so that one generator handles every depth.
  const way: Place[] = [root];
  for (let place = way.at(-1); place !== undefined; place = way.at(-1)) {
    if (place.next === 0) yield* place.list();
    const before = place.next;
    const below = place.advance();
    if (pace.isDue(1 + place.next - before)) yield;
    if (below !== undefined) way.push(below);
    else if (place.isDone) {
      way.pop();
      way.at(-1)?.addBelow(place);
    }
  }
  root.rememberNames();
  return root.added > 0 ? root.fields : undefined;
}

/** The shared FieldsV1 of places without owned parts, which most are. */
const whole: FieldsV1 = Object.freeze({});

interface PlaceOptions {
  readonly value: unknown;
  /** Undefined = the whole value is new. */
  readonly zero: unknown;
  readonly node: SchemaNode;
  /** Fields that nobody owns below this place; undefined = none. */
  readonly ignored: FieldSet | undefined;
  readonly unowned: FieldSet | undefined;
}

const noSteps: readonly string[] = [];

/** An empty list is not zero, though the stored form does not distinguish it from none. */
function isZero(zero: unknown, value: unknown): boolean {
  if (zero === undefined || (zero === null && value !== null)) return false;
  if (!isJsonObject(zero) || !isJsonObject(value)) return jsonEqual(zero, value);
  for (const name in value) if (!isZero(getOwn(zero, name), value[name])) return false;
  return Object.keys(zero).every((name) => Object.hasOwn(value, name));
}

/** A map or list, and the fields owned in it by the time it has been walked. */
class Place {
  readonly fields: FieldsV1 = {};
  added = 0;
  /** Index of the next step. */
  next = 0;
  readonly #options: PlaceOptions;
  readonly #element: PathElement;
  readonly #isOwned: boolean;
  /** Names of members, or elements of items, in order. */
  #steps: readonly string[] = noSteps;
  /** Names in `fields`, if there are many steps. */
  #names: string[] | undefined;
  /** Items by their elements, if it is a list. */
  #items: ItemGroups | undefined;

  constructor(options: PlaceOptions, element: PathElement = '', isOwned = false) {
    this.#options = options;
    this.#element = element;
    this.#isOwned = isOwned;
    if (isOwned) this.fields['.'] = whole;
  }

  get isDone(): boolean {
    return this.next >= this.#steps.length;
  }

  /** Lists the steps in order. */
  *list(): SlicedWork<void> {
    const { value, node } = this.#options;
    const ownership = ownershipOf(node, value);
    let steps: string[];
    if (ownership === 'map' && isJsonObject(value)) steps = yield* namesInSlices(value);
    else if (ownership === 'list' && Array.isArray(value)) {
      this.#items = yield* itemsByElement(value, node);
      steps = [...this.#items.keys()];
    } else return;
    this.#steps = steps.length > membersPerSlice ? yield* sortInSlices(steps) : steps.sort();
    if (steps.length > membersPerSlice) this.#names = this.#isOwned ? ['.'] : [];
  }

  /** Keeps the names of its fields for later walks. */
  rememberNames(): void {
    if (this.#names !== undefined) rememberNames(this.fields, this.#names);
  }

  /** Adds the next steps up to the first map or list, which is returned and must be walked before the rest. */
  advance(): Place | undefined {
    const end = Math.min(this.next + membersPerSlice, this.#steps.length);
    while (this.next < end) {
      const step = this.#steps[this.next++] as string;
      const below = this.#items === undefined ? this.#addMember(step) : this.#addItems(step, this.#items);
      if (below !== undefined) return below;
    }
    return undefined;
  }

  /** Adds a place after it was walked. */
  addBelow(below: Place): void {
    below.rememberNames();
    if (below.added > 0) this.#set(below.#element, below.fields);
    else if (below.#isOwned) this.#set(below.#element, whole);
  }

  #addMember(name: string): Place | undefined {
    const { node, zero } = this.#options;
    const value = (this.#options.value as JsonObject)[name];
    const zeroHere = isJsonObject(zero) ? getOwn(zero, name) : undefined;
    if (value === undefined || isZero(zeroHere, value)) return undefined;
    return this.#add(fieldElement(name), value, { zero: zeroHere, node: memberSchema(node, name) ?? deduced });
  }

  #addItems(element: PathElement, items: ItemGroups): Place | undefined {
    const same = items.get(element) ?? [];
    // Items with the same key are owned together as a whole.
    const [value, node] = same.length === 1 ? [same[0], itemSchema(this.#options.node)] : [same, atomic];
    return this.#add(element, value, { zero: undefined, node });
  }

  /** Adds a step, or returns the place that must be walked first. */
  #add(element: PathElement, value: unknown, { zero, node }: Pick<PlaceOptions, 'zero' | 'node'>): Place | undefined {
    const { ignored, unowned } = this.#options;
    if (ignored?.members.has(element) === true) return undefined;
    const isPart = zero !== undefined && isTakenApart(value, zero, node);
    const isOwned = !isPart && unowned?.members.has(element) !== true;
    // A value of another type than before is owned as a whole.
    if (typeof value === 'object' && (zero === undefined || isPart)) {
      const below = { ignored: ignored?.children.get(element), unowned: unowned?.children.get(element) };
      return new Place({ value, zero, node, ...below }, element, isOwned);
    }
    if (isOwned) this.#set(element, whole);
    return undefined;
  }

  #set(element: PathElement, fields: FieldsV1): void {
    this.fields[element] = fields;
    this.#names?.push(element);
    this.added++;
  }
}

const atomic: SchemaNode = { type: 'array', items: deduced };

/** True for a map or list that was one before too, so that only its contents are owned. */
function isTakenApart(value: unknown, zero: unknown, node: SchemaNode): boolean {
  const ownership = ownershipOf(node, value ?? zero);
  if (ownership === 'leaf' || ownershipOf(node, zero ?? value) !== ownership) return false;
  if (ownership === 'list')
    return Array.isArray(value) && value.some((item) => itemElementOrNone(node, item) !== undefined);
  // If both are empty, one is null and the other is not.
  return isMapOrNull(value) && isMapOrNull(zero) && sizeOf(value) + sizeOf(zero) > 0;
}

function isMapOrNull(value: unknown): value is Record<string, unknown> | null {
  return value === null || isJsonObject(value);
}

function sizeOf(map: Record<string, unknown> | null): number {
  return map === null ? 0 : Object.keys(map).length;
}

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
} from '@kapstan/api/internal';
import { jsonEqual } from '../registry/meta/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
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
  rememberSize(root.fields, root.added);
  return root.added > 0 ? root.fields : undefined;
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

const noSteps: readonly string[] = [];

/** A map or list, and what is owned in it as far as it was looked at. */
class Place {
  readonly fields: FieldsV1 = {};
  added = 0;
  /** Index of the step that comes next. */
  next = 0;
  readonly #options: PlaceOptions;
  readonly #element: PathElement;
  readonly #isOwned: boolean;
  /** Names of members, or elements of items, in order. */
  #steps: readonly string[] = noSteps;
  /** Of a list. */
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

  /** Where it goes on, in order. */
  *list(): SlicedWork<void> {
    const { value, node } = this.#options;
    const ownership = ownershipOf(node, value);
    let steps: string[];
    if (ownership === 'map' && isJsonObject(value)) steps = Object.keys(value);
    else if (ownership === 'list' && Array.isArray(value)) {
      this.#items = yield* itemsByElement(value, node);
      steps = [...this.#items.keys()];
    } else return;
    this.#steps = steps.length > membersPerSlice ? yield* sortInSlices(steps) : steps.sort();
  }

  /** Adds what comes next, up to the first map or list: that is returned, and has to be looked at before the rest. */
  advance(): Place | undefined {
    const end = Math.min(this.next + membersPerSlice, this.#steps.length);
    while (this.next < end) {
      const step = this.#steps[this.next++] as string;
      const below = this.#items === undefined ? this.#addMember(step) : this.#addItems(step, this.#items);
      if (below !== undefined) return below;
    }
    return undefined;
  }

  /** Adds a place that was looked at. */
  addBelow(below: Place): void {
    rememberSize(below.fields, below.added);
    if (below.added > 0) this.#set(below.#element, below.fields);
    else if (below.#isOwned) this.#set(below.#element, whole);
  }

  #addMember(name: string): Place | undefined {
    const { node, zero } = this.#options;
    const value = (this.#options.value as JsonObject)[name];
    const zeroHere = isJsonObject(zero) ? getOwn(zero, name) : undefined;
    if (value === undefined || (zeroHere !== undefined && jsonEqual(zeroHere, value))) return undefined;
    return this.#add(fieldElement(name), value, { zero: zeroHere, node: memberSchema(node, name) ?? deduced });
  }

  #addItems(element: PathElement, items: ItemGroups): Place | undefined {
    const same = items.get(element) ?? [];
    // Items with the same key are owned together, and not by their parts.
    const [value, node] = same.length === 1 ? [same[0], itemSchema(this.#options.node)] : [same, atomic];
    return this.#add(element, value, { zero: undefined, node });
  }

  /** Adds a step, or returns the place that has to be looked at before. */
  #add(element: PathElement, value: unknown, { zero, node }: Pick<PlaceOptions, 'zero' | 'node'>): Place | undefined {
    const { ignored, unowned } = this.#options;
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

  #set(element: PathElement, fields: FieldsV1): void {
    this.fields[element] = fields;
    this.added++;
  }
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

// Writes the defaults of a schema into an object in place. Custom resources and built-in kinds share it. Schemas of built-in
// kinds have few defaults; the others, which Go sets in functions (SetDefaults_*), are in the folders of packages/kubernetes.

import { deepCopy } from '@kapstan/api';
import {
  getOwn,
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  runWhole,
  type SlicedWork,
  SlicePace,
  setOwn,
} from '@kapstan/api/internal';
import type { SchemaNode } from './node/schema-node.ts';

/**
 * Fills absent members, on all levels, with copies of their schema's defaults. A `null` counts as absent if the schema
 * has a default and is not nullable. Returns true when it did so. Source: structural defaulting.Default.
 */
export function applySchemaDefaults(node: SchemaNode, value: unknown): boolean {
  return holdsDefault(node) && runWhole(schemaDefaultsInSlices(node, value));
}

/**
 * Does what {@link applySchemaDefaults} does, for a value of any size. Deeper levels wait in a list, so that one
 * generator handles all.
 */
export function* schemaDefaultsInSlices(node: SchemaNode, value: unknown): SlicedWork<boolean> {
  const filling = new Filling(node, value);
  const pace = new SlicePace();
  for (let place = filling.next(); place !== undefined; place = filling.next()) {
    if (pace.isDue()) yield;
    const fields = filling.fieldsOf(place);
    for (let from = 0; from < fields.length; from += membersPerSlice) {
      if (from > 0) yield;
      filling.fillFields(place, fields, from);
    }
    const steps = filling.stepsIn(place) ?? (yield* namesInSlices(place.value));
    for (let from = 0; from < steps.length; from += membersPerSlice) {
      if (from > 0) yield;
      filling.fill(place, steps, from);
    }
  }
  return filling.hasFilled;
}

/** A map or list that may lack a default. */
interface Place {
  readonly node: SchemaNode;
  readonly value: unknown[] | Record<string, unknown>;
}

const noNames: readonly string[] = [];

type Fields = readonly (readonly [name: string, node: SchemaNode])[];
const noFields: Fields = [];

class Filling {
  hasFilled = false;
  readonly #open: Place[] = [];

  constructor(node: SchemaNode, value: unknown) {
    this.#enter(node, value);
  }

  next(): Place | undefined {
    return this.#open.pop();
  }

  /** Skips places whose schema has no default. */
  #enter(node: SchemaNode, value: unknown): void {
    if (typeof value !== 'object' || !holdsDefault(node)) return;
    if (Array.isArray(value) ? node.items !== undefined && holdsDefault(node.items) : isJsonObject(value))
      this.#open.push({ node, value: value as Place['value'] });
  }

  /** Returns the fields that the schema names and that may lack defaults: most schemas have few, some thousands. */
  fieldsOf({ node, value }: Place): Fields {
    return Array.isArray(value) ? noFields : membersWithDefaults(node);
  }

  /** Fills some of the fields. */
  fillFields({ value }: Place, fields: Fields, from: number): void {
    const end = Math.min(from + membersPerSlice, fields.length);
    for (let index = from; index < end; index++) {
      const [key, child] = fields[index] as Fields[number];
      this.#fill(value as Record<string, unknown>, key, child);
    }
  }

  /**
   * Returns the steps to take: the items of a list, or none for a map whose values have no defaults. Undefined = the
   * names of the map must be listed first.
   */
  stepsIn({ node, value }: Place): readonly unknown[] | undefined {
    if (Array.isArray(value)) return value;
    const { additionalProperties: values } = node;
    return typeof values === 'object' && holdsDefault(values) ? undefined : noNames;
  }

  /** Fills some of the steps. */
  fill({ node, value }: Place, steps: readonly unknown[], from: number): void {
    const end = Math.min(from + membersPerSlice, steps.length);
    for (let index = from; index < end; index++) {
      if (Array.isArray(value)) this.#fillItem(value, index, node.items as SchemaNode);
      else if (node.properties?.has(steps[index] as string) !== true)
        this.#fill(value, steps[index] as string, node.additionalProperties as SchemaNode);
    }
  }

  #fillItem(list: unknown[], index: number, node: SchemaNode): void {
    if (list[index] === null && node.nullable !== true && node.default !== undefined) {
      list[index] = deepCopy(node.default);
      this.hasFilled = true;
    }
    this.#enter(node, list[index]);
  }

  #fill(object: Record<string, unknown>, key: string, node: SchemaNode): void {
    const present = getOwn(object, key);
    const isAbsent = present === null ? node.nullable !== true : !Object.hasOwn(object, key);
    if (isAbsent && node.default !== undefined) {
      setOwn(object, key, deepCopy(node.default));
      this.hasFilled = true;
    }
    this.#enter(node, getOwn(object, key));
  }
}

const defaulted = new WeakMap<SchemaNode, Fields>();

/** Returns the members that hold defaults. They are found once per schema, because most members have none. */
function membersWithDefaults(node: SchemaNode): Fields {
  let members = defaulted.get(node);
  if (members === undefined) {
    members = [...(node.properties ?? [])].filter(([, child]) => holdsDefault(child));
    defaulted.set(node, members);
  }
  return members;
}

const known = new WeakMap<SchemaNode, boolean>();

/** True when there is a default at a place of the schema or below it. */
function holdsDefault(node: SchemaNode): boolean {
  const before = known.get(node);
  if (before !== undefined) return before;
  // During the search a recursive schema counts as holding a default.
  known.set(node, true);
  const below = [...(node.properties?.values() ?? []), node.items, node.additionalProperties];
  const holds = node.default !== undefined || below.some((child) => typeof child === 'object' && holdsDefault(child));
  known.set(node, holds);
  return holds;
}

// FieldsV1: the JSON form of a FieldSet in metadata.managedFields. Source: structured-merge-diff
// fieldpath/serialize.go.
import {
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  rememberNames,
  type SlicedWork,
  SlicePace,
  setOwn,
  sortInSlices,
} from '@kapstan/api/internal';
import { FieldSet } from './field-set.ts';
import { comparePathElements, type PathElement, parsePathElement } from './path-element.ts';

/** Deepest FieldsV1 that is read, as deep as objects themselves may be. */
const maxDepth = 1000;

interface Encoding {
  readonly set: FieldSet;
  readonly fields: Record<string, unknown>;
}

interface Decoding {
  readonly set: FieldSet;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly depth: number;
}

/** Returns canonical FieldsV1: members in order, "." only together with children. */
export function* writeFieldsV1(fieldSet: FieldSet): SlicedWork<Record<string, unknown>> {
  const root: Record<string, unknown> = {};
  const open: Encoding[] = [{ set: fieldSet, fields: root }];
  const pace = new SlicePace();
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { members, children } = place.set;
    const steps = [...members];
    for (const element of children.keys()) if (!members.has(element)) steps.push(element);
    for (const element of yield* sortInSlices(steps, comparePathElements)) {
      if (pace.isDue()) yield;
      writeStep(place, element, open);
    }
    if (Object.hasOwn(place.fields, '.')) steps.unshift('.');
    rememberNames(place.fields, steps);
  }
  return root;
}

/** Reads FieldsV1. Throws TypeError when it is malformed. */
export function* readFieldsV1(fields: unknown, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
  if (!isJsonObject(fields)) throw new TypeError('fieldsV1 must be an object');
  const root = new FieldSet();
  const open: Decoding[] = [{ set: root, fields, depth: 0 }];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    if (place.depth > maxDepth) throw new TypeError('fieldsV1 is nested too deep');
    const keys = yield* namesInSlices(place.fields);
    for (let from = 0; from < keys.length; from += membersPerSlice) {
      if (from > 0) yield;
      readSteps(place, keys.length > membersPerSlice ? keys.slice(from, from + membersPerSlice) : keys, open);
    }
    if (pace.isDue()) yield;
  }
  return root;
}

/** Adds a step to FieldsV1; the steps below it are written later. */
function writeStep({ set, fields }: Encoding, element: PathElement, open: Encoding[]): void {
  const below: Record<string, unknown> = {};
  setOwn(fields, element, below);
  const child = set.children.get(element);
  if (child === undefined) return;
  if (set.members.has(element)) below['.'] = {};
  open.push({ set: child, fields: below });
}

/** Adds steps to the set of a place; the steps below them are read later. */
function readSteps({ set, fields, depth }: Decoding, keys: readonly string[], open: Decoding[]): void {
  for (const key of keys) {
    if (key === '.') continue;
    const element = parsePathElement(key);
    const below = fields[key];
    if (!isJsonObject(below)) throw new TypeError('fieldsV1 must be an object');
    const goesOn = hasParts(below);
    if (!goesOn || Object.hasOwn(below, '.')) set.members.add(element);
    if (goesOn) open.push({ set: set.child(element), fields: below, depth: depth + 1 });
  }
}

/** True when there are steps below; "." is the step itself. */
function hasParts(below: Readonly<Record<string, unknown>>): boolean {
  for (const name in below) if (name !== '.') return true;
  return false;
}

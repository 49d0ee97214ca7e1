// FieldSet: a set of paths to fields, as a trie; FieldsV1 is its JSON. Whatever walks sets is SlicedWork,
// because one may have as many paths as an object has fields. Source: structured-merge-diff fieldpath.Set.
import {
  isJsonObject,
  membersPerSlice,
  runWhole,
  type SlicedWork,
  SlicePace,
  setOwn,
  sortInSlices,
} from '@kapstan/api';
import { comparePathElements, type FieldPath, type PathElement, parsePathElement } from './path-element.ts';

/** Deepest FieldsV1 that is read: that of the objects themselves. */
const maxDepth = 1000;

/**
 * A set of paths. `members` end here, `children` go on; a step can be both. Values are not changed once shared: only
 * {@link FieldSet.insert} changes, for whoever builds a set.
 */
export class FieldSet {
  readonly members: Set<PathElement> = new Set();
  readonly children: Map<PathElement, FieldSet> = new Map();

  static of(...paths: readonly FieldPath[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  /** Sets without any path are never children. */
  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  /** Adds a path. The empty path is no member of any set. */
  insert(path: FieldPath): void {
    const last = path.at(-1);
    if (last === undefined) return;
    let set: FieldSet = this;
    for (const element of path.slice(0, -1)) set = set.child(element);
    set.members.add(last);
  }

  /** The set below a step, made when absent. */
  child(element: PathElement): FieldSet {
    let child = this.children.get(element);
    if (child === undefined) {
      child = new FieldSet();
      this.children.set(element, child);
    }
    return child;
  }

  /** A set that can be changed; the sets below are shared. */
  *copy(pace: SlicePace): SlicedWork<FieldSet> {
    const result = new FieldSet();
    for (const element of this.members) {
      result.members.add(element);
      if (pace.isDue()) yield;
    }
    for (const [element, child] of this.children) {
      result.children.set(element, child);
      if (pace.isDue()) yield;
    }
    return result;
  }

  has(path: FieldPath): boolean {
    const last = path.at(-1);
    let set: FieldSet | undefined = this;
    for (const element of path.slice(0, -1)) set = set?.children.get(element);
    return last !== undefined && set?.members.has(last) === true;
  }

  /** The set itself when it has all of the other's paths. Costs what the other has, and the places where it adds something. */
  *union(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    if (this.isEmpty) return other;
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      for (const element of theirs.members) {
        if (pace.isDue()) yield;
        if (mine.set.members.has(element)) continue;
        if (!mine.isCopy) yield* mine.copy(pace);
        mine.set.members.add(element);
      }
      for (const [element, child] of theirs.children) {
        if (pace.isDue()) yield;
        if (mine.set.children.has(element)) open.push({ mine: mine.below(element), theirs: child });
        else {
          if (!mine.isCopy) yield* mine.copy(pace);
          mine.set.children.set(element, child);
        }
      }
    }
    return root.set;
  }

  /** Costs what the smaller one has, at each step. */
  *intersection(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new LateSet();
    const open: Common[] = [{ mine: this, theirs: other, both: root }];
    for (let common = open.pop(); common !== undefined; common = open.pop()) {
      const { mine, theirs, both } = common;
      const [few, many] = bySize(mine.members, theirs.members);
      for (const element of few) {
        if (pace.isDue()) yield;
        if (many.has(element)) both.set.members.add(element);
      }
      for (const element of bySize(mine.children, theirs.children)[0].keys()) {
        if (pace.isDue()) yield;
        const [child, other] = [mine.children.get(element), theirs.children.get(element)];
        if (child !== undefined && other !== undefined)
          open.push({ mine: child, theirs: other, both: new LateSet(both, element) });
      }
    }
    return root.set;
  }

  /**
   * Without the paths of `other`; what lies below them stays. The set itself when it has none of them. Costs what the smaller one
   * has, and the places from which something is taken.
   */
  *difference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      const { members, children } = mine.set;
      const [few, many] = bySize(members, theirs.members);
      for (const element of few) {
        if (pace.isDue()) yield;
        if (!many.has(element)) continue;
        if (!mine.isCopy) yield* mine.copy(pace);
        mine.set.members.delete(element);
      }
      for (const element of bySize(children, theirs.children)[0].keys()) {
        if (pace.isDue()) yield;
        const child = theirs.children.get(element);
        if (child !== undefined && children.has(element)) open.push({ mine: mine.below(element), theirs: child });
      }
      mine.dropEmpty();
    }
    return root.set;
  }

  /** Without the paths of `other` and all that lies below them. The set itself when it has none of them. */
  *recursiveDifference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      for (const element of theirs.members) {
        if (pace.isDue()) yield;
        if (!mine.set.members.has(element) && !mine.set.children.has(element)) continue;
        if (!mine.isCopy) yield* mine.copy(pace);
        mine.set.members.delete(element);
        mine.set.children.delete(element);
      }
      for (const [element, child] of theirs.children) {
        if (pace.isDue()) yield;
        if (mine.set.children.has(element)) open.push({ mine: mine.below(element), theirs: child });
      }
      mine.dropEmpty();
    }
    return root.set;
  }

  equals(other: FieldSet): boolean {
    return runWhole(this.difference(other)).isEmpty && runWhole(other.difference(this)).isEmpty;
  }

  /** How many paths there are. */
  *size(pace: SlicePace = new SlicePace()): SlicedWork<number> {
    let size = 0;
    const open: FieldSet[] = [this];
    for (let set = open.pop(); set !== undefined; set = open.pop()) {
      size += set.members.size;
      for (const child of set.children.values()) {
        if (pace.isDue()) yield;
        open.push(child);
      }
    }
    return size;
  }

  /**
   * The first paths, in order: at each step those that end there, then those that go on. Source: fieldpath.Set.Iterate.
   * @param most How many at most. Default all.
   */
  *paths(most: number = Number.POSITIVE_INFINITY): SlicedWork<FieldPath[]> {
    const paths: FieldPath[] = [];
    yield* addPaths(this, [], { paths, most });
    return paths;
  }

  /** Canonical: members in order, "." only beside children. */
  *toFieldsV1(): SlicedWork<Record<string, unknown>> {
    const root: Record<string, unknown> = {};
    const pace = new SlicePace();
    const open: Encoding[] = [{ set: this, fields: root }];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const { set, fields } = place;
      const steps = stepsOf(set);
      if (isLong(steps)) yield* sortInSlices(steps, comparePathElements);
      else steps.sort(comparePathElements);
      for (const element of steps) {
        if (pace.isDue()) yield;
        const below: Record<string, unknown> = {};
        setOwn(fields, element, below);
        const child = set.children.get(element);
        if (child === undefined) continue;
        if (set.members.has(element)) below['.'] = {};
        open.push({ set: child, fields: below });
      }
    }
    return root;
  }

  /** Reads FieldsV1. Throws TypeError for what is none. */
  static *fromFieldsV1(fields: unknown, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    if (!isJsonObject(fields)) throw new TypeError('fieldsV1 must be an object');
    const root = new FieldSet();
    const open: Decoding[] = [{ set: root, fields, depth: 0 }];
    for (let place = open.pop(); place !== undefined; place = open.pop()) {
      const { set, fields, depth } = place;
      if (depth > maxDepth) throw new TypeError('fieldsV1 is nested too deep');
      for (const key of Object.keys(fields)) {
        if (pace.isDue()) yield;
        if (key === '.') continue;
        const element = parsePathElement(key);
        const below = fields[key];
        if (!isJsonObject(below)) throw new TypeError('fieldsV1 must be an object');
        const goesOn = hasParts(below);
        if (!goesOn || Object.hasOwn(below, '.')) set.members.add(element);
        if (goesOn) open.push({ set: set.child(element), fields: below, depth: depth + 1 });
      }
    }
    return root;
  }
}

/** Two sets at one step, of which the first may be changed. */
interface Pair {
  readonly mine: Draft;
  readonly theirs: FieldSet;
}

interface Common {
  readonly mine: FieldSet;
  readonly theirs: FieldSet;
  readonly both: LateSet;
}

interface Encoding {
  readonly set: FieldSet;
  readonly fields: Record<string, unknown>;
}

interface Decoding {
  readonly set: FieldSet;
  readonly fields: Readonly<Record<string, unknown>>;
  readonly depth: number;
}

/** A set that a walk may have to change: it is copied, with those above it, before the first change. */
class Draft {
  /** The set itself, or the copy of it. */
  set: FieldSet;
  isCopy = false;
  readonly #above: Draft | undefined;
  readonly #element: PathElement;

  constructor(set: FieldSet, above?: Draft, element: PathElement = '') {
    this.set = set;
    this.#above = above;
    this.#element = element;
  }

  /** The set below a step that is there. */
  below(element: PathElement): Draft {
    return new Draft(this.set.children.get(element) as FieldSet, this, element);
  }

  /** From the bottom up: each is put into the one above it, when that is a copy too. */
  *copy(pace: SlicePace): SlicedWork<void> {
    let below: Draft | undefined;
    for (let draft: Draft | undefined = this; draft !== undefined; draft = draft.#above) {
      if (!draft.isCopy) draft.set = yield* draft.set.copy(pace);
      if (below !== undefined) draft.set.children.set(below.#element, below.set);
      if (draft.isCopy) return;
      draft.isCopy = true;
      below = draft;
    }
  }

  /** A set of which nothing is left is no child any more. */
  dropEmpty(): void {
    for (let draft: Draft = this; draft.isCopy && draft.set.isEmpty; ) {
      const above = draft.#above;
      if (above === undefined) return;
      above.set.children.delete(draft.#element);
      draft = above;
    }
  }
}

/** A set that is made, with those above it, when it gets its first path. */
export class LateSet {
  readonly #above: LateSet | undefined;
  readonly #element: PathElement;
  #set: FieldSet | undefined;

  constructor(above?: LateSet, element: PathElement = '') {
    this.#above = above;
    this.#element = element;
  }

  get set(): FieldSet {
    this.#set ??= this.#above?.set.child(this.#element) ?? new FieldSet();
    return this.#set;
  }
}

function stepsOf({ members, children }: FieldSet): PathElement[] {
  const steps = [...members];
  for (const element of children.keys()) if (!members.has(element)) steps.push(element);
  return steps;
}

/** Shorter lists are sorted at once, without a generator. */
function isLong(list: readonly unknown[]): boolean {
  return list.length > membersPerSlice;
}

/** The smaller one first. */
function bySize<T extends { readonly size: number }>(a: T, b: T): readonly [few: T, many: T] {
  return a.size <= b.size ? [a, b] : [b, a];
}

/**
 * The union of many sets, at a cost linear in all of them: what is added to was made here.
 */
export function* unionOf(sets: Iterable<FieldSet>): SlicedWork<FieldSet> {
  const pace = new SlicePace();
  const union = new FieldSet();
  const made = new Set<FieldSet>([union]);
  for (const set of sets) yield* addAll(union, set, { made, pace });
  return union;
}

function* addAll(
  target: FieldSet,
  source: FieldSet,
  building: { readonly made: Set<FieldSet>; readonly pace: SlicePace },
): SlicedWork<void> {
  const { made, pace } = building;
  for (const element of source.members) {
    target.members.add(element);
    if (pace.isDue()) yield;
  }
  for (const [element, theirs] of source.children) {
    if (pace.isDue()) yield;
    const present = target.children.get(element);
    if (present === undefined) {
      target.children.set(element, theirs);
      continue;
    }
    const mine = made.has(present) ? present : yield* present.copy(pace);
    made.add(mine);
    target.children.set(element, mine);
    yield* addAll(mine, theirs, building);
  }
}

function* addPaths(
  { members, children }: FieldSet,
  prefix: FieldPath,
  list: { readonly paths: FieldPath[]; readonly most: number },
): SlicedWork<void> {
  const { paths, most } = list;
  if (paths.length >= most) return;
  for (const element of yield* sortInSlices([...members], comparePathElements)) {
    if (paths.length >= most) return;
    paths.push([...prefix, element]);
  }
  for (const element of yield* sortInSlices([...children.keys()], comparePathElements)) {
    const child = children.get(element);
    if (child !== undefined) yield* addPaths(child, [...prefix, element], list);
    if (paths.length >= most) return;
  }
}

/** Whether something lies below a step: "." is the step itself. */
function hasParts(below: Readonly<Record<string, unknown>>): boolean {
  for (const name in below) if (name !== '.') return true;
  return false;
}

// FieldSet: a set of paths to fields, as a trie; FieldsV1 is its JSON. Whatever walks sets is SlicedWork,
// because one may have as many paths as an object has fields. Source: structured-merge-diff fieldpath.Set.
import { isJsonObject, runWhole, type SlicedWork, SlicePace, setOwn, sortInSlices } from '@kapstan/api';
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
    let result: FieldSet | undefined;
    for (const element of other.members) {
      if (pace.isDue()) yield;
      if (this.members.has(element)) continue;
      result ??= yield* this.copy(pace);
      result.members.add(element);
    }
    for (const [element, theirs] of other.children) {
      if (pace.isDue()) yield;
      const mine = this.children.get(element);
      const both = mine === undefined ? theirs : yield* mine.union(theirs, pace);
      if (both === mine) continue;
      result ??= yield* this.copy(pace);
      result.children.set(element, both);
    }
    return result ?? this;
  }

  /** Costs what the smaller one has, at each step. */
  *intersection(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const result = new FieldSet();
    const [few, many] = bySize(this.members, other.members);
    for (const element of few) {
      if (many.has(element)) result.members.add(element);
      if (pace.isDue()) yield;
    }
    for (const element of bySize(this.children, other.children)[0].keys()) {
      if (pace.isDue()) yield;
      const [mine, theirs] = [this.children.get(element), other.children.get(element)];
      if (mine === undefined || theirs === undefined) continue;
      const both = yield* mine.intersection(theirs, pace);
      if (!both.isEmpty) result.children.set(element, both);
    }
    return result;
  }

  /**
   * Without the paths of `other`; what lies below them stays. The set itself when it has none of them. Costs what the smaller one
   * has, and the places from which something is taken.
   */
  *difference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    let result: FieldSet | undefined;
    const [few, many] = bySize(this.members, other.members);
    for (const element of few) {
      if (pace.isDue()) yield;
      if (!many.has(element)) continue;
      result ??= yield* this.copy(pace);
      result.members.delete(element);
    }
    for (const element of bySize(this.children, other.children)[0].keys()) {
      if (pace.isDue()) yield;
      const [mine, theirs] = [this.children.get(element), other.children.get(element)];
      if (mine === undefined || theirs === undefined) continue;
      const rest = yield* mine.difference(theirs, pace);
      if (rest === mine) continue;
      result ??= yield* this.copy(pace);
      setChild(result, element, rest);
    }
    return result ?? this;
  }

  /** Without the paths of `other` and all that lies below them. The set itself when it has none of them. */
  *recursiveDifference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    let result: FieldSet | undefined;
    for (const element of other.members) {
      if (pace.isDue()) yield;
      if (!this.members.has(element) && !this.children.has(element)) continue;
      result ??= yield* this.copy(pace);
      result.members.delete(element);
      result.children.delete(element);
    }
    for (const [element, theirs] of other.children) {
      if (pace.isDue()) yield;
      const mine = this.children.get(element);
      if (mine === undefined || other.members.has(element)) continue;
      const rest = yield* mine.recursiveDifference(theirs, pace);
      if (rest === mine) continue;
      result ??= yield* this.copy(pace);
      setChild(result, element, rest);
    }
    return result ?? this;
  }

  equals(other: FieldSet): boolean {
    return runWhole(this.difference(other)).isEmpty && runWhole(other.difference(this)).isEmpty;
  }

  /** How many paths there are. */
  *size(pace: SlicePace = new SlicePace()): SlicedWork<number> {
    let size = this.members.size;
    for (const child of this.children.values()) {
      if (pace.isDue()) yield;
      size += yield* child.size(pace);
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
    const fields: Record<string, unknown> = {};
    yield* writeFields(this, fields, new SlicePace());
    return fields;
  }

  /** Reads FieldsV1. Throws TypeError for what is none. */
  static *fromFieldsV1(fields: unknown, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const set = new FieldSet();
    if (!isJsonObject(fields)) throw new TypeError('fieldsV1 must be an object');
    yield* readFields(set, fields, { depth: 0, pace });
    return set;
  }
}

/** The smaller one first. */
function bySize<T extends { readonly size: number }>(a: T, b: T): readonly [few: T, many: T] {
  return a.size <= b.size ? [a, b] : [b, a];
}

function setChild(set: FieldSet, element: PathElement, child: FieldSet): void {
  if (child.isEmpty) set.children.delete(element);
  else set.children.set(element, child);
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

function* writeFields(set: FieldSet, fields: Record<string, unknown>, pace: SlicePace): SlicedWork<void> {
  const { members, children } = set;
  const steps = [...members];
  for (const element of children.keys()) if (!members.has(element)) steps.push(element);
  for (const element of yield* sortInSlices(steps, comparePathElements)) {
    const below: Record<string, unknown> = {};
    const child = children.get(element);
    if (child !== undefined) {
      if (members.has(element)) below['.'] = {};
      yield* writeFields(child, below, pace);
    }
    setOwn(fields, element, below);
    if (pace.isDue()) yield;
  }
}

function* readFields(
  set: FieldSet,
  fields: Readonly<Record<string, unknown>>,
  { depth, pace }: { readonly depth: number; readonly pace: SlicePace },
): SlicedWork<void> {
  if (depth > maxDepth) throw new TypeError('fieldsV1 is nested too deep');
  for (const key of Object.keys(fields)) {
    if (pace.isDue()) yield;
    if (key === '.') continue;
    const element = parsePathElement(key);
    const below = fields[key];
    if (!isJsonObject(below)) throw new TypeError('fieldsV1 must be an object');
    const { isMember, goesOn } = contentsOf(below);
    if (isMember) set.members.add(element);
    if (goesOn) yield* readFields(set.child(element), below, { depth: depth + 1, pace });
  }
}

/** A step without anything below it is a member; so is one with ".". */
function contentsOf(below: Readonly<Record<string, unknown>>): {
  readonly isMember: boolean;
  readonly goesOn: boolean;
} {
  const isMember = Object.hasOwn(below, '.');
  for (const name in below) if (name !== '.') return { isMember, goesOn: true };
  return { isMember: true, goesOn: false };
}

// FieldSet: a set of paths to fields, as a trie; fields-v1.ts has its JSON. Functions that walk sets are SlicedWork,
// because a set may have as many paths as an object has fields. Source: structured-merge-diff fieldpath.Set.
import { runWhole, type SlicedWork, SlicePace, sortInSlices } from '@kapstan/api/internal';
import { comparePathElements, type FieldPath, type PathElement } from './path-element.ts';

/**
 * A set of paths. Paths end at `members` and continue at `children`; a step can be both. Sets do not change once they
 * are shared: only {@link FieldSet.insert} changes one, while it is built.
 */
export class FieldSet {
  readonly members: Set<PathElement> = new Set();
  readonly children: Map<PathElement, FieldSet> = new Map();

  static of(...paths: readonly FieldPath[]): FieldSet {
    const set = new FieldSet();
    for (const path of paths) set.insert(path);
    return set;
  }

  /** Empty sets are never children. */
  get isEmpty(): boolean {
    return this.members.size === 0 && this.children.size === 0;
  }

  /** Adds a path. The empty path is never a member. */
  insert(path: FieldPath): void {
    const last = path.at(-1);
    if (last === undefined) return;
    let set: FieldSet = this;
    for (const element of path.slice(0, -1)) set = set.child(element);
    set.members.add(last);
  }

  /** Returns the set below a step; makes it when absent. */
  child(element: PathElement): FieldSet {
    let child = this.children.get(element);
    if (child === undefined) {
      child = new FieldSet();
      this.children.set(element, child);
    }
    return child;
  }

  /** Returns a set that may be changed; the sets below it are shared. */
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

  /**
   * Returns the union, or the set itself when it has all paths of the other. The cost is proportional to the other set
   * and the places that it extends.
   */
  *union(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    if (this.isEmpty) return other;
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      for (const element of theirs.members) {
        if (pace.isDue()) yield;
        if (!mine.set.members.has(element)) (yield* mine.copy(pace)).members.add(element);
      }
      yield* addChildren(pair, open, pace);
    }
    return root.set;
  }

  /** Returns the intersection. At each step it costs as much as the smaller set. */
  *intersection(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new LateSet();
    const open: Common[] = [{ mine: this, theirs: other, both: root }];
    for (let common = open.pop(); common !== undefined; common = open.pop()) {
      const { mine, theirs, both } = common;
      for (const element of yield* inBoth(mine.members, theirs.members, pace)) {
        if (pace.isDue()) yield;
        both.set.members.add(element);
      }
      for (const element of yield* inBoth(mine.children, theirs.children, pace)) {
        if (pace.isDue()) yield;
        open.push({ mine: childOf(mine, element), theirs: childOf(theirs, element), both: new LateSet(both, element) });
      }
    }
    return root.set;
  }

  /**
   * Returns the set without the paths of `other`; paths below them stay. Returns the set itself when it has none of
   * them. The cost is proportional to the smaller set and the places from which paths are removed.
   */
  *difference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      for (const element of yield* inBoth(mine.set.members, theirs.members, pace)) {
        if (pace.isDue()) yield;
        (yield* mine.copy(pace)).members.delete(element);
      }
      for (const element of yield* inBoth(mine.set.children, theirs.children, pace)) {
        if (pace.isDue()) yield;
        open.push({ mine: mine.below(element), theirs: childOf(theirs, element) });
      }
      mine.dropEmpty();
    }
    return root.set;
  }

  /**
   * Returns the set without the paths of `other` and everything below them. Returns the set itself when it has none of
   * them.
   */
  *recursiveDifference(other: FieldSet, pace: SlicePace = new SlicePace()): SlicedWork<FieldSet> {
    const root = new Draft(this);
    const open: Pair[] = [{ mine: root, theirs: other }];
    for (let pair = open.pop(); pair !== undefined; pair = open.pop()) {
      const { mine, theirs } = pair;
      for (const element of theirs.members) {
        if (pace.isDue()) yield;
        if (mine.has(element)) remove(yield* mine.copy(pace), element);
      }
      for (const element of yield* inBoth(mine.set.children, theirs.children, pace)) {
        if (pace.isDue()) yield;
        open.push({ mine: mine.below(element), theirs: childOf(theirs, element) });
      }
      mine.dropEmpty();
    }
    return root.set;
  }

  equals(other: FieldSet): boolean {
    return runWhole(this.difference(other)).isEmpty && runWhole(other.difference(this)).isEmpty;
  }

  /** Counts the paths. */
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
   * Returns the first paths in order: at each step first the paths that end there, then the longer ones. Source:
   * fieldpath.Set.Iterate.
   * @param most Most paths to return. Default all.
   */
  *paths(most: number = Number.POSITIVE_INFINITY): SlicedWork<FieldPath[]> {
    const paths: FieldPath[] = [];
    yield* addPaths(this, [], { paths, most });
    return paths;
  }
}

/** Two sets at one step; the first may be changed. */
interface Pair {
  readonly mine: Draft;
  readonly theirs: FieldSet;
}

interface Common {
  readonly mine: FieldSet;
  readonly theirs: FieldSet;
  readonly both: LateSet;
}

/** A set that a walk may have to change. Before the first change, the set and all sets above it are copied. */
class Draft {
  /** The set itself, or its copy. */
  set: FieldSet;
  readonly #above: Draft | undefined;
  readonly #element: PathElement;
  #isCopy = false;

  constructor(set: FieldSet, above?: Draft, element: PathElement = '') {
    this.set = set;
    this.#above = above;
    this.#element = element;
  }

  /** True when a path ends or continues at a step. */
  has(element: PathElement): boolean {
    return this.set.members.has(element) || this.set.children.has(element);
  }

  /** Returns the set below a step, which must exist. */
  below(element: PathElement): Draft {
    return new Draft(childOf(this.set, element), this, element);
  }

  /** Returns the copy, made on first use. */
  *copy(pace: SlicePace): SlicedWork<FieldSet> {
    const originals: Draft[] = [];
    for (let draft: Draft | undefined = this; draft !== undefined && !draft.#isCopy; draft = draft.#above)
      originals.push(draft);
    for (const draft of originals.reverse()) {
      draft.set = yield* draft.set.copy(pace);
      draft.#isCopy = true;
      draft.#above?.set.children.set(draft.#element, draft.set);
    }
    return this.set;
  }

  /** Removes an empty set from its parent. */
  dropEmpty(): void {
    for (let draft: Draft = this; draft.#isCopy && draft.set.isEmpty; ) {
      const above = draft.#above;
      if (above === undefined) return;
      above.set.children.delete(draft.#element);
      draft = above;
    }
  }
}

/** A set that is only created when it gets its first path, together with the sets above it. */
class LateSet {
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

/** Unites the sets below two steps. */
function* addChildren({ mine, theirs }: Pair, open: Pair[], pace: SlicePace): SlicedWork<void> {
  for (const [element, child] of theirs.children) {
    if (pace.isDue()) yield;
    if (mine.set.children.has(element)) open.push({ mine: mine.below(element), theirs: child });
    else (yield* mine.copy(pace)).children.set(element, child);
  }
}

function remove({ members, children }: FieldSet, element: PathElement): void {
  members.delete(element);
  children.delete(element);
}

/** Returns a child that must exist. */
function childOf({ children }: FieldSet, element: PathElement): FieldSet {
  return children.get(element) as FieldSet;
}

interface Elements {
  readonly size: number;
  has(element: PathElement): boolean;
  keys(): Iterable<PathElement>;
}

const none: readonly PathElement[] = [];

/** Returns the elements in both, at the cost of the smaller one. */
function* inBoth(a: Elements, b: Elements, pace: SlicePace): SlicedWork<readonly PathElement[]> {
  const [few, many] = a.size <= b.size ? [a, b] : [b, a];
  if (few.size === 0) return none;
  const both: PathElement[] = [];
  for (const element of few.keys()) {
    if (pace.isDue()) yield;
    if (many.has(element)) both.push(element);
  }
  return both;
}

/**
 * Returns the union of many sets. The cost is linear in their total size, because the result set is changed in place.
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

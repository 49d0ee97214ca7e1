// FieldSet: a set of paths to fields, as a trie; FieldsV1 is its JSON. Source: structured-merge-diff fieldpath.Set.
import { isJsonObject, setOwn } from '@kapstan/api';
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

  get isEmpty(): boolean {
    if (this.members.size > 0) return false;
    for (const child of this.children.values()) if (!child.isEmpty) return false;
    return true;
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
  copy(): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) result.members.add(element);
    for (const [element, child] of this.children) result.children.set(element, child);
    return result;
  }

  has(path: FieldPath): boolean {
    const last = path.at(-1);
    let set: FieldSet | undefined = this;
    for (const element of path.slice(0, -1)) set = set?.children.get(element);
    return last !== undefined && set?.members.has(last) === true;
  }

  /** The set itself when it has all of the other's paths. */
  union(other: FieldSet): FieldSet {
    if (this.#includes(other)) return this;
    const result = this.copy();
    for (const element of other.members) result.members.add(element);
    for (const [element, child] of other.children) {
      const mine = this.children.get(element);
      result.children.set(element, mine === undefined ? child : mine.union(child));
    }
    return result;
  }

  #includes(other: FieldSet): boolean {
    for (const element of other.members) if (!this.members.has(element)) return false;
    for (const [element, theirs] of other.children) {
      const mine = this.children.get(element);
      if (mine === undefined ? !theirs.isEmpty : !mine.#includes(theirs)) return false;
    }
    return true;
  }

  intersection(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of other.members) if (this.members.has(element)) result.members.add(element);
    for (const [element, theirs] of other.children) {
      const mine = this.children.get(element);
      if (mine !== undefined) addChild(result, element, mine.intersection(theirs));
    }
    return result;
  }

  /** Without the paths of `other`; what lies below them stays. The set itself when it has none of them. */
  difference(other: FieldSet): FieldSet {
    if (!this.meets(other)) return this;
    const result = new FieldSet();
    for (const element of this.members) if (!other.members.has(element)) result.members.add(element);
    for (const [element, child] of this.children) {
      const theirs = other.children.get(element);
      addChild(result, element, theirs === undefined ? child : child.difference(theirs));
    }
    return result;
  }

  /** True when they have a path in common. */
  meets(other: FieldSet): boolean {
    for (const element of other.members) if (this.members.has(element)) return true;
    for (const [element, theirs] of other.children) {
      if (this.children.get(element)?.meets(theirs) === true) return true;
    }
    return false;
  }

  /** Without the paths of `other` and all that lies below them. */
  recursiveDifference(other: FieldSet): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) if (!other.members.has(element)) result.members.add(element);
    for (const [element, child] of this.children) {
      if (other.members.has(element)) continue;
      const theirs = other.children.get(element);
      addChild(result, element, theirs === undefined ? child : child.recursiveDifference(theirs));
    }
    return result;
  }

  /** The members below which there are none. */
  leaves(): FieldSet {
    const result = new FieldSet();
    for (const element of this.members) if (this.children.get(element)?.isEmpty !== false) result.members.add(element);
    for (const [element, child] of this.children) addChild(result, element, child.leaves());
    return result;
  }

  equals(other: FieldSet): boolean {
    return this.difference(other).isEmpty && other.difference(this).isEmpty;
  }

  /** All paths, in order: at each step those that end there, then those that go on. Source: fieldpath.Set.Iterate. */
  paths(): FieldPath[] {
    const children = [...this.children].sort(([a], [b]) => comparePathElements(a, b));
    return [
      ...[...this.members].sort(comparePathElements).map((element) => [element]),
      ...children.flatMap(([element, child]) => child.paths().map((path) => [element, ...path])),
    ];
  }

  /** Canonical: members in order, "." only beside children. */
  toFieldsV1(): Record<string, unknown> {
    const fields: Record<string, unknown> = {};
    writeFields(this, fields);
    return fields;
  }

  /** Reads FieldsV1. Throws TypeError for what is none. */
  static fromFieldsV1(fields: unknown): FieldSet {
    const set = new FieldSet();
    readFields(set, fields, 0);
    return set;
  }
}

function writeFields(set: FieldSet, fields: Record<string, unknown>): void {
  const { members, children } = set;
  const steps = [...members];
  for (const [element, child] of children) if (!members.has(element) && !child.isEmpty) steps.push(element);
  for (const element of steps.sort(comparePathElements)) {
    const below: Record<string, unknown> = {};
    const child = children.get(element);
    if (child !== undefined && !child.isEmpty) {
      if (members.has(element)) below['.'] = {};
      writeFields(child, below);
    }
    setOwn(fields, element, below);
  }
}

function readFields(set: FieldSet, fields: unknown, depth: number): void {
  if (!isJsonObject(fields)) throw new TypeError('fieldsV1 must be an object');
  if (depth > maxDepth) throw new TypeError('fieldsV1 is nested too deep');
  for (const [key, below] of Object.entries(fields)) {
    if (key === '.') continue;
    const element = parsePathElement(key);
    if (!isJsonObject(below)) throw new TypeError('fieldsV1 must be an object');
    const names = Object.keys(below);
    if (names.length === 0 || Object.hasOwn(below, '.')) set.members.add(element);
    if (names.some((name) => name !== '.')) readFields(set.child(element), below, depth + 1);
  }
}

function addChild(set: FieldSet, element: PathElement, child: FieldSet): void {
  if (!child.isEmpty) set.children.set(element, child);
}

// What an update did: the fields added, changed and removed between two objects of one schema. Source:
// structured-merge-diff typed.TypedValue.Compare.
import { getOwn, isJsonObject, type SlicedWork, SlicePace } from '@kapstan/api';
import { findDifferences, jsonEqual } from '../registry/meta/json-equality.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { FieldSet } from './field-set.ts';
import { fieldElement, type PathElement } from './path-element.ts';
import { deduced, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

export interface Comparison {
  /** Added or modified. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two values of one schema. The cost is linear in both, however deep the change lies. */
export function* compareTyped(old: unknown, next: unknown, schema: SchemaNode): SlicedWork<Comparison> {
  const comparison = { changed: new FieldSet(), removed: new FieldSet() };
  const comparer = new Comparer();
  yield* comparer.start({ old, next, node: schema, branch: new Branch(comparison) });
  return comparison;
}

/** The comparison without fields that the endpoint ignores, and all below them. */
export function* excludeFields({ changed, removed }: Comparison, ignored: FieldSet): SlicedWork<Comparison> {
  if (ignored.isEmpty) return { changed, removed };
  return {
    changed: yield* changed.recursiveDifference(ignored),
    removed: yield* removed.recursiveDifference(ignored),
  };
}

/** A place in the sets of a comparison. Sets below the root are made when something is found there. */
class Branch {
  readonly #above: Branch | undefined;
  readonly #element: PathElement;
  #changed: FieldSet | undefined;
  #removed: FieldSet | undefined;

  constructor(from: Comparison | { readonly above: Branch; readonly element: PathElement }) {
    if ('above' in from) {
      this.#above = from.above;
      this.#element = from.element;
    } else {
      this.#element = '';
      this.#changed = from.changed;
      this.#removed = from.removed;
    }
  }

  get changed(): FieldSet {
    this.#changed ??= this.#above?.changed.child(this.#element) ?? new FieldSet();
    return this.#changed;
  }

  get removed(): FieldSet {
    this.#removed ??= this.#above?.removed.child(this.#element) ?? new FieldSet();
    return this.#removed;
  }

  /** The place itself. The root is no path of any set. */
  report(next: unknown): void {
    if (this.#above === undefined) return;
    const set = next === undefined ? this.#above.removed : this.#above.changed;
    set.members.add(this.#element);
  }
}

interface Place {
  /** Undefined = absent. */
  readonly old: unknown;
  readonly next: unknown;
  readonly node: SchemaNode;
  readonly branch: Branch;
}

class Comparer {
  readonly #pace = new SlicePace();
  /** The maps and lists that were found to differ: from the next value's to the old value's. */
  readonly #differences = new Map<unknown, unknown>();

  *start(place: Place): SlicedWork<void> {
    const { old, next } = place;
    const search = { found: this.#differences, pace: this.#pace };
    if (old === undefined || !(yield* findDifferences(old, next, search))) yield* this.#compareDifferent(place);
  }

  /** The one function that calls itself, once a level: objects may be a thousand levels deep. */
  *#compareDifferent(place: Place): SlicedWork<void> {
    const { old, next, node, branch } = place;
    const ownership = ownershipOf(node, next ?? old);
    const isReplaced = ownershipOf(node, old ?? next) !== ownership || ownership === 'leaf';
    const pairs = isReplaced ? undefined : yield* this.#pairsIn(place);
    if (pairs === undefined || next === undefined) branch.report(next);
    for (const { element, ...pair } of pairs ?? []) {
      if (this.#pace.isDue()) yield;
      if (pair.old === undefined) yield* addWhole(branch.changed, element, { ...pair, pace: this.#pace });
      else yield* this.#compareDifferent({ ...pair, branch: new Branch({ above: branch, element }) });
    }
  }

  /**
   * The parts that differ. Undefined when both sides are empty or of no such form: the place itself is compared then, which tells
   * empty from null.
   */
  *#pairsIn({ old, next, node }: Place): SlicedWork<readonly Pair[] | undefined> {
    if (ownershipOf(node, next ?? old) === 'list') {
      return isListOrNull(old) && isListOrNull(next) ? yield* this.#itemPairs(old ?? [], next ?? [], node) : undefined;
    }
    return isMapOrNull(old) && isMapOrNull(next) ? yield* this.#memberPairs(old ?? {}, next ?? {}, node) : undefined;
  }

  *#memberPairs(old: Members, next: Members, node: SchemaNode): SlicedWork<Pair[] | undefined> {
    const pairs: Pair[] = [];
    const names = Object.keys(next);
    for (const name of Object.keys(old)) {
      if (this.#pace.isDue()) yield;
      if (!Object.hasOwn(next, name)) names.push(name);
    }
    for (const name of names) {
      if (this.#pace.isDue()) yield;
      const [was, is] = [getOwn(old, name), getOwn(next, name)];
      if (was !== is && this.#differ(was, is))
        pairs.push({ element: fieldElement(name), old: was, next: is, node: memberSchema(node, name) ?? deduced });
    }
    return names.length === 0 ? undefined : pairs;
  }

  /** Members that both maps have were looked at with the maps. */
  #differ(old: unknown, next: unknown): boolean {
    return isContainer(next) && isContainer(old) ? this.#differences.get(next) === old : !jsonEqual(old, next);
  }

  *#itemPairs(old: readonly unknown[], next: readonly unknown[], node: SchemaNode): SlicedWork<Pair[] | undefined> {
    const before = yield* itemsByElement(old, node, this.#pace);
    const after = yield* itemsByElement(next, node, this.#pace);
    const pairs: Pair[] = [];
    for (const [element, is] of after) {
      if (this.#pace.isDue()) yield;
      const pair = itemPair(element, { was: before.get(element) ?? [], is, node });
      if (yield* this.#itemsDiffer(pair)) pairs.push(pair);
    }
    for (const [element, was] of before) {
      if (this.#pace.isDue()) yield;
      if (!after.has(element)) pairs.push(itemPair(element, { was, is: [], node }));
    }
    return before.size + after.size === 0 ? undefined : pairs;
  }

  /** Only items that keep their place in the list were looked at with the list. */
  *#itemsDiffer({ old, next }: Pair): SlicedWork<boolean> {
    if (old === next) return false;
    if (old === undefined || (isContainer(next) && this.#differences.get(next) === old)) return true;
    return !(yield* findDifferences(old, next, { found: this.#differences, pace: this.#pace }));
  }
}

interface Pair extends Omit<Place, 'branch'> {
  readonly element: PathElement;
}

function itemPair(
  element: PathElement,
  { was, is, node }: { readonly was: readonly unknown[]; readonly is: readonly unknown[]; readonly node: SchemaNode },
): Pair {
  const isOne = was.length <= 1 && is.length <= 1;
  // Items with the same key are owned together, and not by their parts.
  return isOne
    ? { element, old: was[0], next: is[0], node: itemSchema(node) }
    : { element, old: listOrAbsent(was), next: listOrAbsent(is), node: whole };
}

type Members = Readonly<Record<string, unknown>>;

interface Addition {
  readonly next: unknown;
  readonly node: SchemaNode;
  readonly pace: SlicePace;
}

/** Adds a value that was not there before, and all that is in it: every part of it is new. */
function* addWhole(set: FieldSet, element: PathElement, addition: Addition): SlicedWork<void> {
  const { next, node } = addition;
  set.members.add(element);
  if (typeof next !== 'object') return;
  const ownership = ownershipOf(node, next);
  if (ownership === 'list' && Array.isArray(next)) yield* addItems(() => set.child(element), next, addition);
  else if (ownership === 'map' && isJsonObject(next)) yield* addMembers(() => set.child(element), next, addition);
}

function* addItems(child: () => FieldSet, list: readonly unknown[], { node, pace }: Addition): SlicedWork<void> {
  const items = itemSchema(node);
  for (const [element, same] of yield* itemsByElement(list, node, pace)) {
    if (pace.isDue()) yield;
    const item = same.length === 1 ? { next: same[0], node: items, pace } : { next: same, node: whole, pace };
    yield* addWhole(child(), element, item);
  }
}

function* addMembers(
  child: () => FieldSet,
  map: Readonly<Record<string, unknown>>,
  { node, pace }: Addition,
): SlicedWork<void> {
  for (const name of Object.keys(map)) {
    if (pace.isDue()) yield;
    const next = map[name];
    if (next === undefined) continue;
    const element = fieldElement(name);
    if (typeof next !== 'object') child().members.add(element);
    else yield* addWhole(child(), element, { next, node: memberSchema(node, name) ?? deduced, pace });
  }
}

const whole: SchemaNode = { type: 'array', items: deduced };

function listOrAbsent(items: readonly unknown[]): unknown {
  return items.length === 0 ? undefined : items;
}

function isContainer(value: unknown): boolean {
  return Array.isArray(value) || isJsonObject(value);
}

function isMapOrNull(value: unknown): value is Record<string, unknown> | null | undefined {
  return value === null || value === undefined || isJsonObject(value);
}

function isListOrNull(value: unknown): value is unknown[] | null | undefined {
  return value === null || value === undefined || Array.isArray(value);
}

// What an update did: the fields added, changed and removed between two objects of one schema. Source:
// structured-merge-diff typed.TypedValue.Compare.
import { getOwn, isJsonObject, type SlicedWork, SlicePace } from '@kapstan/api';
import { findDifferences, jsonEqual } from '../registry/json-equality.ts';
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

  /** Compares a pair that was not looked at as part of another one. */
  *start(place: Place): SlicedWork<void> {
    const { old, next } = place;
    if (old !== undefined && (yield* findDifferences(old, next, { found: this.#differences, pace: this.#pace })))
      return;
    yield* this.#compareDifferent(place);
  }

  #differ(old: unknown, next: unknown): boolean {
    return isContainer(next) && isContainer(old) ? this.#differences.get(next) === old : !jsonEqual(old, next);
  }

  *#compareDifferent(place: Place): SlicedWork<void> {
    const { old, next, node, branch } = place;
    const ownership = ownershipOf(node, next ?? old);
    const isReplaced = ownershipOf(node, old ?? next) !== ownership || ownership === 'leaf';
    if (isReplaced || !(yield* this.#descend(place)) || next === undefined) branch.report(next);
  }

  /** False when both sides are empty or of no such form: the place itself is compared, which tells empty from null. */
  *#descend(place: Place): SlicedWork<boolean> {
    const { old, next, node } = place;
    if (ownershipOf(node, next ?? old) === 'list') {
      return isListOrNull(old) && isListOrNull(next) && (yield* this.#descendList(old ?? [], next ?? [], place));
    }
    return isMapOrNull(old) && isMapOrNull(next) && (yield* this.#descendMap(old ?? {}, next ?? {}, place));
  }

  *#descendMap(
    old: Readonly<Record<string, unknown>>,
    next: Readonly<Record<string, unknown>>,
    place: Place,
  ): SlicedWork<boolean> {
    let isEmpty = true;
    for (const name of Object.keys(next)) {
      isEmpty = false;
      if (this.#pace.isDue()) yield;
      const [was, is] = [getOwn(old, name), next[name]];
      if (was !== is) yield* this.#compareMember(name, { old: was, next: is }, place);
    }
    for (const name of Object.keys(old)) {
      isEmpty = false;
      if (this.#pace.isDue()) yield;
      if (!Object.hasOwn(next, name)) yield* this.#compareMember(name, { old: old[name], next: undefined }, place);
    }
    return !isEmpty;
  }

  *#compareMember(name: string, pair: Pick<Place, 'old' | 'next'>, { node, branch: above }: Place): SlicedWork<void> {
    const { old, next } = pair;
    if (old !== undefined && next !== undefined && !this.#differ(old, next)) return;
    const element = fieldElement(name);
    const member = memberSchema(node, name) ?? deduced;
    if (old === undefined) yield* addWhole(above.changed, element, { next, node: member, pace: this.#pace });
    else yield* this.#compareDifferent({ old, next, node: member, branch: new Branch({ above, element }) });
  }

  *#descendList(old: readonly unknown[], next: readonly unknown[], place: Place): SlicedWork<boolean> {
    const before = yield* itemsByElement(old, place.node, this.#pace);
    const after = yield* itemsByElement(next, place.node, this.#pace);
    for (const [element, is] of after) {
      if (this.#pace.isDue()) yield;
      yield* this.#compareItems(element, { was: before.get(element) ?? [], is }, place);
    }
    for (const [element, was] of before) {
      if (this.#pace.isDue()) yield;
      if (!after.has(element)) yield* this.#compareItems(element, { was, is: [] }, place);
    }
    return before.size + after.size > 0;
  }

  *#compareItems(
    element: PathElement,
    { was, is }: { readonly was: readonly unknown[]; readonly is: readonly unknown[] },
    { node, branch: above }: Place,
  ): SlicedWork<void> {
    // Items with the same key are owned together, and not by their parts.
    const isOne = was.length <= 1 && is.length <= 1;
    const pair = isOne
      ? { old: was[0], next: is[0], node: itemSchema(node) }
      : { old: listOrAbsent(was), next: listOrAbsent(is), node: whole };
    const { old, next } = pair;
    if (old === next) return;
    if (old === undefined) return yield* addWhole(above.changed, element, { ...pair, pace: this.#pace });
    const place = { ...pair, branch: new Branch({ above, element }) };
    // Items that keep their place in the list were compared with it.
    if (isContainer(next) && this.#differences.get(next) === old) yield* this.#compareDifferent(place);
    else yield* this.start(place);
  }
}

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

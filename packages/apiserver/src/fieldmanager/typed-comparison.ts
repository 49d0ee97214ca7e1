// Compares two objects of one schema: which fields an update has added, changed and removed. Source:
// structured-merge-diff typed.TypedValue.Compare.
import {
  fitsOneSlice,
  getOwn,
  isJsonObject,
  membersPerSlice,
  namesInSlices,
  type SlicedWork,
  SlicePace,
} from '@kapstan/api/internal';
import { jsonEqual, jsonEqualInSlices } from '../registry/meta/json-equality.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { FieldSet } from './field-set.ts';
import { fieldElement, type PathElement } from './path-element.ts';
import { type AtomKind, deduced, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

export interface Comparison {
  /** Added or modified. */
  readonly changed: FieldSet;
  readonly removed: FieldSet;
}

/** Compares two values of one schema. The cost is linear in both, however deep the change is. */
export function* compareTyped(old: unknown, next: unknown, schema: SchemaNode): SlicedWork<Comparison> {
  const root = new Place({ old, next, node: schema });
  yield* new Comparer(root).run();
  return { changed: root.changed, removed: root.removed };
}

/** Returns the comparison without the fields that the endpoint ignores and everything below them. */
export function* excludeFields(comparison: Comparison, ignored: FieldSet): SlicedWork<Comparison> {
  const { changed, removed } = comparison;
  return {
    changed: yield* changed.recursiveDifference(ignored),
    removed: yield* removed.recursiveDifference(ignored),
  };
}

/** Two values that may differ. */
interface Pair {
  /** Undefined = absent. */
  readonly old: unknown;
  readonly next: unknown;
  readonly node: SchemaNode;
}

/** The place of a pair. Except for the root, its sets are made when a difference is found there. */
class Place {
  readonly pair: Pair;
  /** Number of lists with keys above it. */
  readonly listsAbove: number;
  readonly #above: Place | undefined;
  readonly #element: PathElement;
  #changed: FieldSet | undefined;
  #removed: FieldSet | undefined;

  constructor(pair: Pair, above?: Place, element: PathElement = '') {
    this.pair = pair;
    this.#above = above;
    this.#element = element;
    this.listsAbove = above === undefined ? 0 : above.listsAbove + (element.startsWith('f:') ? 0 : 1);
  }

  get changed(): FieldSet {
    this.#changed ??= this.#above?.changed.child(this.#element) ?? new FieldSet();
    return this.#changed;
  }

  get removed(): FieldSet {
    this.#removed ??= this.#above?.removed.child(this.#element) ?? new FieldSet();
    return this.#removed;
  }

  /** Returns the same place with another pair. */
  of(pair: Pair): Place {
    return new Place(pair, this.#above, this.#element);
  }

  /** Records a difference at this place. The root is not a path of any set. */
  report(): void {
    this.#above?.reportBelow(this.#element, this.pair.next);
  }

  reportBelow(element: PathElement, next: unknown): void {
    (next === undefined ? this.removed : this.changed).members.add(element);
  }
}

/**
 * Number of nested lists that are compared as a whole before their items. More levels would make the cost quadratic in
 * the depth.
 */
const maxWholeLists = 8;

/** Maps and lists wait in a list, so that one generator handles every depth. */
class Comparer {
  readonly #open: Place[];
  readonly #pace = new SlicePace();

  constructor(root: Place) {
    this.#open = [root];
  }

  *run(): SlicedWork<void> {
    for (let place = this.#open.pop(); place !== undefined; place = this.#open.pop()) {
      if (this.#pace.isDue()) yield;
      const form = formOf(place.pair);
      if (form === 'map') yield* this.#compareMaps(place);
      // Most lists do not change in an update. Comparing them whole is cheaper than writing the keys of their items.
      else if (form === 'list' && place.listsAbove >= maxWholeLists) yield* this.#compareLists(place);
      else if (yield* isSame(place.pair)) continue;
      else if (form === 'list') yield* this.#compareLists(place);
      else {
        place.report();
        yield* this.#compareForms(place);
      }
    }
  }

  /** Where the schema allows any form, a map exists only through its members. Source: compareWalker.compare. */
  *#compareForms(place: Place): SlicedWork<void> {
    const { old, next, node } = place.pair;
    const was = isJsonObject(old) && ownershipOf(node, old) === 'map';
    const is = isJsonObject(next) && ownershipOf(node, next) === 'map';
    if (old == null || next == null || was === is) return;
    if (was) yield* this.#compareEach(place.of({ old, next: undefined, node }), [], yield* namesInSlices(old));
    else yield* this.#compareEach(place.of({ old: undefined, next, node }), yield* namesInSlices(next as Members), []);
  }

  *#compareMaps(place: Place): SlicedWork<void> {
    const { old, next } = place.pair;
    const names = yield* namesInSlices(next ?? nothing);
    const before = yield* namesInSlices(old ?? nothing);
    // Empty and null are different.
    if (next === undefined || (names.length + before.length === 0 && !jsonEqual(old, next))) place.report();
    yield* this.#compareEach(place, names, before);
  }

  *#compareEach(place: Place, names: readonly string[], before: readonly string[]): SlicedWork<void> {
    for (let from = 0; from < names.length; from += membersPerSlice) {
      if (from > 0) yield;
      this.#compareMembers(place, names, from);
    }
    for (let from = 0; from < before.length; from += membersPerSlice) {
      if (from > 0) yield;
      this.#compareGone(place, before, from);
    }
  }

  #compareMembers(place: Place, names: readonly string[], from: number): void {
    const { old, next, node } = place.pair;
    const end = Math.min(from + membersPerSlice, names.length);
    for (let index = from; index < end; index++) {
      const name = names[index] as string;
      const was = old == null ? undefined : getOwn(old, name);
      const is = (next as Members)[name];
      if (was !== is)
        this.#compare(place, fieldElement(name), { old: was, next: is, node: memberSchema(node, name) ?? deduced });
    }
  }

  /** Reports members that the next value lacks. */
  #compareGone(place: Place, names: readonly string[], from: number): void {
    const { old, next, node } = place.pair;
    const end = Math.min(from + membersPerSlice, names.length);
    for (let index = from; index < end; index++) {
      const name = names[index] as string;
      if (next != null && Object.hasOwn(next, name)) continue;
      const was = (old as Members)[name];
      if (was !== undefined)
        this.#compare(place, fieldElement(name), {
          old: was,
          next: undefined,
          node: memberSchema(node, name) ?? deduced,
        });
    }
  }

  *#compareLists(place: Place): SlicedWork<void> {
    const { old, next, node } = place.pair;
    const before = yield* itemsByElement((old ?? []) as readonly unknown[], node);
    const after = yield* itemsByElement((next ?? []) as readonly unknown[], node);
    const isEmpty = before.size + after.size === 0;
    if (next === undefined || (isEmpty && !(yield* isSame(place.pair)))) place.report();
    for (const [element, is] of after) {
      if (this.#pace.isDue()) yield;
      this.#compare(place, element, itemPair({ was: before.get(element) ?? [], is, node }));
    }
    for (const [element, was] of before) {
      if (this.#pace.isDue()) yield;
      if (!after.has(element)) this.#compare(place, element, itemPair({ was, is: [], node }));
    }
  }

  /** Compares scalars at once. A new value is reported as a whole, including everything in it. */
  #compare(above: Place, element: PathElement, pair: Pair): void {
    const { old, next } = pair;
    if (old === undefined) above.reportBelow(element, next);
    if (isPart(old) || isPart(next)) this.#open.push(new Place(pair, above, element));
    else if (old !== next) above.reportBelow(element, next);
  }
}

type Members = Readonly<Record<string, unknown>>;
const nothing: Members = Object.freeze({});

/** Decides how a pair is compared: by its parts, or as a leaf if the two values share no parts or have none. */
function formOf({ old, next, node }: Pair): AtomKind {
  const form = ownershipOf(node, next ?? old);
  if (form === 'leaf' || ownershipOf(node, old ?? next) !== form) return 'leaf';
  const isOfForm = form === 'list' ? isListOrNull : isMapOrNull;
  return isOfForm(old) && isOfForm(next) ? form : 'leaf';
}

/** Does what {@link jsonEqual} does, for values of any size. */
function* isSame({ old, next }: Pair): SlicedWork<boolean> {
  return fitsOneSlice(old) || fitsOneSlice(next) ? jsonEqual(old, next) : yield* jsonEqualInSlices(old, next);
}

function itemPair({
  was,
  is,
  node,
}: {
  readonly was: readonly unknown[];
  readonly is: readonly unknown[];
  readonly node: SchemaNode;
}): Pair {
  const isOne = was.length <= 1 && is.length <= 1;
  // Items with the same key are owned together as a whole.
  return isOne
    ? { old: was[0], next: is[0], node: itemSchema(node) }
    : { old: listOrAbsent(was), next: listOrAbsent(is), node: whole };
}

const whole: SchemaNode = { type: 'array', items: deduced };

function listOrAbsent(items: readonly unknown[]): unknown {
  return items.length === 0 ? undefined : items;
}

function isPart(value: unknown): boolean {
  return typeof value === 'object' && value !== null;
}

function isMapOrNull(value: unknown): boolean {
  return value === null || value === undefined || isJsonObject(value);
}

function isListOrNull(value: unknown): boolean {
  return value === null || value === undefined || Array.isArray(value);
}

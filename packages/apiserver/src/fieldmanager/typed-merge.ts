// Merges an applied configuration into the live object: applied values win, the rest stays, items of associative lists
// keep a common order. Source: structured-merge-diff typed.TypedValue.Merge.
import {
  copyAtPace,
  getOwn,
  isJsonObject,
  namesInSlices,
  rememberSize,
  type SlicedWork,
  SlicePace,
  setOwn,
} from '@kapstan/api/internal';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import type { PathElement } from './path-element.ts';
import { deduced, itemElement, itemSchema, itemsByElement, memberSchema, ownershipOf } from './schema-atom.ts';

/** Returns a new value that shares nothing with the arguments. `applied` must be valid; see typed-validation.ts. */
export function* mergeTyped(
  live: unknown,
  applied: unknown,
  { node, pace = new SlicePace() }: { readonly node: SchemaNode; readonly pace?: SlicePace },
): SlicedWork<unknown> {
  if (applied === undefined) return typeof live === 'object' ? yield* copyAtPace(live, pace) : live;
  const ownership = ownershipOf(node, applied ?? live);
  if (ownership === 'map') return yield* mergeMaps(live, applied, { node, pace });
  if (ownership === 'list') return yield* mergeLists(live, applied, { node, pace });
  return typeof applied === 'object' ? yield* copyAtPace(applied, pace) : applied;
}

interface Walk {
  readonly node: SchemaNode;
  readonly pace: SlicePace;
}

function* mergeMaps(live: unknown, applied: unknown, { node, pace }: Walk): SlicedWork<unknown> {
  const before = isJsonObject(live) ? live : {};
  const after = isJsonObject(applied) ? applied : {};
  const names = yield* namesOf(before, after, pace);
  if (names.length === 0) return yield* copyAtPace(applied, pace);
  const merged: Record<string, unknown> = {};
  for (const name of names) {
    if (pace.isDue()) yield;
    const [was, is] = [getOwn(before, name), getOwn(after, name)];
    const isScalar = typeof was !== 'object' && typeof is !== 'object';
    const walk = { node: memberSchema(node, name) ?? deduced, pace };
    setOwn(merged, name, isScalar ? (is ?? was) : yield* mergeTyped(was, is, walk));
  }
  rememberSize(merged, names.length);
  return merged;
}

/** Yields the names of the first map, then the names that only the second map has. */
function* namesOf(before: object, after: object, pace: SlicePace): SlicedWork<string[]> {
  const names = yield* namesInSlices(before);
  for (const name of yield* namesInSlices(after)) {
    if (!Object.hasOwn(before, name)) names.push(name);
    if (pace.isDue()) yield;
  }
  return names;
}

function* mergeLists(live: unknown, applied: unknown, { node, pace }: Walk): SlicedWork<unknown> {
  const before = Array.isArray(live) ? live : [];
  const after = Array.isArray(applied) ? applied : [];
  if (before.length === 0 && after.length === 0) return yield* copyAtPace(applied, pace);
  const lists = {
    live: before,
    liveItems: yield* itemsByElement(before, node),
    appliedItems: yield* itemsByElement(after, node),
  };
  return yield* new ListMerge(lists, { node, pace }).run();
}

interface MergedLists {
  readonly live: readonly unknown[];
  readonly liveItems: ReadonlyMap<PathElement, readonly unknown[]>;
  readonly appliedItems: ReadonlyMap<PathElement, readonly unknown[]>;
}

/** Walks both lists together: live items keep their places, applied ones their order. */
class ListMerge {
  readonly #lists: MergedLists;
  readonly #walk: Walk;
  readonly #applied: readonly PathElement[];
  readonly #merged = new Set<PathElement>();
  readonly #out: unknown[] = [];
  #at = 0;
  #next = 0;
  /** Index in the applied order of the next item that is live too, with which a live item may be merged. */
  #nextShared = 0;

  constructor(lists: MergedLists, walk: Walk) {
    this.#lists = lists;
    this.#walk = walk;
    this.#applied = [...lists.appliedItems.keys()];
    this.#skipUnshared();
  }

  *run(): SlicedWork<unknown[]> {
    const { live } = this.#lists;
    while (this.#at < live.length || this.#next < this.#applied.length) {
      if (this.#walk.pace.isDue()) yield;
      yield* this.#step();
    }
    return this.#out;
  }

  *#step(): SlicedWork<void> {
    const { live, appliedItems } = this.#lists;
    const wanted = this.#applied[this.#next];
    if (this.#at >= live.length) return yield* this.#takeNext();
    const item = live[this.#at];
    const element = itemElement(this.#walk.node, item);
    if (element === wanted) {
      this.#at++;
      yield* this.#takeNext();
    } else if (this.#staysBehind(element, wanted)) this.#at++;
    else if (!appliedItems.has(element)) {
      this.#at++;
      this.#out.push(typeof item === 'object' ? yield* copyAtPace(item, this.#walk.pace) : item);
    } else {
      // A live item that was merged before makes room for the next applied one.
      if (this.#merged.has(element)) this.#at++;
      yield* this.#takeNext();
    }
  }

  /** A live item that is also applied, but after another one, moves to its place in the applied order. */
  #staysBehind(element: PathElement, wanted: PathElement | undefined): boolean {
    const nextShared = this.#applied[this.#nextShared];
    return (
      wanted !== undefined &&
      this.#lists.appliedItems.has(element) &&
      nextShared !== undefined &&
      nextShared !== element
    );
  }

  *#takeNext(): SlicedWork<void> {
    const { liveItems, appliedItems } = this.#lists;
    const element = this.#applied[this.#next++];
    if (element === undefined) return;
    const live = liveItems.get(element) ?? [];
    const applied = appliedItems.get(element) ?? [];
    this.#merged.add(element);
    if (this.#applied[this.#nextShared] === element) {
      this.#nextShared++;
      this.#skipUnshared();
    }
    const walk = { node: itemSchema(this.#walk.node), pace: this.#walk.pace };
    this.#out.push(yield* mergeTyped(live.length === 1 ? live[0] : undefined, applied[0], walk));
  }

  #skipUnshared(): void {
    const { liveItems } = this.#lists;
    while (this.#nextShared < this.#applied.length && !liveItems.has(this.#applied[this.#nextShared] ?? ''))
      this.#nextShared++;
  }
}

// Merges lists in a strategic merge: maps by their merge key, scalars as sets, and the result in order. The order of
// the patch (or of $setElementOrder) overrides the order of the present list. Used by strategic-merge.ts.
import { isJsonObject, type SlicedWork, type SlicePace, setOwn } from '@kapstan/api/internal';
import { goInterfaceType } from '../schema/go/go-types.ts';
import { shortGoValue } from '../schema/go/short-go-text.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import { directive, hasDirective, withoutDirectives } from './strategic-directives.ts';
import {
  badArgument,
  listOfLists,
  maxShown,
  noMap,
  noMergeKey,
  StrategicMergeError,
  unknownPatchType,
} from './strategic-merge-error.ts';

type Fields = Record<string, unknown>;

/** Parts of the surrounding merge that merging a list needs. */
export interface Merging {
  readonly pace: SlicePace;
  /** Merges two maps; implemented in strategic-merge.ts. */
  readonly mergeMaps: (original: Fields, patch: Fields, schema: SchemaNode) => SlicedWork<Fields>;
}

export interface ListChange {
  readonly present: unknown[];
  readonly change: unknown[];
  /** True when the change was given as $deleteFromPrimitiveList. */
  readonly isDeletion: boolean;
}

/** Returns the merged list. Throws StrategicMergeError. */
export function* mergeList(
  { present, change, isDeletion }: ListChange,
  node: SchemaNode,
  merging: Merging,
): SlicedWork<unknown[]> {
  const { pace } = merging;
  if (present.length === 0 && change.length === 0) return present;
  if ((yield* elementType([present, change], pace)) !== mapType) {
    if (isDeletion) return yield* without(present, change, pace);
    const distinct = yield* distinctItems([present, change], pace);
    return yield* inOrder(distinct, { first: change, rest: present, mergeKey: undefined }, pace);
  }
  const mergeKey = node.patchMergeKey;
  if (mergeKey === undefined)
    throw new StrategicMergeError('internal', 'cannot merge lists without merge key for type struct');
  const { kept, changes } = yield* applyItemDirectives({ present, change: change as Fields[], mergeKey }, pace);
  const merged = yield* mergeItems([...kept], { changes, mergeKey, items: node.items ?? {} }, merging);
  return yield* inOrder(merged, { first: changes, rest: kept, mergeKey }, pace);
}

/** Merges a list with $setElementOrder; undefined when there is neither a present list nor a change. */
export function* orderedList(
  {
    present,
    change,
    order,
  }: { readonly present: unknown[] | undefined; readonly change: unknown[] | undefined; readonly order: unknown[] },
  node: SchemaNode,
  merging: Merging,
): SlicedWork<unknown[] | undefined> {
  const { pace } = merging;
  const mergeKey = node.patchMergeKey;
  yield* refuseOtherOrder({ change: change ?? [], order, mergeKey }, pace);
  if (present === undefined && change === undefined) return undefined;
  const isMerging = node.patchStrategy?.includes('merge') === true;
  const merged =
    present === undefined || change === undefined
      ? ((yield* withoutDirectives(change ?? present ?? [], pace)) as unknown[])
      : isMerging
        ? yield* mergeList({ present, change, isDeletion: false }, node, merging)
        : change;
  yield* elementType([present ?? [], change ?? []], pace);
  return yield* inOrder(merged, { first: order, rest: present ?? [], mergeKey }, pace);
}

const mapType = 'map[string]interface {}';

function* elementType(lists: readonly (readonly unknown[])[], pace: SlicePace): SlicedWork<string> {
  const types = new Set<string>();
  for (const list of lists) {
    for (const item of list) {
      types.add(goInterfaceType(item));
      if (pace.isDue()) yield;
    }
  }
  if (types.has('[]interface {}')) throw listOfLists();
  if (types.size > 1) {
    throw new StrategicMergeError('internal', `list element types are not identical: ${shortGoValue(lists, maxShown)}`);
  }
  const [type] = types;
  if (type === undefined) throw new StrategicMergeError('internal', 'no elements in any of the given slices');
  return type;
}

function* without(list: readonly unknown[], removed: readonly unknown[], pace: SlicePace): SlicedWork<unknown[]> {
  const gone = new Set(yield* distinctItems([removed], pace));
  const kept: unknown[] = [];
  for (const item of list) {
    if (!gone.has(item)) kept.push(item);
    if (pace.isDue()) yield;
  }
  return kept;
}

function* distinctItems(lists: readonly (readonly unknown[])[], pace: SlicePace): SlicedWork<Iterable<unknown>> {
  const distinct = new Set<unknown>();
  for (const list of lists) {
    for (const item of list) {
      distinct.add(item);
      if (pace.isDue()) yield;
    }
  }
  return distinct;
}

interface ItemChanges {
  readonly present: unknown[];
  readonly change: readonly Fields[];
  readonly mergeKey: string;
}

/** Applies `{$patch: delete, key}`, which removes items, and `{$patch: replace}`, which replaces all. */
function* applyItemDirectives(
  { present, change, mergeKey }: ItemChanges,
  pace: SlicePace,
): SlicedWork<{ readonly kept: unknown[]; readonly changes: readonly Fields[] }> {
  const deleted = new Set<unknown>();
  let isReplaced = false;
  const plain: Fields[] = [];
  for (const item of change) {
    if (pace.isDue()) yield;
    if (!hasDirective(item)) plain.push(item);
    else if (itemDirective(item) === 'replace') isReplaced = true;
    else deleted.add(keyOf(item, mergeKey));
  }
  if (isReplaced) return { kept: plain, changes: [] };
  if (deleted.size === 0) return { kept: present, changes: plain };
  const kept: unknown[] = [];
  for (const item of present) {
    if (!isOneOf(deleted, item, mergeKey)) kept.push(item);
    if (pace.isDue()) yield;
  }
  return { kept, changes: plain };
}

function itemDirective(item: Fields): 'replace' | 'delete' {
  const what = item[directive];
  if (what === 'replace' || what === 'delete') return what;
  if (what !== 'merge') throw unknownPatchType(what, item);
  throw new StrategicMergeError('internal', 'merging lists cannot yet be specified in the patch');
}

function isOneOf(keys: ReadonlySet<unknown>, item: unknown, mergeKey: string): boolean {
  return isJsonObject(item) && keys.has(item[mergeKey]);
}

interface ItemMerge {
  readonly changes: readonly Fields[];
  readonly mergeKey: string;
  readonly items: SchemaNode;
}

function* mergeItems(
  list: unknown[],
  { changes, mergeKey, items }: ItemMerge,
  { pace, mergeMaps }: Merging,
): SlicedWork<unknown[]> {
  const places = yield* placesOf(list, mergeKey, pace);
  for (const change of changes) {
    const key = keyOf(change, mergeKey);
    const place = places.get(key);
    if (place === undefined) {
      places.set(key, list.length);
      const item = (yield* withoutDirectives(change, pace)) as Fields;
      // null counts as a key, too.
      if (key === null) setOwn(item, mergeKey, key);
      list.push(item);
    } else list[place] = yield* mergeMaps(list[place] as Fields, change, items);
    if (pace.isDue()) yield;
  }
  return list;
}

/** Returns the index of the first item with each key. */
function* placesOf(list: readonly unknown[], mergeKey: string, pace: SlicePace): SlicedWork<Map<unknown, number>> {
  const places = new Map<unknown, number>();
  for (const [index, item] of list.entries()) {
    const key = isJsonObject(item) && Object.hasOwn(item, mergeKey) ? item[mergeKey] : undefined;
    if (key !== undefined && !places.has(key)) places.set(key, index);
    if (pace.isDue()) yield;
  }
  return places;
}

interface WantedOrder {
  /** Keys of the patch's items, in the order of the patch. */
  readonly first: readonly unknown[];
  /**
   * Items not in `first` keep the order of this list, and are placed between the patch's items if the list has those
   * too.
   */
  readonly rest: readonly unknown[];
  readonly mergeKey: string | undefined;
}

/** Finds items by their keys, so that no list is sorted or searched. */
function* inOrder(list: Iterable<unknown>, order: WantedOrder, pace: SlicePace): SlicedWork<unknown[]> {
  const { mergeKey } = order;
  const wanted = yield* ranksOf(order.first, mergeKey, pace);
  const before = yield* ranksOf(order.rest, mergeKey, pace);
  const ours = new Map<unknown, unknown[]>();
  const known = new Map<unknown, unknown[]>();
  const unknown: unknown[] = [];
  for (const item of list) {
    if (pace.isDue()) yield;
    const key = identity(item, mergeKey);
    if (wanted.has(key)) addTo(ours, key, item);
    else if (before.has(key)) addTo(known, key, item);
    else unknown.push(item);
  }
  const first = yield* pickInOrder(ours, wanted.keys(), { picked: [], pace });
  const rest = yield* pickInOrder(known, before.keys(), { picked: unknown, pace });
  const rankOf = (item: unknown): number => before.get(identity(item, mergeKey)) ?? -1;
  return yield* interleaved({ first, rest }, rankOf, pace);
}

/** Merges both lists, each in its order. Items of the second go before the item of the first that they stood before. */
function* interleaved(
  { first, rest }: { readonly first: readonly unknown[]; readonly rest: readonly unknown[] },
  rankOf: (item: unknown) => number,
  pace: SlicePace,
): SlicedWork<unknown[]> {
  const result: unknown[] = [];
  let next = 0;
  for (const item of first) {
    const place = rankOf(item);
    while (next < rest.length && place >= 0 && isBefore(rankOf(rest[next]), place)) {
      result.push(rest[next++]);
      if (pace.isDue()) yield;
    }
    result.push(item);
    if (pace.isDue()) yield;
  }
  return result.concat(rest.slice(next));
}

function addTo(groups: Map<unknown, unknown[]>, key: unknown, item: unknown): void {
  const group = groups.get(key);
  if (group === undefined) groups.set(key, [item]);
  else group.push(item);
}

/** Adds the items of these keys to `picked`, in the order of the keys. */
function* pickInOrder(
  groups: ReadonlyMap<unknown, readonly unknown[]>,
  keys: Iterable<unknown>,
  { picked, pace }: { readonly picked: unknown[]; readonly pace: SlicePace },
): SlicedWork<unknown[]> {
  if (groups.size === 0) return picked;
  for (const key of keys) {
    for (const item of groups.get(key) ?? []) picked.push(item);
    if (pace.isDue()) yield;
  }
  return picked;
}

function isBefore(rank: number, place: number): boolean {
  return rank >= 0 && rank < place;
}

function* ranksOf(
  list: readonly unknown[],
  mergeKey: string | undefined,
  pace: SlicePace,
): SlicedWork<Map<unknown, number>> {
  const ranks = new Map<unknown, number>();
  for (const [index, item] of list.entries()) {
    if (mergeKey !== undefined && !isJsonObject(item)) throw noMap(index);
    const key = identity(item, mergeKey);
    if (!ranks.has(key)) ranks.set(key, index);
    if (pace.isDue()) yield;
  }
  return ranks;
}

function identity(item: unknown, mergeKey: string | undefined): unknown {
  return mergeKey === undefined ? item : keyOf(item, mergeKey);
}

function keyOf(item: unknown, mergeKey: string): unknown {
  if (!isJsonObject(item)) throw badArgument({}, item);
  if (!Object.hasOwn(item, mergeKey)) throw noMergeKey(item, mergeKey);
  return item[mergeKey];
}

interface OrderCheck {
  readonly change: readonly unknown[];
  readonly order: readonly unknown[];
  readonly mergeKey: string | undefined;
}

/** The patch's items must be in $setElementOrder, in the same order. */
function* refuseOtherOrder({ change, order, mergeKey }: OrderCheck, pace: SlicePace): SlicedWork<void> {
  if (change.length === 0 || order.length === 0) return;
  const plain: unknown[] = [];
  for (const item of change) {
    if (!hasDirective(item)) plain.push(item);
    if (pace.isDue()) yield;
  }
  let at = 0;
  for (const place of order) {
    if (at < plain.length && identity(plain[at], mergeKey) === identity(place, mergeKey)) at++;
    if (pace.isDue()) yield;
  }
  if (at === plain.length) return;
  const [is, wanted] = [shortGoValue(change, maxShown), shortGoValue(order, maxShown)];
  const text = `The order in patch list:\n${is}\n doesn't match $setElementOrder list:\n${wanted}\n`;
  throw new StrategicMergeError('internal', text);
}

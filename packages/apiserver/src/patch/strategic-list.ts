// Lists in a strategic merge: maps by their merge key, scalars as sets, and the order of the outcome. The order of the
// patch (or of $setElementOrder) goes before the order of the present list. Used by strategic-merge.ts.
import { isJsonObject, setOwn } from '@kapstan/api';
import { formatGoValue, goInterfaceType } from '../schema/go-types.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import { directive, hasDirective, withoutDirectives } from './strategic-directives.ts';
import {
  badArgument,
  listOfLists,
  noMap,
  noMergeKey,
  StrategicMergeError,
  unknownPatchType,
} from './strategic-merge-error.ts';

type Fields = Record<string, unknown>;
/** Merges two maps of a list: the recursion back into strategic-merge.ts. */
export type MergeMaps = (original: Fields, patch: Fields, schema: SchemaNode) => Fields;

export interface ListChange {
  readonly present: unknown[];
  readonly change: unknown[];
  /** The change came as $deleteFromPrimitiveList. */
  readonly isDeletion: boolean;
}

/** The merged list. Throws StrategicMergeError. */
export function mergeList(
  { present, change, isDeletion }: ListChange,
  node: SchemaNode,
  mergeMaps: MergeMaps,
): unknown[] {
  if (present.length === 0 && change.length === 0) return present;
  if (elementType(present, change) !== mapType) {
    if (isDeletion) return present.filter((item) => !change.includes(item));
    return inOrder([...new Set([...present, ...change])], { first: change, rest: present, mergeKey: undefined });
  }
  const mergeKey = node.patchMergeKey;
  if (mergeKey === undefined)
    throw new StrategicMergeError('internal', 'cannot merge lists without merge key for type struct');
  const { kept, changes } = applyItemDirectives(present, change as Fields[], mergeKey);
  const merged = mergeItems([...kept], { changes, mergeKey, items: node.items ?? {}, mergeMaps });
  return inOrder(merged, { first: changes, rest: kept, mergeKey });
}

/** A list that comes with $setElementOrder; undefined when there is neither a present list nor a change. */
export function orderedList(
  {
    present,
    change,
    order,
  }: { readonly present: unknown[] | undefined; readonly change: unknown[] | undefined; readonly order: unknown[] },
  node: SchemaNode,
  mergeMaps: MergeMaps,
): unknown[] | undefined {
  const mergeKey = node.patchMergeKey;
  refuseOtherOrder(change ?? [], order, mergeKey);
  if (present === undefined && change === undefined) return undefined;
  const isMerging = node.patchStrategy?.includes('merge') === true;
  const merged =
    present === undefined || change === undefined
      ? (withoutDirectives(change ?? present ?? []) as unknown[])
      : isMerging
        ? mergeList({ present, change, isDeletion: false }, node, mergeMaps)
        : change;
  elementType(present ?? [], change ?? []);
  return inOrder(merged, { first: order, rest: present ?? [], mergeKey });
}

const mapType = 'map[string]interface {}';

function elementType(...lists: readonly (readonly unknown[])[]): string {
  const types = new Set(lists.flat(1).map(goInterfaceType));
  if (types.has('[]interface {}')) throw listOfLists();
  if (types.size > 1) {
    throw new StrategicMergeError('internal', `list element types are not identical: ${formatGoValue(lists)}`);
  }
  const [type] = types;
  if (type === undefined) throw new StrategicMergeError('internal', 'no elements in any of the given slices');
  return type;
}

/** `{$patch: delete, key}` takes items away, `{$patch: replace}` all of them. */
function applyItemDirectives(
  present: unknown[],
  change: readonly Fields[],
  mergeKey: string,
): { readonly kept: unknown[]; readonly changes: readonly Fields[] } {
  let kept = present;
  let isReplaced = false;
  const plain: Fields[] = [];
  for (const item of change) {
    const what = item[directive];
    if (!hasDirective(item)) plain.push(item);
    else if (what === 'replace') isReplaced = true;
    else if (what === 'delete') kept = withoutItem(kept, keyOf(item, mergeKey), mergeKey);
    else if (what === 'merge')
      throw new StrategicMergeError('internal', 'merging lists cannot yet be specified in the patch');
    else throw unknownPatchType(what, item);
  }
  return isReplaced ? { kept: plain, changes: [] } : { kept, changes: plain };
}

function withoutItem(list: unknown[], key: unknown, mergeKey: string): unknown[] {
  return list.filter((item) => !isJsonObject(item) || item[mergeKey] !== key);
}

interface ItemMerge {
  readonly changes: readonly Fields[];
  readonly mergeKey: string;
  readonly items: SchemaNode;
  readonly mergeMaps: MergeMaps;
}

function mergeItems(list: unknown[], { changes, mergeKey, items, mergeMaps }: ItemMerge): unknown[] {
  const places = new Map<unknown, number>();
  list.forEach((item, index) => {
    const key = isJsonObject(item) && Object.hasOwn(item, mergeKey) ? item[mergeKey] : undefined;
    if (key !== undefined && !places.has(key)) places.set(key, index);
  });
  for (const change of changes) {
    const key = keyOf(change, mergeKey);
    const place = places.get(key);
    if (place === undefined) {
      places.set(key, list.length);
      const item = withoutDirectives(change) as Fields;
      // A key of null is one too.
      if (key === null) setOwn(item, mergeKey, key);
      list.push(item);
    } else list[place] = mergeMaps(list[place] as Fields, change, items);
  }
  return list;
}

interface WantedOrder {
  /** Items in here are the patch's and stand in this order. */
  readonly first: readonly unknown[];
  /** The others stand in the order of this list, between the patch's where both are known to it. */
  readonly rest: readonly unknown[];
  readonly mergeKey: string | undefined;
}

function inOrder(list: readonly unknown[], { first, rest, mergeKey }: WantedOrder): unknown[] {
  const wanted = ranksOf(first, mergeKey);
  const before = ranksOf(rest, mergeKey);
  const rank = (ranks: ReadonlyMap<unknown, number>, item: unknown): number =>
    ranks.get(identity(item, mergeKey)) ?? -1;
  const ours = list.filter((item) => rank(wanted, item) >= 0).sort((a, b) => rank(wanted, a) - rank(wanted, b));
  const others = list.filter((item) => rank(wanted, item) < 0).sort((a, b) => rank(before, a) - rank(before, b));
  const result: unknown[] = [];
  let next = 0;
  for (const item of ours) {
    const place = rank(before, item);
    while (next < others.length && place >= 0 && isBefore(rank(before, others[next]), place))
      result.push(others[next++]);
    result.push(item);
  }
  return [...result, ...others.slice(next)];
}

function isBefore(rank: number, place: number): boolean {
  return rank >= 0 && rank < place;
}

function ranksOf(list: readonly unknown[], mergeKey: string | undefined): Map<unknown, number> {
  const ranks = new Map<unknown, number>();
  list.forEach((item, index) => {
    if (mergeKey !== undefined && !isJsonObject(item)) throw noMap(index);
    const key = identity(item, mergeKey);
    if (!ranks.has(key)) ranks.set(key, index);
  });
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

/** What the patch sets must stand in $setElementOrder, in the same order. */
function refuseOtherOrder(change: readonly unknown[], order: readonly unknown[], mergeKey: string | undefined): void {
  if (change.length === 0 || order.length === 0) return;
  const plain = change.filter((item) => !hasDirective(item));
  let at = 0;
  for (const place of order) {
    if (at < plain.length && identity(plain[at], mergeKey) === identity(place, mergeKey)) at++;
  }
  if (at === plain.length) return;
  const text = `The order in patch list:\n${formatGoValue(change)}\n doesn't match $setElementOrder list:\n${formatGoValue(order)}\n`;
  throw new StrategicMergeError('internal', text);
}

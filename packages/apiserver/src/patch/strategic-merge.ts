// Applies application/strategic-merge-patch+json: a merge patch that knows from the schema which lists merge by key,
// with the directives $patch, $retainKeys, $deleteFromPrimitiveList, $setElementOrder. Used by apply-patch.ts; lists
// are in strategic-list.ts. Source of the rules: apimachinery util/strategicpatch.
import {
  getOwn,
  isJsonObject,
  namesInSlices,
  type SlicedWork,
  SlicePace,
  setOwn,
  sortInSlices,
} from '@kapstan/api/internal';
import { MemberCount } from '../schema/body-limits.ts';
import { goTypeName } from '../schema/go/go-types.ts';
import type { SchemaNode } from '../schema/node/schema-node.ts';
import {
  deletionPrefix,
  directive,
  hasDirective,
  orderPrefix,
  retainKeys,
  withoutDirectives,
} from './strategic-directives.ts';
import { type Merging, mergeList, orderedList } from './strategic-list.ts';
import { badArgument, StrategicMergeError, unknownPatchType } from './strategic-merge-error.ts';

type Fields = Record<string, unknown>;

/**
 * Merges `patch` into `original` and returns the result; both are changed. Throws {@link StrategicMergeError}. The cost
 * is linear in both, except for sorting names.
 */
export function applyStrategicMerge(original: Fields, patch: Fields, schema: SchemaNode): SlicedWork<Fields> {
  const pace = new SlicePace();
  const merging: Merging = {
    pace,
    mergeMaps: (present, change, node) => mergeMaps({ present, change, node }, merging),
  };
  return merging.mergeMaps(original, patch, schema);
}

interface MapMerge {
  readonly present: Fields;
  readonly change: Fields;
  readonly node: SchemaNode;
}

function* mergeMaps({ present, change, node }: MapMerge, merging: Merging): SlicedWork<Fields> {
  if (Object.hasOwn(change, directive)) return applyDirective(change);
  const members = new MemberCount(present);
  yield* applyRetainKeys(present, change, members);
  yield* applyElementOrders({ present, change, node }, merging);
  for (const name of yield* sortInSlices(yield* namesInSlices(change))) {
    if (merging.pace.isDue()) yield;
    const was = Object.hasOwn(present, name);
    yield* mergeMember(present, { name, value: change[name], node }, merging);
    members.changed(was, Object.hasOwn(present, name));
  }
  members.check();
  return present;
}

function applyDirective(patch: Fields): Fields {
  const what = patch[directive];
  if (what === 'delete') return {};
  if (what !== 'replace') throw unknownPatchType(what, patch);
  delete patch[directive];
  return patch;
}

/** Removes members that the list does not name. The list must name the members that the patch sets. */
function* applyRetainKeys(original: Fields, patch: Fields, members: MemberCount): SlicedWork<void> {
  if (!Object.hasOwn(patch, retainKeys)) return;
  const kept = patch[retainKeys];
  delete patch[retainKeys];
  if (!Array.isArray(kept)) throw new StrategicMergeError('badRequest', 'invalid patch format of retainKeys');
  const names = new Set<unknown>(kept);
  for (const name of yield* namesInSlices(patch)) {
    const isDirective = name.startsWith(deletionPrefix) || name.startsWith(orderPrefix);
    if (patch[name] !== null && !isDirective && !names.has(name)) {
      throw new StrategicMergeError('badRequest', 'invalid patch format of retainKeys');
    }
  }
  for (const name of yield* namesInSlices(original)) {
    if (names.has(name)) continue;
    delete original[name];
    members.changed(true, false);
  }
}

/** Merges and orders the lists that have a $setElementOrder, and takes them out of the patch. */
function* applyElementOrders({ present: original, change: patch, node }: MapMerge, merging: Merging): SlicedWork<void> {
  for (const key of yield* namesInSlices(patch)) {
    if (merging.pace.isDue()) yield;
    if (!key.startsWith(orderPrefix)) continue;
    const name = nameAfter(orderPrefix, key);
    const order = listOf(patch[key]);
    delete patch[key];
    const present = Object.hasOwn(original, name) ? listOf(original[name]) : undefined;
    const change = Object.hasOwn(patch, name) ? listOf(patch[name]) : undefined;
    const merged = yield* orderedList({ present, change, order }, memberSchema(node, name), merging);
    if (merged !== undefined) setOwn(original, name, merged);
    delete patch[name];
  }
}

/** Returns the field of a directive, which follows the slash. Source: strategicpatch extractKey. */
function nameAfter(prefix: string, key: string): string {
  if (key.startsWith(`${prefix}/`)) return key.slice(prefix.length + 1);
  const what = prefix === orderPrefix ? 'setElementOrder' : 'primitive';
  throw new StrategicMergeError('badRequest', `invalid patch format of ${what} list`);
}

function listOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  throw badArgument([], value);
}

interface Member {
  readonly name: string;
  readonly value: unknown;
  /** Schema of the map. */
  readonly node: SchemaNode;
}

function* mergeMember(original: Fields, { name: key, value, node }: Member, merging: Merging): SlicedWork<void> {
  const isDeletion = key.startsWith(deletionPrefix);
  const name = isDeletion ? nameAfter(deletionPrefix, key) : key;
  if (value === null) {
    delete original[name];
    return;
  }
  const present = getOwn(original, name);
  if (kindOf(present) !== kindOf(value)) {
    if (isDeletion) return;
    if (hasDirective(value)) delete original[name];
    else setOwn(original, name, yield* withoutDirectives(value, merging.pace));
    return;
  }
  if (typeof value !== 'object') setOwn(original, name, value);
  else setOwn(original, name, yield* mergedValue({ present, change: value, isDeletion, node, name }, merging));
}

interface ValueChange {
  readonly present: unknown;
  readonly change: unknown;
  readonly isDeletion: boolean;
  /** Schema of the map; `name` is the member's. */
  readonly node: SchemaNode;
  readonly name: string;
}

function* mergedValue({ present, change, isDeletion, ...place }: ValueChange, merging: Merging): SlicedWork<unknown> {
  if (isJsonObject(present) && isJsonObject(change)) {
    const node = memberSchema(place.node, place.name);
    return patchStrategyOf(node) === 'replace' ? change : yield* merging.mergeMaps(present, change, node);
  }
  if (Array.isArray(present) && Array.isArray(change)) {
    const node = memberSchema(place.node, place.name);
    if (!isDeletion && patchStrategyOf(node) !== 'merge') return change;
    return yield* mergeList({ present, change, isDeletion }, node, merging);
  }
  return change;
}

/** "retainKeys" only allows that directive; the other strategy decides how the value merges. */
function patchStrategyOf(node: SchemaNode): string | undefined {
  return node.patchStrategy?.find((word) => word !== 'retainKeys');
}

function memberSchema(node: SchemaNode, name: string): SchemaNode {
  const property = node.properties?.get(name);
  if (property !== undefined) return property;
  const values = node.additionalProperties;
  if (values !== undefined) return values === true ? {} : values;
  const struct = goTypeName(node).replace(/^.*\./, '');
  const quoted = JSON.stringify(name);
  throw new StrategicMergeError(
    'internal',
    `unable to find api field in struct ${struct} for the json field ${quoted}`,
  );
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'list';
  return isJsonObject(value) ? 'object' : value === undefined || value === null ? 'absent' : 'scalar';
}

// The costs of calls during evaluation. As in cel-go, functions on lists and sets are looked up by overload, then
// Kubernetes' libraries by function name, then the language by overload; everything else costs 1.
import { isList, listAt, listItems, listSize } from '../values/cel-list.ts';
import { type AnyMap, isMap, mapFind, mapKeys } from '../values/cel-map.ts';
import { CelObject } from '../values/cel-object.ts';
import { EvaluationStop, isFailure } from '../values/failure.ts';
import { goTypeName } from '../values/go-type-name.ts';
import type { Int } from '../values/integers.ts';
import { costSize, utf8Length } from '../values/sizes.ts';
import { kindOf } from '../values/value.ts';
import { listCost, patternFactor, stringFactor } from './cost-node.ts';

/** Returns the cost of one call from its operands (the target first) and its result. Each may be an error. */
export type CallCost = (args: readonly unknown[], result: unknown) => number;

/** Returns the cost of calls of a function: a number if it is fixed. `overload` is empty when several are possible. */
export function runtimeCost(name: string, overload: string): CallCost | number {
  if (name === 'containsIP') return containsIp(overload);
  if (name === 'containsCIDR') return containsCidr(overload);
  if (name === 'ip') return overload === 'cidr_ip' ? 1 : traverseFirst(1);
  return listCosts(overload) ?? costsByName.get(name) ?? costsByOverload.get(overload) ?? 1;
}

function traverse(value: unknown, factor = 1): number {
  return Math.ceil(costSize(value) * factor * stringFactor);
}

function traverseFirst(factor: number): CallCost {
  return ([first]) => traverse(first, factor);
}

const matching: CallCost = ([text, pattern]) => {
  const textCost = Math.ceil((1 + costSize(text)) * stringFactor);
  return textCost * Math.ceil(costSize(pattern) * patternFactor);
};

/** Returns the cost of walking through a value and everything in it. */
function walk(value: unknown): number {
  if (typeof value === 'string') return Math.floor(utf8Length(value) * stringFactor);
  if (value instanceof Uint8Array) return Math.floor(value.length * stringFactor);
  if (isList(value)) return listItems(value).reduce<number>((sum, item) => sum + walk(item), 0);
  if (!isMap(value)) return 1;
  return mapKeys(value).reduce<number>((sum, key) => sum + walk(key) + walk(mapFind(value as AnyMap, key)), 0);
}

/** Counts parsing a list of requirements, each of which needs at least two characters. */
const selector: CallCost = (args) => {
  const length = costSize(args[1]);
  return listCost + Math.ceil(length * stringFactor) + Math.ceil(Math.ceil(length * 0.5) * 50);
};

const containsIp =
  (overload: string): CallCost =>
  ([cidr, other]) =>
    Math.ceil(2 * costSize(cidr) * stringFactor) + (overload.endsWith('_string') ? traverse(other) : 0);

const containsCidr =
  (overload: string): CallCost =>
  (args) =>
    containsIp(overload)(args, undefined) + traverse(args[0]) + 1;

/** Formats know the length of their longest pattern. */
interface SizedPattern {
  readonly maxPatternSize: number;
}

const validate: CallCost = ([format, text]) => {
  const { maxPatternSize } = format as SizedPattern;
  if (maxPatternSize === undefined) return 1;
  return Math.ceil((1 + costSize(text)) * stringFactor) * Math.ceil(maxPatternSize * patternFactor);
};

const equality: CallCost = ([left, right]) => {
  if (left instanceof CelObject && !left.hasFields) return 1;
  return Math.ceil(Math.min(costSize(left), costSize(right)) * stringFactor);
};

type NamedCost = CallCost | number;

function named(names: string, cost: NamedCost): [string, NamedCost][] {
  return names.split(' ').map((name) => [name, cost]);
}

const costsByName: ReadonlyMap<string, NamedCost> = new Map<string, NamedCost>([
  ['check', 350_000],
  ...named('serviceAccount path group resource subresource namespace name allowed reason error errored', 1),
  ...named('fieldSelector labelSelector', selector),
  ...named('isSorted sum max min indexOf lastIndexOf', ([first]) => walk(first)),
  ...named('url lowerAscii upperAscii substring trim jsonpatch.escapeKey', traverseFirst(1)),
  ...named('replace split', traverseFirst(2)),
  ['join', (_, result) => traverse(result, 2)],
  ...named('find findAll', matching),
  ...named('cidr isIP isCIDR quantity isQuantity semver isSemver', traverseFirst(1)),
  ['ip.isCanonical', traverseFirst(2)],
  ...named(
    'masked prefixLength family isUnspecified isLoopback isLinkLocalMulticast isLinkLocalUnicast isGlobalUnicast',
    1,
  ),
  ['validate', validate],
  ['format.named', 1],
  ...named(
    'sign asInteger isInteger asApproximateFloat isGreaterThan isLessThan compareTo add sub major minor patch',
    1,
  ),
  ...named('getScheme getHostname getHost getPort getEscapedPath getQuery', 1),
  ['_==_', equality],
]);

const smaller: CallCost = ([left, right]) => Math.ceil(Math.min(costSize(left), costSize(right)) * stringFactor);
const joined: CallCost = ([left, right]) => Math.ceil((costSize(left) + costSize(right)) * stringFactor);

const costsByOverload: ReadonlyMap<string, NamedCost> = new Map<string, NamedCost>([
  ...named(
    'starts_with_string ends_with_string string_to_bytes bytes_to_string strings_quote string_format',
    traverseFirst(1),
  ),
  ['in_list', ([, list]) => costSize(list)],
  ...named('less_string greater_string less_equals_string greater_equals_string', smaller),
  ...named('less_bytes greater_bytes less_equals_bytes greater_equals_bytes not_equals', smaller),
  ...named('add_string add_bytes', joined),
  ['matches_string', matching],
  ['contains_string', ([text, part]) => traverse(text) * traverse(part)],
]);

/** Counts making a list of some size. */
function allocating(factor: number, size: number): number {
  return Math.trunc(size * factor) + 1 + listCost;
}

const output: CallCost = (_, result) => allocating(1, costSize(result));

function listCosts(overload: string): CallCost | undefined {
  if (/^list_.+_sort$/.test(overload)) return ([list]) => selfCompare(list);
  if (/^list_.+_sortByAssociatedKeys$/.test(overload)) return ([, keys]) => selfCompare(keys);
  return listCostsByOverload.get(overload);
}

const listCostsByOverload: ReadonlyMap<string, CallCost> = new Map<string, CallCost>([
  ['list_slice', output],
  ['lists_range', output],
  ['list_reverse', output],
  ['list_flatten', ([list]) => allocating(1, costSize(list))],
  ['list_flatten_int', flattenCost],
  ['list_distinct', ([list]) => selfCompare(list)],
  ['list_sets_contains_list', setCost(1)],
  ['list_sets_intersects_list', setCost(1)],
  ['list_sets_equivalent_list', setCost(2)],
]);

/** Compares every element with every other. Go's counter ends the evaluation when an argument is not a list. */
function selfCompare(list: unknown): number {
  if (!isList(list)) {
    const lacks = `is not traits.Lister: missing method ${missingMethod(list)}`;
    throw new EvaluationStop(`${conversionPanic} ${goTypeName(list)} ${lacks}`);
  }
  const size = listSize(list);
  if (size === 0) return allocating(2, 0);
  const first = listAt(list, 0);
  const isText = typeof first === 'string' || first instanceof Uint8Array;
  return allocating(isText ? 2.1 : 2, size ** 2);
}

function setCost(factor: number): CallCost {
  return ([left, right]) => 1 + costSize(left) * costSize(right) * factor;
}

function flattenCost([list, depth]: readonly unknown[]): number {
  if (isFailure(depth)) throw new EvaluationStop(`${conversionPanic} ref.Val is *types.Err, not types.Int`);
  return allocating(Number(depth as Int), costSize(list));
}

/** Returns the first method of lists that the value's Go type lacks. */
function missingMethod(value: unknown): string {
  const hasAdd = ['bytes', 'double', 'duration', 'int', 'string', 'timestamp', 'uint'].includes(kindOf(value));
  return hasAdd ? 'Contains' : 'Add';
}

const conversionPanic = 'internal error: interface conversion:';

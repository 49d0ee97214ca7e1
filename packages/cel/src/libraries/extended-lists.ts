// The third version of the language's own library of lists: slices, ranges, sorting, distinct elements.
import type { Library } from '../environment/library.ts';
import { sortByMacro } from '../syntax/optional-macros.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { missingOperator } from '../values/arithmetic.ts';
import { type AnyList, isList, listItems, listSize } from '../values/cel-list.ts';
import { compareValues, isComparable } from '../values/comparison.ts';
import { equalValues } from '../values/equality.ts';
import { CelFailure } from '../values/failure.ts';
import type { Int } from '../values/integers.ts';
import { kindOf, typeOfValue } from '../values/value.ts';

const comparable = [
  ['int', 'int'],
  ['uint', 'uint'],
  ['double', 'double'],
  ['bool', 'bool'],
  ['google.protobuf.Duration', 'duration'],
  ['google.protobuf.Timestamp', 'timestamp'],
  ['string', 'string'],
  ['bytes', 'bytes'],
] as const;

function slice(list: AnyList, start: Int, end: Int): unknown {
  const call = `cannot slice(${start}, ${end})`;
  if (start < 0 || end < 0) return new CelFailure(`${call}, negative indexes not supported`);
  if (start > end) return new CelFailure(`${call}, start index must be less than or equal to end index`);
  const size = listSize(list);
  if (size < end) return new CelFailure(`${call}, list is length ${size}`);
  return listItems(list).slice(Number(start), Number(end));
}

function flatten(list: AnyList, depth: Int = 1): unknown {
  if (depth < 0) return new CelFailure('level must be non-negative');
  const items: unknown[] = [];
  const append = (part: AnyList, left: number): void => {
    for (const item of listItems(part)) {
      if (isList(item) && left > 0) append(item, left - 1);
      else items.push(item);
    }
  };
  append(list, Number(depth));
  return items;
}

/**
 * Maximum length of a range. Each element costs one unit, so a longer range exceeds every budget; Go would fill the
 * memory first.
 */
const maxRange = 20_000_000;

function range(count: Int): unknown {
  if (count > maxRange) return new CelFailure(`lists longer than ${maxRange} are not supported`);
  return Array.from({ length: Math.max(0, Number(count)) }, (_, i) => i);
}

function sort(list: unknown): unknown {
  return isList(list) ? sortByKeys(list, list) : missingOperator(kindOf(list), 'sort');
}

function sortByKeys(list: AnyList, keys: AnyList): unknown {
  const items = listItems(list);
  const keyItems = listItems(keys);
  if (items.length !== keyItems.length) {
    const counts = `${items.length} and ${keyItems.length} elements respectively`;
    const expected = 'expected a list of the same size as the associated keys list, but got';
    return new CelFailure(`@sortByAssociatedKeys() ${expected} ${counts}`);
  }
  if (items.length === 0) return list;
  const kind = kindOf(keyItems[0]);
  if (!isComparable(keyItems[0])) return new CelFailure('list elements must be comparable');
  if (keyItems.length > 1 && keyItems.some((key) => kindOf(key) !== kind)) {
    return new CelFailure('list elements must have the same type');
  }
  const order = Array.from(items.keys()).sort((a, b) => {
    const compared = compareValues(keyItems[a], keyItems[b]);
    return compared instanceof CelFailure ? 0 : compared;
  });
  return order.map((index) => items[index]);
}

function distinct(list: AnyList): unknown {
  const items = listItems(list);
  const seen = new Set<unknown>();
  const unique: unknown[] = [];
  for (const item of items) {
    if (typeof item === 'string') {
      if (!seen.has(item)) unique.push(item);
      seen.add(item);
    } else if (!unique.some((other) => equalValues(item, other) === true)) unique.push(item);
  }
  return unique;
}

/** These two overloads check their arguments themselves. */
function notFlat(list: unknown, argument: unknown): CelFailure {
  return new CelFailure(`no such overload: ${typeOfValue(list)}.flatten(${argument})`);
}

const functions: readonly FunctionDeclaration[] = [
  oneOverload('slice', memberOverload('list_slice', 'list(T), int, int -> list(T)', slice)),
  {
    name: 'flatten',
    overloads: [
      memberOverload('list_flatten', 'list(list(T)) -> list(T)', (list: unknown) =>
        isList(list) ? flatten(list) : notFlat(list, ''),
      ),
      memberOverload('list_flatten_int', 'list(dyn), int -> list(dyn)', (list: unknown, depth: unknown) =>
        isList(list) && kindOf(depth) === 'int' ? flatten(list, depth as Int) : notFlat(list, typeOfValue(depth)),
      ),
    ],
    skipsTypeGuards: true,
  },
  {
    name: 'sort',
    overloads: comparable.map(([name, type]) => memberOverload(`list_${name}_sort`, `list(${type}) -> list(${type})`)),
    singleton: sort,
  },
  {
    name: '@sortByAssociatedKeys',
    overloads: comparable.map(([name, type]) =>
      memberOverload(`list_${name}_sortByAssociatedKeys`, `list(T), list(${type}) -> list(T)`),
    ),
    singleton: (list: unknown, keys: unknown) =>
      isList(list) && isList(keys) ? sortByKeys(list, keys) : missingOperator(kindOf(list), '@sortByAssociatedKeys'),
  },
  oneOverload('lists.range', globalOverload('lists_range', 'int -> list(int)', range)),
  oneOverload(
    'reverse',
    memberOverload('list_reverse', 'list(T) -> list(T)', (list: AnyList) => listItems(list).toReversed()),
  ),
  oneOverload('distinct', memberOverload('list_distinct', 'list(T) -> list(T)', distinct)),
];

export const extendedListsLibrary: Library = { name: 'lists', functions, macros: [sortByMacro] };

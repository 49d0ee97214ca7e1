// Kubernetes' own functions on lists: order, sums, minimum and maximum, positions.
import type { Library } from '../environment/library.ts';
import { type FunctionDeclaration, memberOverload, type Overload, oneOverload } from '../types/function-declaration.ts';
import { calculate } from '../values/arithmetic.ts';
import { type AnyList, listItems } from '../values/cel-list.ts';
import { compareValues, isComparable } from '../values/comparison.ts';
import { CelDuration } from '../values/duration.ts';
import { equalValues } from '../values/equality.ts';
import { CelFailure, isFailure, overloadFailure } from '../values/failure.ts';
import { CelDouble, CelUint } from '../values/numbers.ts';

const comparable = ['int', 'uint', 'double', 'bool', 'duration', 'timestamp', 'string', 'bytes'];

function isSorted(list: AnyList): unknown {
  let previous: unknown;
  for (const item of listItems(list)) {
    if (!isComparable(item)) return overloadFailure(item);
    if (previous !== undefined && compareValues(previous, item) === 1) return false;
    previous = item;
  }
  return true;
}

/** Returns the smallest or largest element; `beatenAt` is the comparison that replaces the current one. */
function extreme(name: string, beatenAt: number): (list: AnyList) => unknown {
  return (list) => {
    let best: unknown;
    for (const item of listItems(list)) {
      if (!isComparable(item)) return overloadFailure(item);
      if (best === undefined || compareValues(best, item) === beatenAt) best = item;
    }
    return best ?? new CelFailure(`${name} called on empty list`);
  };
}

function sum(zero: unknown): (list: AnyList) => unknown {
  return (list) => {
    let total = zero;
    for (const item of listItems(list)) {
      total = calculate('+', total, item);
      if (isFailure(total)) return total;
    }
    return total;
  };
}

function indexOf(list: AnyList, value: unknown): number {
  return listItems(list).findIndex((item) => equalValues(item, value) === true);
}

function lastIndexOf(list: AnyList, value: unknown): number {
  return listItems(list).findLastIndex((item) => equalValues(item, value) === true);
}

const summable: readonly (readonly [type: string, zero: unknown])[] = [
  ['int', 0],
  ['uint', new CelUint(0n)],
  ['double', new CelDouble(0)],
  ['duration', new CelDuration(0n)],
];

function overType(types: readonly string[], overload: (type: string) => Overload): readonly Overload[] {
  return types.map(overload);
}

const functions: readonly FunctionDeclaration[] = [
  {
    name: 'isSorted',
    overloads: overType(comparable, (type) =>
      memberOverload(`list_${type}_is_sorted_bool`, `list(${type}) -> bool`, isSorted),
    ),
  },
  {
    name: 'sum',
    overloads: summable.map(([type, zero]) =>
      memberOverload(`list_${type}_sum_${type}`, `list(${type}) -> ${type}`, sum(zero)),
    ),
  },
  {
    name: 'max',
    overloads: overType(comparable, (type) =>
      memberOverload(`list_${type}_max_${type}`, `list(${type}) -> ${type}`, extreme('max', -1)),
    ),
  },
  {
    name: 'min',
    overloads: overType(comparable, (type) =>
      memberOverload(`list_${type}_min_${type}`, `list(${type}) -> ${type}`, extreme('min', 1)),
    ),
  },
  oneOverload('indexOf', memberOverload('list_a_index_of_int', 'list(A), A -> int', indexOf)),
  oneOverload('lastIndexOf', memberOverload('list_a_last_index_of_int', 'list(A), A -> int', lastIndexOf)),
];

export const listsLibrary: Library = { name: 'kubernetes.lists', functions };

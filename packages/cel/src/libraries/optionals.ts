// Optionals: values that may be missing, and the syntax for them.
import type { Library } from '../environment/library.ts';
import { optionalMacros } from '../syntax/optional-macros.ts';
import { anyOptionalType } from '../types/cel-type.ts';
import {
  type FunctionDeclaration,
  globalOverload,
  memberOverload,
  oneOverload,
} from '../types/function-declaration.ts';
import { type AnyList, listAt, listItems, listSize } from '../values/cel-list.ts';
import type { CelDuration } from '../values/duration.ts';
import { CelFailure } from '../values/failure.ts';
import { formatValue } from '../values/format-value.ts';
import { type CelUint, numberOfDouble } from '../values/numbers.ts';
import { CelOptional } from '../values/optional.ts';
import { sizeOf } from '../values/sizes.ts';
import type { CelTimestamp } from '../values/timestamp.ts';
import { kindOf } from '../values/value.ts';

/** Seconds of Go's zero time, which is 1 January of the year 1. */
const zeroTime = -62_135_596_800;

function isZero(value: unknown): boolean {
  switch (kindOf(value)) {
    case 'bool':
      return value === false;
    case 'int':
      return value === 0;
    case 'uint':
      return (value as CelUint).value === 0n;
    case 'double':
      return numberOfDouble(value) === 0;
    case 'duration':
      return (value as CelDuration).nanos === 0n;
    case 'null':
      return true;
    case 'timestamp':
      return (value as CelTimestamp).seconds === zeroTime && (value as CelTimestamp).nanos === 0;
    default:
      return sizeOf(value) === 0;
  }
}

function unwrap(list: AnyList): unknown {
  const values: unknown[] = [];
  for (const item of listItems(list)) {
    if (!(item instanceof CelOptional)) return new CelFailure(`value ${formatValue(item)} is not optional`);
    if (item.hasValue) values.push(item.value);
  }
  return values;
}

function elementAt(list: AnyList, index: number): CelOptional {
  return listSize(list) === 0 ? CelOptional.none : CelOptional.of(listAt(list, index));
}

/** The planner evaluates these functions itself; only their types matter here. */
function typed(name: string, ...overloads: FunctionDeclaration['overloads']): FunctionDeclaration {
  return { name, overloads };
}

const functions: readonly FunctionDeclaration[] = [
  oneOverload(
    'optional.of',
    globalOverload('optional_of', 'V -> optional(V)', (value: unknown) => CelOptional.of(value)),
  ),
  oneOverload(
    'optional.ofNonZeroValue',
    globalOverload('optional_ofNonZeroValue', 'V -> optional(V)', (value: unknown) =>
      isZero(value) ? CelOptional.none : CelOptional.of(value),
    ),
  ),
  oneOverload(
    'optional.none',
    globalOverload('optional_none', '-> optional(V)', () => CelOptional.none),
  ),
  oneOverload(
    'value',
    memberOverload('optional_value', 'optional(V) -> V', (value: CelOptional) => value.get()),
  ),
  oneOverload(
    'hasValue',
    memberOverload('optional_hasValue', 'optional(V) -> bool', (value: CelOptional) => value.hasValue),
  ),
  typed('or', memberOverload('optional_or_optional', 'optional(V), optional(V) -> optional(V)')),
  typed('orValue', memberOverload('optional_orValue_value', 'optional(V), V -> V')),
  typed('_?._', globalOverload('select_optional_field', 'dyn, string -> optional(V)')),
  typed(
    '_[?_]',
    globalOverload('list_optindex_optional_int', 'list(V), int -> optional(V)'),
    globalOverload('optional_list_optindex_optional_int', 'optional(list(V)), int -> optional(V)'),
    globalOverload('map_optindex_optional_value', 'map(K, V), K -> optional(V)'),
    globalOverload('optional_map_optindex_optional_value', 'optional(map(K, V)), K -> optional(V)'),
  ),
  typed(
    '_[_]',
    globalOverload('optional_list_index_int', 'optional(list(V)), int -> optional(V)'),
    globalOverload('optional_map_index_value', 'optional(map(K, V)), K -> optional(V)'),
  ),
  oneOverload(
    'last',
    memberOverload('list_last', 'list(V) -> optional(V)', (list: AnyList) => elementAt(list, listSize(list) - 1)),
  ),
  oneOverload(
    'first',
    memberOverload('list_first', 'list(V) -> optional(V)', (list: AnyList) => elementAt(list, 0)),
  ),
  oneOverload('optional.unwrap', globalOverload('optional_unwrap', 'list(optional(V)) -> list(V)', unwrap)),
  oneOverload('unwrapOpt', memberOverload('optional_unwrapOpt', 'list(optional(V)) -> list(V)', unwrap)),
];

export const optionalsLibrary: Library = {
  name: 'optional',
  functions,
  macros: optionalMacros,
  types: [anyOptionalType],
  hasOptionalSyntax: true,
};

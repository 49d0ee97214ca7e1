// The standard library: operators, conversions, sizes, texts. Times are in standard-times.ts.

import type { Library } from '../environment/library.ts';
import { compilePattern, matchesPattern } from '../patterns/pattern.ts';
import { standardMacros } from '../syntax/macros.ts';
import {
  anyListType,
  anyMapType,
  boolType,
  bytesType,
  type CelType,
  doubleType,
  durationType,
  intType,
  nullType,
  stringType,
  timestampType,
  typeType,
  uintType,
} from '../types/cel-type.ts';
import { type FunctionDeclaration, globalOverload, memberOverload } from '../types/function-declaration.ts';
import { calculate, missingOperator, negate } from '../values/arithmetic.ts';
import { compareValues, isComparable } from '../values/comparison.ts';
import { convertValue } from '../values/conversion.ts';
import { contains } from '../values/equality.ts';
import { isFailure, overloadFailure } from '../values/failure.ts';
import { sizeOf } from '../values/sizes.ts';
import { kindOf, typeOfValue } from '../values/value.ts';
import { timeFunctions } from './standard-times.ts';

type Operator = '+' | '-' | '*' | '/' | '%';

function operator(
  mark: Operator,
  overloads: readonly (readonly [id: string, signature: string])[],
): FunctionDeclaration {
  return {
    name: `_${mark}_`,
    overloads: overloads.map(([id, signature]) => globalOverload(id, signature)),
    singleton: (left: unknown, right: unknown) => calculate(mark, left, right),
  };
}

const orderedTypes = [
  ['bool', 'bool', 'bool'],
  ['int64', 'int', 'int'],
  ['int64_double', 'int', 'double'],
  ['int64_uint64', 'int', 'uint'],
  ['uint64', 'uint', 'uint'],
  ['uint64_double', 'uint', 'double'],
  ['uint64_int64', 'uint', 'int'],
  ['double', 'double', 'double'],
  ['double_int64', 'double', 'int'],
  ['double_uint64', 'double', 'uint'],
  ['string', 'string', 'string'],
  ['bytes', 'bytes', 'bytes'],
  ['timestamp', 'timestamp', 'timestamp'],
  ['duration', 'duration', 'duration'],
] as const;

function comparison(mark: string, prefix: string, accepts: (order: number) => boolean): FunctionDeclaration {
  const name = `_${mark}_`;
  return {
    name,
    overloads: orderedTypes.map(([suffix, left, right]) =>
      globalOverload(`${prefix}_${suffix}`, `${left}, ${right} -> bool`),
    ),
    singleton: (left: unknown, right: unknown) => {
      if (!isComparable(left)) return missingOperator(kindOf(left), name);
      const order = compareValues(left, right);
      return isFailure(order) ? order : accepts(order);
    },
  };
}

/** The planner evaluates these functions itself; only their types matter here. */
function planned(name: string, id: string, signature: string): FunctionDeclaration {
  return { name, overloads: [globalOverload(id, signature)], singleton: (value: unknown) => overloadFailure(value) };
}

const operators: readonly FunctionDeclaration[] = [
  planned('_?_:_', 'conditional', 'bool, A, A -> A'),
  planned('_&&_', 'logical_and', 'bool, bool -> bool'),
  planned('_||_', 'logical_or', 'bool, bool -> bool'),
  planned('_==_', 'equals', 'A, A -> bool'),
  planned('_!=_', 'not_equals', 'A, A -> bool'),
  {
    name: '!_',
    overloads: [globalOverload('logical_not', 'bool -> bool')],
    singleton: (value: unknown) => (typeof value === 'boolean' ? !value : overloadFailure(value)),
  },
  {
    name: '@not_strictly_false',
    overloads: [globalOverload('not_strictly_false', 'bool -> bool')],
    singleton: (value: unknown) => (typeof value === 'boolean' ? value : true),
  },
  operator('+', [
    ['add_bytes', 'bytes, bytes -> bytes'],
    ['add_double', 'double, double -> double'],
    ['add_duration_duration', 'duration, duration -> duration'],
    ['add_duration_timestamp', 'duration, timestamp -> timestamp'],
    ['add_timestamp_duration', 'timestamp, duration -> timestamp'],
    ['add_int64', 'int, int -> int'],
    ['add_list', 'list(A), list(A) -> list(A)'],
    ['add_string', 'string, string -> string'],
    ['add_uint64', 'uint, uint -> uint'],
  ]),
  operator('/', [
    ['divide_double', 'double, double -> double'],
    ['divide_int64', 'int, int -> int'],
    ['divide_uint64', 'uint, uint -> uint'],
  ]),
  operator('%', [
    ['modulo_int64', 'int, int -> int'],
    ['modulo_uint64', 'uint, uint -> uint'],
  ]),
  operator('*', [
    ['multiply_double', 'double, double -> double'],
    ['multiply_int64', 'int, int -> int'],
    ['multiply_uint64', 'uint, uint -> uint'],
  ]),
  operator('-', [
    ['subtract_double', 'double, double -> double'],
    ['subtract_duration_duration', 'duration, duration -> duration'],
    ['subtract_int64', 'int, int -> int'],
    ['subtract_timestamp_duration', 'timestamp, duration -> timestamp'],
    ['subtract_timestamp_timestamp', 'timestamp, timestamp -> duration'],
    ['subtract_uint64', 'uint, uint -> uint'],
  ]),
  {
    name: '-_',
    overloads: [globalOverload('negate_double', 'double -> double'), globalOverload('negate_int64', 'int -> int')],
    singleton: negate,
  },
  comparison('<', 'less', (order) => order < 0),
  comparison('<=', 'less_equals', (order) => order <= 0),
  comparison('>', 'greater', (order) => order > 0),
  comparison('>=', 'greater_equals', (order) => order >= 0),
  {
    name: '_[_]',
    overloads: [globalOverload('index_list', 'list(A), int -> A'), globalOverload('index_map', 'map(A, B), A -> B')],
    singleton: (value: unknown) => overloadFailure(value),
  },
  {
    name: '@in',
    overloads: [globalOverload('in_list', 'A, list(A) -> bool'), globalOverload('in_map', 'A, map(A, B) -> bool')],
    singleton: (value: unknown, container: unknown) => contains(container, value) ?? overloadFailure(container),
  },
];

const sizes: FunctionDeclaration = {
  name: 'size',
  overloads: ['bytes', 'list(A)', 'map(A, B)', 'string'].flatMap((type) => {
    const id = `size_${type.replace(/\(.*/, '')}`;
    const memberId = `${id.replace('size_', '')}_size`;
    return [globalOverload(id, `${type} -> int`), memberOverload(memberId, `${type} -> int`)];
  }),
  singleton: (value: unknown) => sizeOf(value) ?? missingOperator(kindOf(value), 'size'),
};

function conversion(
  name: string,
  to: CelType,
  from: readonly (readonly [id: string, type: string])[],
): FunctionDeclaration {
  return {
    name,
    overloads: from.map(([id, type]) =>
      globalOverload(id, `${type} -> ${name}`, (value: unknown) => convertValue(value, to)),
    ),
  };
}

const conversions: readonly FunctionDeclaration[] = [
  { name: 'type', overloads: [globalOverload('type', 'A -> type(A)')], singleton: typeOfValue },
  { name: 'dyn', overloads: [globalOverload('to_dyn', 'A -> dyn')], singleton: (value: unknown) => value },
  conversion('bool', boolType, [
    ['bool_to_bool', 'bool'],
    ['string_to_bool', 'string'],
  ]),
  conversion('bytes', bytesType, [
    ['bytes_to_bytes', 'bytes'],
    ['string_to_bytes', 'string'],
  ]),
  conversion('double', doubleType, [
    ['double_to_double', 'double'],
    ['int64_to_double', 'int'],
    ['string_to_double', 'string'],
    ['uint64_to_double', 'uint'],
  ]),
  conversion('duration', durationType, [
    ['duration_to_duration', 'duration'],
    ['int64_to_duration', 'int'],
    ['string_to_duration', 'string'],
  ]),
  conversion('int', intType, [
    ['int64_to_int64', 'int'],
    ['double_to_int64', 'double'],
    ['duration_to_int64', 'duration'],
    ['string_to_int64', 'string'],
    ['timestamp_to_int64', 'timestamp'],
    ['uint64_to_int64', 'uint'],
  ]),
  conversion('string', stringType, [
    ['string_to_string', 'string'],
    ['bool_to_string', 'bool'],
    ['bytes_to_string', 'bytes'],
    ['double_to_string', 'double'],
    ['duration_to_string', 'duration'],
    ['int64_to_string', 'int'],
    ['timestamp_to_string', 'timestamp'],
    ['uint64_to_string', 'uint'],
  ]),
  conversion('timestamp', timestampType, [
    ['timestamp_to_timestamp', 'timestamp'],
    ['int64_to_timestamp', 'int'],
    ['string_to_timestamp', 'string'],
  ]),
  conversion('uint', uintType, [
    ['uint64_to_uint64', 'uint'],
    ['double_to_uint64', 'double'],
    ['int64_to_uint64', 'int'],
    ['string_to_uint64', 'string'],
  ]),
];

function textTest(name: string, id: string, test: (text: string, part: string) => boolean): FunctionDeclaration {
  const run = (text: unknown, part: unknown): unknown => {
    if (typeof text !== 'string') return overloadFailure(text);
    return typeof part === 'string' ? test(text, part) : overloadFailure(part);
  };
  return { name, overloads: [memberOverload(id, 'string, string -> bool', run)], skipsTypeGuards: true };
}

const texts: readonly FunctionDeclaration[] = [
  textTest('contains', 'contains_string', (text, part) => text.includes(part)),
  textTest('endsWith', 'ends_with_string', (text, part) => text.endsWith(part)),
  textTest('startsWith', 'starts_with_string', (text, part) => text.startsWith(part)),
  {
    name: 'matches',
    overloads: [
      globalOverload('matches', 'string, string -> bool'),
      memberOverload('matches_string', 'string, string -> bool'),
    ],
    singleton: (text: unknown, pattern: unknown) => {
      if (typeof text !== 'string') return missingOperator(kindOf(text), 'matches');
      if (typeof pattern !== 'string') return overloadFailure(pattern);
      const compiled = compilePattern(pattern);
      return isFailure(compiled) ? compiled : matchesPattern(compiled, text);
    },
  },
];

export const standardLibrary: Library = {
  name: 'standard',
  functions: [...operators, sizes, ...conversions, ...texts, ...timeFunctions],
  macros: standardMacros,
  types: [
    boolType,
    bytesType,
    doubleType,
    durationType,
    intType,
    anyListType,
    anyMapType,
    nullType,
    stringType,
    timestampType,
    typeType,
    uintType,
  ],
};

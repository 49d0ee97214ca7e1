// Conformance runs the tests of the CEL project (npm: @bufbuild/cel-spec) on this package. Used by conformance.test.ts.
import type { Type } from '@bufbuild/cel-spec/cel/expr/checked_pb.js';
import type { SimpleTest } from '@bufbuild/cel-spec/cel/expr/conformance/test/simple_pb.js';
import type { Value } from '@bufbuild/cel-spec/cel/expr/value_pb.js';
import { getConformanceSuite } from '@bufbuild/cel-spec/testdata/tests.js';
import { createRegistry, type DescMessage, type Message, toJson } from '@bufbuild/protobuf';
import {
  type Any,
  anyUnpack,
  file_google_protobuf_duration,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
} from '@bufbuild/protobuf/wkt';
import {
  CelCompileError,
  CelDuration,
  CelMap,
  CelProgramError,
  CelTimestamp,
  CelType,
  CelUint,
  type CompiledExpression,
  compile,
  doubleValue,
  type Environment,
  type FunctionDeclaration,
  intValue,
  storedExpressions,
  typeOf,
} from '../index.ts';
import { listType, mapType, nullableType, opaqueType, typeOfType } from '../types/cel-type.ts';
import { shownValue } from './recorded-case.ts';

interface WellKnownMessage extends Message {
  readonly seconds: bigint;
  readonly nanos: number;
  readonly value: never;
}

const wellKnownMessages = createRegistry(
  file_google_protobuf_duration,
  file_google_protobuf_struct,
  file_google_protobuf_timestamp,
  file_google_protobuf_wrappers,
);

export interface ConformanceTest {
  /** file/section/name */
  readonly path: string;
  readonly test: SimpleTest;
  /** The type that the checker must deduce, if the test names one. */
  readonly type: string | undefined;
}

type Suite = ReturnType<typeof getConformanceSuite>;

/** Returns every test with its path: `file/section/name`. */
export function conformanceTests(): ConformanceTest[] {
  const found: ConformanceTest[] = [];
  const walk = (suite: Suite, path: string): void => {
    for (const test of suite.tests) found.push({ path: `${path}/${test.name}`, test: test.original, type: test.type });
    for (const inner of suite.suites) walk(inner, path === '' ? inner.name : `${path}/${inner.name}`);
  };
  walk(getConformanceSuite(), '');
  return found;
}

const primitives = ['', 'bool', 'int', 'uint', 'double', 'string', 'bytes'];
const wellKnown = ['', 'any', 'google.protobuf.Timestamp', 'google.protobuf.Duration'];

/** Converts a type of the tests' protocol. */
function typeOfProto(type: Type | undefined): CelType {
  const typeKind = type?.typeKind;
  switch (typeKind?.case) {
    case 'primitive':
      return typeOf(primitives[typeKind.value] ?? '');
    case 'wellKnown':
      return typeOf(wellKnown[typeKind.value] ?? '');
    case 'listType':
      return listType(typeOfProto(typeKind.value.elemType));
    case 'mapType':
      return mapType(typeOfProto(typeKind.value.keyType), typeOfProto(typeKind.value.valueType));
    case 'null':
      return typeOf('null');
    case 'typeParam':
      return new CelType('typeParam', typeKind.value);
    case 'dyn':
      return typeOf('dyn');
    case 'messageType':
      return storedExpressions().provider.structType?.(typeKind.value) ?? typeOf(typeKind.value);
    case 'abstractType':
      return opaqueType(typeKind.value.name, typeKind.value.parameterTypes.map(typeOfProto));
    case 'wrapper':
      return nullableType(typeOf(primitives[typeKind.value] ?? ''));
    case 'type':
      return typeKind.value?.typeKind.case === undefined ? typeOf('type') : typeOfType(typeOfProto(typeKind.value));
    default:
      throw new Error(`no type: ${typeKind?.case}`);
  }
}

/** Converts a value of the tests' protocol. */
function valueOfProto(protoValue: Value | undefined): unknown {
  const kind = protoValue?.kind;
  switch (kind?.case) {
    case 'int64Value':
      return intValue(kind.value);
    case 'uint64Value':
      return new CelUint(kind.value);
    case 'doubleValue':
      return doubleValue(kind.value);
    case 'nullValue':
      return null;
    case 'listValue':
      return kind.value.values.map(valueOfProto);
    case 'mapValue': {
      const map = new CelMap();
      for (const entry of kind.value.entries) map.set(valueOfProto(entry.key), valueOfProto(entry.value));
      return map;
    }
    case 'typeValue':
      return typeOf(kind.value);
    case 'objectValue':
      return objectOfAny(kind.value);
    case 'stringValue':
    case 'boolValue':
    case 'bytesValue':
      return kind.value;
    default:
      throw new Error(`no value: ${kind?.case}`);
  }
}

/** Converts messages that are values of the language: durations, timestamps, wrappers, JSON. */
function objectOfAny(any: Any): unknown {
  const message = anyUnpack(any, wellKnownMessages) as WellKnownMessage | undefined;
  if (message === undefined) throw new Error(`no object: ${any.typeUrl}`);
  switch (message.$typeName.replace('google.protobuf.', '')) {
    case 'Duration':
      return new CelDuration(message.seconds * 1_000_000_000n + BigInt(message.nanos));
    case 'Timestamp':
      return new CelTimestamp(Number(message.seconds), message.nanos);
    case 'Int32Value':
    case 'Int64Value':
      return intValue(BigInt(message.value));
    case 'UInt32Value':
    case 'UInt64Value':
      return new CelUint(BigInt(message.value));
    case 'FloatValue':
    case 'DoubleValue':
      return doubleValue(message.value);
    case 'BoolValue':
    case 'StringValue':
    case 'BytesValue':
      return message.value;
    case 'Value':
    case 'Struct':
    case 'ListValue':
      return jsonValue(toJson(wellKnownMessages.getMessage(message.$typeName) as DescMessage, message));
    default:
      throw new Error(`no object: ${any.typeUrl}`);
  }
}

/** Numbers in protobuf's JSON are doubles. */
function jsonValue(value: unknown): unknown {
  if (typeof value === 'number') return doubleValue(value);
  if (Array.isArray(value)) return value.map(jsonValue);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, jsonValue(item)]));
}

/** Returns undefined when the test passes, otherwise its fault. */
export function runConformance({ test, type }: ConformanceTest): string | undefined {
  let compiled: CompiledExpression;
  try {
    compiled = compile(test.expr, { environment: environmentOf(test), checksTypes: !test.disableCheck });
  } catch (error) {
    if (!(error instanceof CelCompileError)) throw error;
    return test.resultMatcher.case === 'evalError' ? undefined : error.message;
  }
  if (type !== undefined && type.replaceAll(' ', '') !== typeText(compiled.type)) {
    if (test.resultMatcher.case === 'typedResult') return `type ${typeText(compiled.type)}, not ${type}`;
  }
  if (test.checkOnly) return undefined;
  return compareResult(test, evaluate(compiled, test));
}

function typeText(type: CelType): string {
  return String(type).replaceAll(' ', '').replaceAll('null_type', 'null');
}

function environmentOf(test: SimpleTest): Environment {
  const variables = new Map<string, CelType>();
  for (const { name, declKind } of test.typeEnv) {
    if (declKind.case === 'ident') variables.set(name, typeOfProto(declKind.value.type));
  }
  for (const name of Object.keys(test.bindings)) if (!variables.has(name)) variables.set(name, typeOf('dyn'));
  const environment = storedExpressions().extend({
    variables,
    libraries: [{ name: 'test', functions: declaredFunctions(test) }],
    container: test.container,
    validation: { requiresSameTypes: false, checksLiterals: false },
  });
  return test.disableMacros ? environment.withoutMacros() : environment;
}

/** Functions that a test declares have only a type. */
function declaredFunctions({ typeEnv }: SimpleTest): FunctionDeclaration[] {
  return typeEnv.flatMap(({ name, declKind }) => {
    if (declKind.case !== 'function') return [];
    const overloads = declKind.value.overloads.map((overload) => ({
      id: overload.overloadId,
      isMember: overload.isInstanceFunction,
      params: overload.params.map(typeOfProto),
      result: typeOfProto(overload.resultType),
      typeParams: overload.typeParams.map((param) => new CelType('typeParam', param)),
      run: () => null,
    }));
    return [{ name, overloads }];
  });
}

function evaluate(compiled: CompiledExpression, test: SimpleTest): { value?: unknown; error?: string | undefined } {
  const activation = Object.fromEntries(
    Object.entries(test.bindings).map(([name, { kind }]) => [
      name,
      valueOfProto(kind.case === 'value' ? kind.value : undefined),
    ]),
  );
  try {
    return compiled.evaluate(activation);
  } catch (error) {
    if (error instanceof CelProgramError) return { error: error.message };
    throw error;
  }
}

function compareResult({ resultMatcher }: SimpleTest, result: ReturnType<typeof evaluate>): string | undefined {
  if (resultMatcher.case === 'evalError') {
    return result.error === undefined ? `no error but ${JSON.stringify(shownValue(result.value))}` : undefined;
  }
  if (result.error !== undefined) return result.error;
  const want = wantedValue(resultMatcher);
  if (want === undefined) return result.value === true ? undefined : 'not true';
  const [wanted, got] = [valueOfProto(want), result.value].map((value) => JSON.stringify(shownValue(value)));
  return wanted === got ? undefined : `${got}, not ${wanted}`;
}

function wantedValue(matcher: SimpleTest['resultMatcher']): Value | undefined {
  if (matcher.case === 'typedResult') return matcher.value.result;
  return matcher.case === 'value' ? matcher.value : undefined;
}

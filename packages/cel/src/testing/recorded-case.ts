// RecordedCase: an expression with the results of the real libraries (fixtures/expressions), run by this package.
import { readFileSync } from 'node:fs';
import { runWhole } from '@kapstan/api/internal';
import {
  CelCidr,
  CelCompileError,
  CelFormat,
  CelIp,
  CelMap,
  CelOptional,
  CelProgramError,
  CelQuantity,
  CelSemver,
  CelTimestamp,
  CelUint,
  CelUrl,
  type CompiledExpression,
  compile,
  doubleValue,
  intValue,
  kindOf,
  parseGoDuration,
  parseTimestamp,
  type SizeEstimator,
} from '../index.ts';
import type { CelList } from '../values/cel-list.ts';
import { mapFind, mapKeys } from '../values/cel-map.ts';
import type { CelDuration } from '../values/duration.ts';

interface RecordedVariable {
  readonly type: string;
  readonly value?: unknown;
  readonly repeat?: readonly [text: string, count: number];
  readonly sizes?: Readonly<Record<string, number>>;
}

export interface RecordedQuestion {
  readonly id?: string;
  readonly topic?: string;
  readonly expr: string;
  readonly vars?: Readonly<Record<string, RecordedVariable>>;
}

export interface RecordedAnswer {
  readonly compileError?: string;
  readonly type?: string;
  readonly estimate?: { readonly min: string; readonly max: string };
  readonly programError?: string;
  readonly result?: unknown;
  readonly error?: string;
  readonly cost?: string;
}

/** Returns this package's answer to a question, in the form of the facts. */
export function answer(
  { id = '', expr, vars: given = {} }: RecordedQuestion,
  form: 'whole' | 'slices' = 'whole',
): RecordedAnswer {
  const vars = exactVariables(id, given);
  const variables = Object.fromEntries(Object.entries(vars).map(([name, { type }]) => [name, type]));
  try {
    return answerCompiled(compile(expr, { declarations: { variables }, sizes: sizesOf(vars) }), vars, form);
  } catch (error) {
    if (error instanceof CelCompileError) return { compileError: error.message };
    throw error;
  }
}

type Variables = Readonly<Record<string, RecordedVariable>>;

function answerCompiled(compiled: CompiledExpression, vars: Variables, form: 'whole' | 'slices'): RecordedAnswer {
  const { min, max } = compiled.cost;
  const known = { type: compiled.type.toString(), estimate: { min: String(min), max: String(max) } };
  const activation: Record<string, unknown> = {};
  for (const [name, variable] of Object.entries(vars)) {
    if (variable.value !== undefined || variable.repeat !== undefined) activation[name] = givenValue(variable);
  }
  try {
    const { value, error, cost } =
      form === 'whole'
        ? compiled.evaluate(activation)
        : runWhole(compiled.program.evaluateInSlices(activation, { firstTryCost: 0 }));
    const spent = { cost: String(BigInt(cost)) };
    return error === undefined ? { ...known, result: shownValue(value), ...spent } : { ...known, error, ...spent };
  } catch (error) {
    if (error instanceof CelProgramError) return { ...known, programError: error.message };
    throw error;
  }
}

/** Estimates sizes from the recorded limits of the variables. */
function sizesOf(vars: Variables): SizeEstimator {
  return ({ path }) => {
    const [name = '', ...rest] = path ?? [];
    const size = vars[name]?.sizes?.[rest.join('.')];
    return size === undefined ? undefined : { min: 0n, max: BigInt(size) };
  };
}

function givenValue({ type, value, repeat }: RecordedVariable): unknown {
  return repeat === undefined ? typedValue(type, value) : repeat[0].repeat(repeat[1]);
}

/** Converts a JSON value to a value of a type. */
function typedValue(type: string, value: unknown): unknown {
  const [, name = '', inner = ''] = /^(\w+)(?:\((.*)\))?$/.exec(type) ?? [];
  switch (name) {
    case 'int':
      return intValue(BigInt(value as string));
    case 'uint':
      return new CelUint(BigInt(value as string));
    case 'double':
      return doubleValue(Number(value));
    case 'bytes':
      return Uint8Array.from(atob(value as string), (char) => char.charCodeAt(0));
    case 'timestamp':
      return parseTimestamp(value as string);
    case 'duration':
      return parseGoDuration(value as string);
    case 'list':
      return (value as unknown[]).map((item) => typedValue(inner, item));
    case 'map':
      return typedMap(inner, value as Record<string, unknown>);
    case 'optional':
      return value === null ? CelOptional.none : CelOptional.of(typedValue(inner, value));
    case 'dyn':
      return dynamicValue(value);
    default:
      return value;
  }
}

function typedMap(inner: string, value: Readonly<Record<string, unknown>>): CelMap {
  const comma = inner.indexOf(',');
  const [keyType, valueType] = [inner.slice(0, comma).trim(), inner.slice(comma + 1).trim()];
  const map = new CelMap();
  for (const [key, item] of Object.entries(value)) {
    map.set(keyType === 'bool' ? key === 'true' : typedValue(keyType, key), typedValue(valueType, item));
  }
  return map;
}

/** Decodes JSON as an API server does. Numbers that JSON.parse would change are written as `{ $number: text }`. */
function dynamicValue(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(dynamicValue);
  if (typeof value !== 'object' || value === null) return value;
  const { $number: text } = value as { $number?: string };
  if (text !== undefined) return /^-?\d+$/.test(text) ? intValue(BigInt(text)) : doubleValue(Number(text));
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, dynamicValue(item)]));
}

/**
 * Returns the variables of a recorded case with all digits. Callers have parsed them with JSON.parse, for which 2.0 is
 * 2; the fixtures still have the text.
 */
function exactVariables(id: string, vars: Variables): Variables {
  const hasDynamic = Object.values(vars).some(({ type }) => type === 'dyn');
  const line = hasDynamic ? lineOf(id) : undefined;
  return line === undefined ? vars : (JSON.parse(markNumbers(line)) as { vars: Variables }).vars;
}

const folder = new URL('../../fixtures/expressions/', import.meta.url);
const files = new Map<string, string>();

function lineOf(id: string): string | undefined {
  const topic = id.split('/')[0] ?? '';
  const start = `{"id":${JSON.stringify(id)}`;
  return textOf(topic)
    .split('\n')
    .find((line) => line.startsWith(start))
    ?.replace(/,$/, '');
}

function textOf(topic: string): string {
  const known = files.get(topic);
  if (known !== undefined) return known;
  const text = /^[\w-]+$/.test(topic) ? readIfPresent(new URL(`${topic}.json`, folder)) : '';
  files.set(topic, text);
  return text;
}

function readIfPresent(file: URL): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return '';
    throw error;
  }
}

/** Marks the numbers that are not small integers. */
function markNumbers(text: string): string {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token.startsWith('"') || /^-?\d{1,15}$/.test(token) ? token : `{"$number":"${token}"}`,
  );
}

const objects = [
  [CelCidr, 'cidr'],
  [CelFormat, 'format'],
  [CelIp, 'ip'],
  [CelQuantity, 'quantity'],
  [CelSemver, 'semver'],
  [CelUrl, 'url'],
] as const;

/** Returns a value in the form of the facts: an object whose only member names its type. */
export function shownValue(value: unknown): Record<string, unknown> {
  const kind = kindOf(value);
  switch (kind) {
    case 'bool':
    case 'string':
      return { [kind]: value };
    case 'null':
      return { null: null };
    case 'int':
      return { int: String(value) };
    case 'uint':
      return { uint: String((value as CelUint).value) };
    case 'double':
      return { double: shownDouble(typeof value === 'number' ? value : (value as { value: number }).value) };
    case 'bytes':
      return { bytes: btoa(Array.from(value as Uint8Array, (byte) => String.fromCharCode(byte)).join('')) };
    case 'list':
      return { list: (Array.isArray(value) ? value : (value as CelList).toArray()).map(shownValue) };
    case 'map':
      return { map: shownEntries(value as CelMap) };
    case 'timestamp':
      return { timestamp: inUtc(value as CelTimestamp) };
    case 'duration':
      return { duration: String((value as CelDuration).nanos) };
    case 'type':
      return { type: (value as { name: string }).name };
    case 'optional':
      return { optional: (value as CelOptional).hasValue ? shownValue((value as CelOptional).value) : null };
    default:
      return { [objects.find(([type]) => value instanceof type)?.[1] ?? kind]: String(value) };
  }
}

function inUtc({ seconds, nanos }: CelTimestamp): string {
  return new CelTimestamp(seconds, nanos).toString();
}

function shownDouble(value: number): string {
  return Object.is(value, -0) ? '-0' : String(value);
}

function shownEntries(map: CelMap): unknown[] {
  const entries = mapKeys(map).map((key) => [shownValue(key), shownValue(mapFind(map, key))] as const);
  const text = ([key]: readonly [unknown, unknown]): string => JSON.stringify(key);
  return entries.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}

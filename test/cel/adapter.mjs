// The recorded facts asked of our implementation: `expression(case)` answers what test/cel/facts/expressions hold.
// Also used by hand: node /path/to/compare.mjs test/cel/adapter.mjs
import { existsSync, readFileSync } from 'node:fs';
import { register } from 'node:module';

// Outside of vitest the sources are loaded by hooks, which compile them.
if (process.env.VITEST === undefined) register('../source-hooks.mjs', import.meta.url);

const cel = await import('@kapstan/cel');
const {
  CelCidr,
  CelCompileError,
  CelFormat,
  CelIp,
  CelOptional,
  CelProgramError,
  CelQuantity,
  CelSemver,
  CelUint,
  CelUrl,
  compile,
  doubleValue,
  intValue,
  kindOf,
  parseGoDuration,
  parseTimestamp,
} = cel;

/** Rules of definitions need structural schemas, which this package does not have. */
export function rules() {
  return { crdErrors: [{ field: '', type: 'not yet', text: 'rules of definitions are not built yet' }] };
}

export function expression({ id, expr, vars: given = {} }) {
  const vars = exactVars(id, given);
  const declared = Object.fromEntries(Object.entries(vars).map(([name, { type }]) => [name, type]));
  let compiled;
  try {
    compiled = compile(expr, { declarations: { variables: declared }, sizes: sizesOf(vars) });
  } catch (error) {
    if (error instanceof CelCompileError) return { compileError: error.message };
    throw error;
  }
  const { min, max } = compiled.cost;
  const known = { type: compiled.type.toString(), estimate: { min: String(min), max: String(max) } };
  try {
    compiled.program;
  } catch (error) {
    if (error instanceof CelProgramError) return { ...known, programError: error.message };
    throw error;
  }
  const activation = Object.fromEntries(
    Object.entries(vars)
      .filter(([, { value, repeat }]) => value !== undefined || repeat !== undefined)
      .map(([name, variable]) => [name, valueOf(variable)]),
  );
  const { value, error, cost } = compiled.evaluate(activation);
  const spent = { cost: String(BigInt(cost)) };
  return error === undefined ? { ...known, result: shown(value), ...spent } : { ...known, error, ...spent };
}

function sizesOf(vars) {
  return ({ path }) => {
    const [name, ...rest] = path ?? [];
    const size = vars[name]?.sizes?.[rest.join('.')];
    // One number bounds a size from above.
    return size === undefined ? undefined : { min: 0n, max: BigInt(size) };
  };
}

function valueOf({ type, value, repeat }) {
  return repeat === undefined ? typed(type, value) : repeat[0].repeat(repeat[1]);
}

function typed(type, value) {
  const [, name, inner] = /^(\w+)(?:\((.*)\))?$/.exec(type);
  switch (name) {
    case 'int':
      return intValue(BigInt(value));
    case 'uint':
      return new CelUint(BigInt(value));
    case 'double':
      return doubleValue(Number(value));
    case 'bytes':
      return Uint8Array.from(Buffer.from(value, 'base64'));
    case 'timestamp':
      return parseTimestamp(value);
    case 'duration':
      return parseGoDuration(value);
    case 'list':
      return value.map((item) => typed(inner, item));
    case 'map':
      return typedMap(inner, value);
    case 'optional':
      return value === null ? CelOptional.none : CelOptional.of(typed(inner, value));
    case 'dyn':
      return dynamic(value);
    default:
      return value;
  }
}

/** JSON as an API server decodes it. Numbers that JSON.parse would change stand as `{ $number: text }`. */
function dynamic(value) {
  if (Array.isArray(value)) return value.map(dynamic);
  if (typeof value !== 'object' || value === null) return value;
  if (typeof value.$number === 'string') {
    const isWhole = /^-?\d+$/.test(value.$number);
    return isWhole ? intValue(BigInt(value.$number)) : doubleValue(Number(value.$number));
  }
  return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, dynamic(item)]));
}

/**
 * The variables of a case with all digits of their numbers. The comparer has parsed them by JSON.parse, for which 2.0 is 2; the
 * copy of the facts here still has the text.
 */
function exactVars(id, vars) {
  const hasDynamic = Object.values(vars).some(({ type }) => type === 'dyn');
  const line = hasDynamic ? lineOf(id) : undefined;
  return line === undefined ? vars : JSON.parse(markNumbers(line)).vars;
}

const factsDir = new URL('./facts/expressions/', import.meta.url);

function lineOf(id = '') {
  const file = new URL(`${id.split('/')[0]}.json`, factsDir);
  if (!existsSync(file)) return undefined;
  const line = readFileSync(file, 'utf8').split('\n').find((text) => text.startsWith(`{"id":${JSON.stringify(id)}`));
  return line?.replace(/,$/, '');
}

/** Marks the numbers that are no small integers. */
function markNumbers(text) {
  return text.replace(/"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g, (token) =>
    token.startsWith('"') || /^-?\d{1,15}$/.test(token) ? token : `{"$number":"${token}"}`,
  );
}

function typedMap(inner, value) {
  const comma = inner.indexOf(',');
  const [keyType, valueType] = [inner.slice(0, comma).trim(), inner.slice(comma + 1).trim()];
  const map = new cel.CelMap();
  for (const [key, item] of Object.entries(value)) {
    const typedKey = keyType === 'bool' ? key === 'true' : typed(keyType, key);
    map.set(typedKey, typed(valueType, item));
  }
  return map;
}

function shownDouble(value) {
  return Object.is(value, -0) ? '-0' : String(value);
}

const objects = [
  [CelCidr, 'cidr'],
  [CelFormat, 'format'],
  [CelIp, 'ip'],
  [CelQuantity, 'quantity'],
  [CelSemver, 'semver'],
  [CelUrl, 'url'],
];

/** A value as the facts write it: an object whose one member names its type. */
export function shown(value) {
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
      return { uint: String(value.value) };
    case 'double':
      return { double: shownDouble(typeof value === 'number' ? value : value.value) };
    case 'bytes':
      return { bytes: Buffer.from(value).toString('base64') };
    case 'list':
      return { list: (Array.isArray(value) ? value : value.toArray()).map(shown) };
    case 'map':
      return { map: entriesOf(value).map(([key, item]) => [shown(key), shown(item)]) };
    case 'timestamp':
      return { timestamp: new cel.CelTimestamp(value.seconds, value.nanos).toString() };
    case 'duration':
      return { duration: String(value.nanos) };
    case 'type':
      return { type: value.name };
    case 'optional':
      return { optional: value.hasValue ? shown(value.value) : null };
    default:
      return { [objects.find(([type]) => value instanceof type)?.[1] ?? kind]: String(value) };
  }
}

function entriesOf(map) {
  const entries =
    map instanceof cel.CelMap ? Array.from(map.entries(), ({ key, value }) => [key, value]) : Object.entries(map);
  const text = ([key]) => JSON.stringify(shown(key));
  return entries.sort((a, b) => (text(a) < text(b) ? -1 : 1));
}


// Reads the JSON of a continue token as Go's encoding/json fills a struct: names match without regard to case, the last
// of several members of one name wins, null changes nothing, and the error names the first wrong type. Used by
// continue-token.ts. Source: encoding/json of Go, continueToken of apiserver storage/continue.go.
import { ExactNumber } from '@kapstan/api';
import {
  isJsonObject,
  JsonLimitError,
  JsonSyntaxError,
  jsonSyntaxFault,
  parseInt64,
  readJsonInSlices,
  type readJsonSlowly,
  runWhole,
} from '@kapstan/api/internal';

/** Thrown for a value that the struct has no place for. The message is Go's. */
export class JsonFieldError extends Error {}

interface ContinueFields {
  v: string;
  /** An int64 in decimal digits. */
  rv: string;
  start: string;
}

/** Reads the fields of a token. Throws {@link JsonFieldError} and JsonSyntaxError. */
export function readContinueFields(bytes: Uint8Array): Readonly<ContinueFields> {
  const fields: ContinueFields = { v: '', rv: '0', start: '' };
  const faults: string[] = [];
  for (const [name, value] of membersOf(bytes)) {
    const field = fieldNames.find(({ pattern }) => pattern.test(name))?.field;
    if (field === undefined || value === null) continue;
    const text = field === 'rv' ? int64Of(value) : value;
    if (typeof text === 'string') fields[field] = text;
    else faults.push(`${typeOf(value, field)} into Go struct field continueToken.${field} of type ${goTypes[field]}`);
  }
  if (faults[0] !== undefined) throw new JsonFieldError(`json: cannot unmarshal ${faults[0]}`);
  return fields;
}

const goTypes = { v: 'string', rv: 'int64', start: 'string' } as const;
// The flag "u" folds letters as Go does: "\u017ftart" counts as "start".
const fieldNames = [
  { field: 'v', pattern: /^v$/iu },
  { field: 'rv', pattern: /^rv$/iu },
  { field: 'start', pattern: /^start$/iu },
] as const;

function membersOf(bytes: Uint8Array): Iterable<readonly [string, unknown]> {
  const { value, repeats } = read(bytes);
  if (value === null) return [];
  if (!isJsonObject(value)) {
    throw new JsonFieldError(`json: cannot unmarshal ${typeOf(value)} into Go value of type storage.continueToken`);
  }
  return repeats.get(value) ?? Object.entries(value);
}

/** A token has three members; a forged one with many more is not read to its end, because that would take long. */
const limits = { maxValues: 1_000, maxMembers: 1_000 };

function read(bytes: Uint8Array): ReturnType<typeof readJsonSlowly> {
  try {
    return runWhole(readJsonInSlices(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes), limits));
  } catch (error) {
    if (error instanceof JsonLimitError) throw new JsonFieldError('json: too many values', { cause: error });
    // Go's error names the first wrong byte, because Go reads byte by byte.
    throw error instanceof JsonSyntaxError ? new JsonSyntaxError(jsonSyntaxFault(bytes) ?? error.message) : error;
  }
}

/** Returns the digits of a whole number that fits 64 bits, or undefined for anything else. */
function int64Of(value: unknown): string | undefined {
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return undefined;
  const text = String(value);
  return parseInt64(text) === undefined ? undefined : text;
}

/** Returns the type as Go's errors name it: a number that does not fit a number field appears with its value. */
function typeOf(value: unknown, field?: keyof ContinueFields): string {
  if (typeof value === 'number' || value instanceof ExactNumber) return field === 'rv' ? `number ${value}` : 'number';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

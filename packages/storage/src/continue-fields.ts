// The JSON in a continue token as Go's encoding/json puts it into a struct: names match without regard to case, a member
// that comes again replaces what came before, null changes nothing, and the first wrong type is what is complained of.
// Used by continue-token.ts. Source: encoding/json of Go, continueToken of apiserver storage/continue.go.

import { ExactNumber } from '@kapstan/api';
import { isJsonObject, JsonSyntaxError, jsonSyntaxFault, readJsonSlowly } from '@kapstan/api/internal';

/** A value that the struct has no place for. The message is Go's. */
export class JsonFieldError extends Error {}

interface ContinueFields {
  v: string;
  /** An int64 in decimal digits. */
  rv: string;
  start: string;
}

/** Throws {@link JsonFieldError} and JsonSyntaxError. */
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
// With the flag "u" letters fold as in Go: "\u017ftart" is "start".
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

function read(bytes: Uint8Array): ReturnType<typeof readJsonSlowly> {
  try {
    return readJsonSlowly(new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes));
  } catch (error) {
    // Go goes byte by byte, so its complaint is about a byte.
    throw error instanceof JsonSyntaxError ? new JsonSyntaxError(jsonSyntaxFault(bytes) ?? error.message) : error;
  }
}

/** Undefined for what is no whole number of 64 bits in plain digits. */
function int64Of(value: unknown): string | undefined {
  if (typeof value !== 'number' && !(value instanceof ExactNumber)) return undefined;
  const text = String(value);
  return /^-?\d+$/.test(text) && BigInt.asIntN(64, BigInt(text)) === BigInt(text) ? text : undefined;
}

/** Go names the number that does not fit into a number, and only the type otherwise. */
function typeOf(value: unknown, field?: keyof ContinueFields): string {
  if (typeof value === 'number' || value instanceof ExactNumber) return field === 'rv' ? `number ${value}` : 'number';
  if (Array.isArray(value)) return 'array';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}

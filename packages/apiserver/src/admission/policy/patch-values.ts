// Turns values of expressions into JSON for patches, and checks that structs have the names of their places. Used by
// policy-patches.ts. Source: apiserver pkg/cel/mutation/dynamic, protobuf structpb.
import { ExactNumber } from '@kapstan/api';
import { type SlicedWork, SlicePace, setOwn } from '@kapstan/api/internal';
import {
  type AnyList,
  type AnyMap,
  CelDouble,
  CelMapping,
  type CelUint,
  kindOf,
  listItems,
  mapFind,
  mapKeys,
  typeOfValue,
} from '@kapstan/cel';
import { PatchObject } from './patch-types.ts';

/** A value that has no JSON. */
export class PatchValueFault extends Error {
  override readonly name = 'PatchValueFault';
}

/** Returns the value as JSON that shares nothing with it. Throws PatchValueFault for a value that has no JSON form. */
export function* patchJson(value: unknown, pace: SlicePace = new SlicePace()): SlicedWork<unknown> {
  if (value instanceof PatchObject) return yield* objectJson(value.fields, pace);
  if (pace.isDue()) yield;
  switch (kindOf(value)) {
    case 'list': {
      const items: unknown[] = [];
      for (const item of listItems(value as AnyList)) items.push(yield* patchJson(item, pace));
      return items;
    }
    case 'map': {
      const map = value as AnyMap;
      return yield* objectJson(
        mapKeys(map).map((key) => [textKey(key), mapFind(map, key)]),
        pace,
      );
    }
    default:
      return scalarJson(value);
  }
}

function* objectJson(
  entries: Iterable<readonly [name: string, value: unknown]>,
  pace: SlicePace,
): SlicedWork<Record<string, unknown>> {
  const json: Record<string, unknown> = {};
  for (const [name, value] of entries) setOwn(json, name, yield* patchJson(value, pace));
  return json;
}

function scalarJson(value: unknown): unknown {
  switch (kindOf(value)) {
    case 'bool':
    case 'string':
      return value;
    case 'null':
      return null;
    case 'int':
      return integerJson(BigInt(value as number | bigint));
    case 'uint':
      return integerJson((value as CelUint).value);
    case 'double':
      return doubleJson(value as number | CelDouble);
    case 'duration':
    case 'timestamp':
      return String(value);
    case 'bytes':
      return Buffer.from(value as Uint8Array).toString('base64');
    default:
      throw new PatchValueFault(`unable to convert a value of type ${typeOfValue(value)} to JSON`);
  }
}

function textKey(key: unknown): string {
  if (typeof key === 'string') return key;
  throw new PatchValueFault(`map key "${String(key)}" is of type ${typeOfValue(key)}, not string`);
}

function integerJson(value: bigint): number | ExactNumber {
  const number = Number(value);
  return Number.isSafeInteger(number) ? number : new ExactNumber(value.toString());
}

function doubleJson(value: number | CelDouble): number {
  const number = value instanceof CelDouble ? value.value : value;
  if (Number.isFinite(number)) return number;
  throw new PatchValueFault(`unable to convert ${number} to JSON`);
}

/** Returns the fault in the names of structs below a value at `path`; undefined = there is none. */
export function* typeNameFault(value: unknown, path: string): SlicedWork<string | undefined> {
  const faults: string[] = [];
  yield* findTypeNameFaults(value, path, { faults, pace: new SlicePace() });
  return faults.length === 0 ? undefined : faults.join('\n');
}

interface NameSearch {
  readonly faults: string[];
  readonly pace: SlicePace;
}

function* findTypeNameFaults(value: unknown, path: string, search: NameSearch): SlicedWork<void> {
  if (typeof value !== 'object' || value === null) return;
  if (search.pace.isDue()) yield;
  if (value instanceof PatchObject) {
    const { name } = value.type;
    if (name !== path) {
      search.faults.push(
        `unexpected type name "${name}", expected "${path}", which matches field name path from root Object type`,
      );
    }
    for (const [field, member] of value.fields) yield* findTypeNameFaults(member, `${path}.${field}`, search);
    return;
  }
  const kind = kindOf(value);
  if (kind === 'list') for (const item of listItems(value as AnyList)) yield* findTypeNameFaults(item, path, search);
  // Objects of the request hold no structs, unlike maps that an expression makes.
  if (value instanceof CelMapping)
    for (const { value: member } of value.entries()) yield* findTypeNameFaults(member, path, search);
}

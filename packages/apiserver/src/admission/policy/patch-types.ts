// The structs of mutating policies: `Object{…}`, `Object.spec{…}` and `JSONPatch{…}`. Their fields are not declared, so any
// name may follow. Used by policy-expressions.ts. Source: apiserver pkg/cel/mutation.

import { isDeepStrictEqual } from 'node:util';
import { CelFailure, CelObject, CelType, isExactType, structType, type TypeProvider, typeOf } from '@kapstan/cel';

export const objectType: CelType = structType('Object');
export const jsonPatchType: CelType = structType('JSONPatch');

/** A value of `Object{…}` or of a struct below it. */
export class PatchObject extends CelObject {
  readonly type: CelType;
  readonly fields: ReadonlyMap<string, unknown>;

  constructor(name: string, fields: ReadonlyMap<string, unknown>) {
    super();
    this.type = name === objectType.name ? objectType : structType(name);
    this.fields = fields;
  }

  override equals(other: unknown): boolean {
    if (!(other instanceof PatchObject) || !isExactType(this.type, other.type)) return false;
    return isDeepStrictEqual(this.fields, other.fields);
  }

  override field(name: string): unknown {
    return this.fields.get(name);
  }

  override get hasFields(): boolean {
    return true;
  }
}

/** One operation of a JSON patch. */
export class PatchOperation extends CelObject {
  readonly type: CelType = jsonPatchType;
  readonly #fields: ReadonlyMap<string, unknown>;

  constructor(fields: ReadonlyMap<string, unknown>) {
    super();
    this.#fields = fields;
  }

  get op(): string {
    return this.#text('op');
  }

  get path(): string {
    return this.#text('path');
  }

  get from(): string {
    return this.#text('from');
  }

  /** Returns undefined when there is no value, which differs from null. */
  get value(): unknown {
    return this.#fields.get('value');
  }

  override equals(other: unknown): boolean {
    return other instanceof PatchOperation && isDeepStrictEqual(this.#fields, other.#fields);
  }

  override field(name: string): unknown {
    return name === 'value' ? this.value : texts.has(name) ? this.#text(name) : undefined;
  }

  override get hasFields(): boolean {
    return true;
  }

  #text(name: string): string {
    return (this.#fields.get(name) as string | undefined) ?? '';
  }
}

const texts: ReadonlySet<string> = new Set(['op', 'from', 'path']);
/** Type that the checker's messages show for unknown members, as Kubernetes' do. */
const noType = new CelType('opaque', '');
const dyn = typeOf('dyn');
const string = typeOf('string');

export const patchTypes: TypeProvider = {
  hasStruct: (name) => name === jsonPatchType.name || isObjectName(name),
  fieldType: (struct, field) => {
    if (struct !== jsonPatchType.name) return isObjectName(struct) ? dyn : undefined;
    if (texts.has(field)) return string;
    return field === 'value' ? dyn : noType;
  },
  construct: (name, fields) => (name === jsonPatchType.name ? operationOf(fields) : new PatchObject(name, fields)),
};

function isObjectName(name: string): boolean {
  return name === objectType.name || name.startsWith(`${objectType.name}.`);
}

function operationOf(fields: ReadonlyMap<string, unknown>): PatchOperation | CelFailure {
  for (const name of texts) {
    const value = fields.get(name);
    if (value === undefined || typeof value === 'string') continue;
    return new CelFailure(`unexpected type ${goTypeName(value)} for JSONPatchType '${name}' field`);
  }
  return new PatchOperation(fields);
}

function goTypeName(value: unknown): string {
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'bigint' || Number.isSafeInteger(value)) return 'int64';
  if (typeof value === 'number') return 'float64';
  if (value === null) return 'structpb.NullValue';
  return Array.isArray(value) ? '[]ref.Val' : 'map[string]interface {}';
}

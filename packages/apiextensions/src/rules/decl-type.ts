// DeclType describes a place in an object as expressions see it: its type, and the limits of its size, from which costs
// are estimated. Source: apiserver pkg/cel/types.go and pkg/cel/common/schemas.go.
import { type CelType, escapeName, typeOf, unescapeName } from '@kapstan/cel';
import {
  isEmbedded,
  isIntOrString,
  itemsOf,
  propertyOf,
  type RuleSchema,
  resourceRoot,
  valuesOf,
} from './rule-schema.ts';

/** Longest request that is accepted, in bytes: nothing in an object can be longer. */
export const maxRequestBytes: number = 3 * 1024 * 1024;

/** The type of a place whose schema is complete enough. `undefined` stands for places that expressions cannot see. */
export type DeclType = ScalarDecl | ListDecl | MapDecl | ObjectDecl;

interface ScalarDecl {
  readonly kind: 'scalar';
  readonly type: CelType;
  /** Maximum number of characters or bytes; 0 for types whose values all have the same size. */
  readonly maxElements: number;
  /** Length of the shortest value in JSON. */
  readonly minSize: number;
}

interface ListDecl {
  readonly kind: 'list';
  readonly element: DeclType;
  readonly maxElements: number;
  readonly minSize: number;
}

interface MapDecl {
  readonly kind: 'map';
  readonly key: DeclType;
  readonly element: DeclType;
  readonly maxElements: number;
  readonly minSize: number;
}

export interface ObjectDecl {
  readonly kind: 'object';
  readonly maxElements: 0;
  readonly minSize: number;
  /** Returns the type of a field by its identifier; undefined for fields that expressions cannot name. */
  field(identifier: string): DeclType | undefined;
}

/**
 * Returns the type of a schema. Fields of objects are read on demand: schemas are large, and rules name few of them.
 */
export function declTypeOf(schema: RuleSchema, isRoot: boolean): DeclType | undefined {
  if (isIntOrString(schema)) return scalar('dyn', 1, textLength(schema) ?? maxRequestBytes - 2);
  switch (schema.type) {
    case 'array':
      return listDecl(schema);
    case 'object':
      return objectOrMapDecl(isRoot ? resourceRoot(schema) : schema);
    case 'string':
      return textDecl(schema);
    case 'boolean':
      return booleans;
    case 'number':
      return doubles;
    case 'integer':
      return ints;
    default:
      return undefined;
  }
}

function scalar(type: string, minSize: number, maxElements: number): ScalarDecl {
  return { kind: 'scalar', type: typeOf(type), minSize, maxElements };
}

const booleans = scalar('bool', 4, 0);
const doubles = scalar('double', 1, 0);
const ints = scalar('int', 1, 0);
const keys = scalar('string', 2, 0);

function listDecl(schema: RuleSchema): ListDecl | undefined {
  const items = itemsOf(schema);
  const element = items && declTypeOf(items, isEmbedded(items));
  if (element === undefined) return undefined;
  const maxElements = bound(schema.maxItems) ?? Math.trunc((maxRequestBytes - 2) / (element.minSize + 1));
  return { kind: 'list', element, maxElements, minSize: 2 };
}

function objectOrMapDecl(schema: RuleSchema): MapDecl | ObjectDecl | undefined {
  const values = valuesOf(schema);
  if (values === undefined) return new SchemaObject(schema);
  const element = declTypeOf(values, isEmbedded(values));
  if (element === undefined) return undefined;
  const maxElements = bound(schema.maxProperties) ?? Math.trunc((maxRequestBytes - 2) / (element.minSize + 6));
  return { kind: 'map', key: keys, element, maxElements, minSize: 2 };
}

/** Lengths of times in JSON, quotes included. */
const minDuration = 3;
const dateLength = 12;
const minDateTime = 21;
const maxTime = 32;

function textDecl(schema: RuleSchema): ScalarDecl {
  switch (schema.format) {
    case 'byte':
      return scalar('bytes', 2, bound(schema.maxLength) ?? maxRequestBytes - 2);
    case 'duration':
      return scalar('google.protobuf.Duration', minDuration, maxTime);
    case 'date':
      return scalar('google.protobuf.Timestamp', dateLength, dateLength);
    case 'date-time':
      return scalar('google.protobuf.Timestamp', minDateTime, maxTime);
    default:
      return scalar('string', 2, textLength(schema) ?? longestValue(schema) ?? maxRequestBytes - 2);
  }
}

/** Returns the most bytes of a text with a limited length: a character has up to four. */
function textLength({ maxLength }: RuleSchema): number | undefined {
  const characters = bound(maxLength);
  return characters === undefined ? undefined : characters * 4;
}

function longestValue(schema: RuleSchema): number | undefined {
  const values = schema.enum ?? [];
  if (values.length === 0) return undefined;
  return values.reduce<number>((most, value) => {
    return typeof value === 'string' ? Math.max(most, Buffer.byteLength(value)) : most;
  }, 0);
}

function bound(limit: unknown): number | undefined {
  return limit === undefined || limit === null ? undefined : Math.max(0, Number(limit));
}

class SchemaObject implements ObjectDecl {
  readonly kind = 'object';
  readonly maxElements = 0;
  readonly #schema: RuleSchema;
  readonly #fields = new Map<string, DeclType | undefined>();
  #minSize: number | undefined;

  constructor(schema: RuleSchema) {
    this.#schema = schema;
  }

  /** Counts the braces and all properties that have no default. */
  get minSize(): number {
    if (this.#minSize !== undefined) return this.#minSize;
    let size = 2;
    for (const name of new Set(this.#schema.required)) size += this.#minPropertySize(name);
    this.#minSize = size;
    return size;
  }

  field(identifier: string): DeclType | undefined {
    const known = this.#fields.get(identifier);
    if (known !== undefined || this.#fields.has(identifier)) return known;
    const name = unescapeName(identifier);
    const property = name === undefined || escapeName(name) !== identifier ? undefined : propertyOf(this.#schema, name);
    const found = property && declTypeOf(property, isEmbedded(property));
    this.#fields.set(identifier, found);
    return found;
  }

  #minPropertySize(name: string): number {
    const property = propertyOf(this.#schema, name);
    if (property === undefined || (property.default !== undefined && property.default !== null)) return 0;
    const decl = declTypeOf(property, isEmbedded(property));
    return decl === undefined ? 0 : Buffer.byteLength(name) + decl.minSize + 4;
  }
}

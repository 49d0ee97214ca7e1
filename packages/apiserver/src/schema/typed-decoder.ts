// Decodes a JSON value into the Go types of a built-in kind: wrong types get Go's texts, unknown and repeated fields
// are recorded and dropped, null counts as absent. Its input comes from the readers (json-reader.ts, yaml-reader.ts);
// decode-object.ts calls it.

import type { ExactNumber } from '@kapstan/api';
import {
  fitsOneSlice,
  getOwn,
  isJsonObject,
  type MemberList,
  membersPerSlice,
  namesInSlices,
  readDecimal,
  rememberSize,
  type SlicedWork,
  setOwn,
} from '@kapstan/api/internal';
import { DecodePlace } from './decode-place.ts';
import { StrictErrors } from './field-validation.ts';
import { infinityText, isNumber, plainNumber } from './go/go-number.ts';
import { canonicalTime, GoTimeError } from './go/go-time.ts';
import { checkBase64, goTypeName, isCustomType, jsonKind, readCustomType } from './go/go-types.ts';
import { GoValueError } from './go/go-value-error.ts';
import { converterText, zeroOf } from './go/go-values.ts';
import { isJsonSchemaUnion, jsonSchemaType, nothing, unionMember } from './json-schema-unions.ts';
import type { SchemaNode } from './node/schema-node.ts';
import { mergeRepeated } from './repeated-member.ts';

/** The error for a document that does not fit its kind. The message comes from Go's decoders. */
export class DecodeError extends Error {
  constructor(message: string, options?: { readonly cause?: unknown }) {
    super(message, options);
    this.name = 'DecodeError';
  }
}

export interface TypedDecodeOptions {
  readonly schema: SchemaNode;
  readonly strict: StrictErrors;
  /** Objects in which names repeat. Absent = none. */
  readonly repeats?: ReadonlyMap<object, MemberList>;
  /**
   * Selects the error texts for a wrong type: the texts of Go's JSON decoder ('json') or of apimachinery's converter of
   * maps ('unstructured').
   */
  readonly words: 'json' | 'unstructured';
  /** Path of the value in its document, for complaints, for example "metadata". Absent = it is the document. */
  readonly path?: string;
  /** Names of the fields down to the value, for Go's errors. Absent = it is the document. */
  readonly fields?: readonly string[];
}

/** Returns the decoded copy. Throws {@link DecodeError} for the first value of a wrong type. */
export function decodeTyped(value: unknown, options: TypedDecodeOptions): unknown {
  const decoder = new TypedDecoder(options);
  const decoded = decoder.decode(value, options.schema);
  decoder.throwSaved();
  return decoded;
}

/** Does what {@link decodeTyped} does, for a value of any size. */
export function* decodeTypedInSlices(value: unknown, options: TypedDecodeOptions): SlicedWork<unknown> {
  const decoder = new TypedDecoder(options);
  const decoded = yield* decoder.decodeInSlices(value, options.schema);
  decoder.throwSaved();
  return decoded;
}

/** A struct without fields, which schemas cannot tell from a map of anything. */
const noFields: ReadonlyMap<string, SchemaNode> = new Map();

const byteNode: SchemaNode = { type: 'integer', format: 'uint8' };

class TypedDecoder {
  readonly #options: TypedDecodeOptions;
  readonly #place: DecodePlace;
  #saved: DecodeError | undefined;

  constructor(options: TypedDecodeOptions) {
    this.#options = options;
    this.#place = new DecodePlace(options.path, options.fields);
  }

  /** Go continues after a wrong type, since a later value may end decoding; the first wrong type is then reported. */
  throwSaved(): void {
    if (this.#saved !== undefined) throw this.#saved;
  }

  decode(value: unknown, node: SchemaNode): unknown {
    if (value === null) return zeroOf(node);
    if (isCustomType(node)) return this.#custom(value, node);
    if (isJsonSchemaUnion(node)) return this.#union(value, node);
    if (node.goType === 'v1.CustomResourceSubresourceStatus') return this.#struct(value, node, noFields);
    if (node.properties !== undefined) return this.#struct(value, node, node.properties);
    if (node.additionalProperties !== undefined) return this.#map(value, node);
    if (node.items !== undefined) return this.#list(value, node, node.items);
    return this.#scalar(value, node);
  }

  #custom(value: unknown, node: SchemaNode): unknown {
    try {
      return readCustomType(value, node);
    } catch (error) {
      if (!(error instanceof GoValueError)) throw error;
      const text = error.isFoundLater ? error.message : this.#place.inContext(error.message);
      throw new DecodeError(text, { cause: error });
    }
  }

  /** Go reads these with separate decoders, which report neither unknown nor repeated fields. */
  #union(value: unknown, node: SchemaNode): unknown {
    try {
      const schema = unionMember(node, value);
      if (schema === undefined) return value;
      if (schema === nothing) return undefined;
      const { words } = this.#options;
      const decoded = decodeTyped(value, { schema, strict: new StrictErrors(), words, fields: this.#place.fields });
      for (const item of Array.isArray(decoded) ? decoded : [decoded]) {
        if (isJsonObject(item)) node.types?.normalize(jsonSchemaType, item);
      }
      return decoded;
    } catch (error) {
      if (!(error instanceof GoValueError)) throw error;
      throw new DecodeError(error.message, { cause: error });
    }
  }

  #struct(value: unknown, node: SchemaNode, properties: ReadonlyMap<string, SchemaNode>): unknown {
    if (!isJsonObject(value)) return this.#wrongType(value, node);
    const result: Record<string, unknown> = {};
    this.#place.openStruct(node);
    // Names can repeat only where the reader has recorded it.
    const seen = this.#options.repeats?.has(value) === true ? new Set<string>() : undefined;
    for (const [name, member] of this.#membersOf(value)) {
      this.#place.enter(name);
      const property = properties.get(name);
      if (property === undefined) this.#unknown(result, [name, member, node]);
      else if (this.#opens(name, member, seen))
        this.#close(result, seen, [name, this.decode(member, property), property]);
      this.#place.leave();
    }
    this.#place.closeStruct();
    return result;
  }

  #unknown(result: Record<string, unknown>, [name, member, node]: readonly [string, unknown, SchemaNode]): void {
    if (node.preserveUnknownFields === true) setOwn(result, name, member);
    else this.#options.strict.unknownField(this.#place.text);
  }

  /** Returns false for null, which counts as absent. */
  #opens(name: string, member: unknown, seen: Set<string> | undefined): boolean {
    if (seen?.has(name) === true) this.#options.strict.duplicateField(this.#place.text);
    seen?.add(name);
    if (member === null) return false;
    this.#place.openField(name);
    return true;
  }

  #close(
    result: Record<string, unknown>,
    seen: Set<string> | undefined,
    [name, decoded, node]: readonly [string, unknown, SchemaNode],
  ): void {
    this.#place.closeField();
    if (decoded === undefined) return;
    setOwn(result, name, seen === undefined ? decoded : mergeRepeated(getOwn(result, name), decoded, node));
  }

  /** Does what {@link decode} does, and leaves every small value to that function. */
  *decodeInSlices(value: unknown, node: SchemaNode): SlicedWork<unknown> {
    const isPlain = value === null || isCustomType(node) || isJsonSchemaUnion(node) || fitsOneSlice(value);
    if (isPlain) return this.decode(value, node);
    if (Array.isArray(value)) return yield* this.#listInSlices(value, node);
    if (!isJsonObject(value)) return this.decode(value, node);
    if (node.properties !== undefined) return yield* this.#structInSlices(value, node, node.properties);
    const isTaken = node.additionalProperties !== undefined || takesAnything(node);
    return isTaken ? yield* this.#mapInSlices(value, node.additionalProperties) : this.decode(value, node);
  }

  *#structInSlices(
    value: Record<string, unknown>,
    node: SchemaNode,
    properties: ReadonlyMap<string, SchemaNode>,
  ): SlicedWork<unknown> {
    const result: Record<string, unknown> = {};
    this.#place.openStruct(node);
    const seen = this.#options.repeats?.has(value) === true ? new Set<string>() : undefined;
    let count = 0;
    const steps = this.#options.repeats?.get(value) ?? (yield* namesInSlices(value));
    for (const step of steps) {
      const [name, member] = typeof step === 'string' ? [step, value[step]] : step;
      this.#place.enter(name);
      const property = properties.get(name);
      if (property === undefined) this.#unknown(result, [name, member, node]);
      else if (this.#opens(name, member, seen))
        this.#close(result, seen, [name, yield* this.decodeInSlices(member, property), property]);
      this.#place.leave();
      if (++count % membersPerSlice === 0) yield;
    }
    this.#place.closeStruct();
    return result;
  }

  *#mapInSlices(value: Record<string, unknown>, node: SchemaNode | true | undefined): SlicedWork<unknown> {
    const values = node === true || node === undefined ? anything : node;
    const result: Record<string, unknown> = {};
    let count = 0;
    const steps = this.#options.repeats?.get(value) ?? (yield* namesInSlices(value));
    for (const step of steps) {
      const [key, member] = typeof step === 'string' ? [step, value[step]] : step;
      this.#place.enter(key);
      if (Object.hasOwn(result, key)) this.#options.strict.duplicateField(this.#place.text);
      const isScalar = typeof member !== 'object' || member === null;
      setOwn(result, key, isScalar ? this.decode(member, values) : yield* this.decodeInSlices(member, values));
      this.#place.leave();
      if (++count % membersPerSlice === 0) yield;
    }
    rememberSize(result, count);
    return result;
  }

  *#listInSlices(value: readonly unknown[], node: SchemaNode): SlicedWork<unknown> {
    const { items } = node;
    const isTaken = items !== undefined || node.type === 'array' || takesAnything(node);
    if (!isTaken) return this.decode(value, node);
    const result: unknown[] = [];
    let nodes = 0;
    for (const [index, item] of value.entries()) {
      this.#place.enterItem(index);
      const isScalar = typeof item !== 'object' || item === null;
      result.push(
        isScalar ? this.decode(item, items ?? anything) : yield* this.decodeInSlices(item, items ?? anything),
      );
      this.#place.leave();
      nodes += isScalar ? 1 : nodesOfItem;
      if (nodes >= membersPerSlice) {
        nodes = 0;
        yield;
      }
    }
    return result;
  }

  #map(value: unknown, node: SchemaNode): unknown {
    if (!isJsonObject(value)) return this.#wrongType(value, node);
    const values = node.additionalProperties;
    const result: Record<string, unknown> = {};
    for (const [key, member] of this.#membersOf(value)) {
      this.#place.enter(key);
      if (Object.hasOwn(result, key)) this.#options.strict.duplicateField(this.#place.text);
      setOwn(result, key, values === true || values === undefined ? this.#any(member) : this.decode(member, values));
      this.#place.leave();
    }
    return result;
  }

  #list(value: unknown, node: SchemaNode, items: SchemaNode): unknown {
    if (!Array.isArray(value)) return this.#wrongType(value, node);
    return value.map((item, index) => {
      this.#place.enterItem(index);
      const decoded = this.decode(item, items);
      this.#place.leave();
      return decoded;
    });
  }

  #scalar(value: unknown, node: SchemaNode): unknown {
    switch (node.type) {
      case 'string':
        if (node.format === 'byte' && Array.isArray(value)) return this.#bytes(value);
        return typeof value === 'string' ? this.#string(value, node) : this.#wrongType(value, node);
      case 'boolean':
        return typeof value === 'boolean' ? value : this.#wrongType(value, node);
      case 'integer':
        return this.#integer(value, node);
      case 'number':
        return isNumber(value) ? Number(finiteNumber(value)) : this.#wrongType(value, node);
      case 'array':
        return Array.isArray(value) ? this.#any(value) : this.#wrongType(value, node);
      default:
        return this.#any(value);
    }
  }

  #string(value: string, node: SchemaNode): unknown {
    if (node.format === 'byte') {
      const fault = checkBase64(value);
      if (fault !== undefined)
        this.#save(this.#options.words === 'json' ? fault : `error decoding from json: ${fault}`);
    }
    if (node.format !== 'date-time') return value;
    try {
      return canonicalTime(value, node.goType === 'v1.MicroTime' ? 'micros' : 'seconds');
    } catch (error) {
      if (!(error instanceof GoTimeError)) throw error;
      throw new DecodeError(error.message, { cause: error });
    }
  }

  /** Bytes may also be a list of numbers. */
  #bytes(value: readonly unknown[]): string {
    const bytes = value.map((item) => {
      const byte = Number(this.decode(item, byteNode) ?? 0);
      // The converter of maps keeps the lowest bits.
      if (this.#options.words === 'json' && (byte < 0 || byte > 255)) this.#wrongNumber(byte, byteNode);
      return byte;
    });
    return Buffer.from(bytes).toString('base64');
  }

  #integer(value: unknown, node: SchemaNode): unknown {
    if (!isNumber(value)) return this.#wrongType(value, node);
    const wide = node.format === 'int64' || node.format === undefined;
    const text = String(value);
    const integer = readDecimal(text);
    if (integer === undefined) return this.#wrongNumber(value, node);
    // The converter of maps keeps the lowest bits of a number that is too large.
    const isCut = this.#options.words === 'unstructured' && BigInt.asIntN(64, integer) === integer;
    if (!wide && isCut) return Number(BigInt.asIntN(32, integer));
    if (BigInt.asIntN(wide ? 64 : 32, integer) !== integer) return this.#wrongNumber(value, node);
    return value;
  }

  #any(value: unknown): unknown {
    if (Array.isArray(value)) {
      return value.map((item, index) => {
        this.#place.enterItem(index);
        const read = this.#any(item);
        this.#place.leave();
        return read;
      });
    }
    if (!isJsonObject(value)) return isNumber(value) ? finiteNumber(value) : value;
    const result: Record<string, unknown> = {};
    for (const [name, member] of this.#membersOf(value)) {
      this.#place.enter(name);
      if (Object.hasOwn(result, name)) this.#options.strict.duplicateField(this.#place.text);
      setOwn(result, name, this.#any(member));
      this.#place.leave();
    }
    return result;
  }

  #membersOf(value: Record<string, unknown>): MemberList {
    return this.#options.repeats?.get(value) ?? Object.entries(value);
  }

  #wrongType(value: unknown, node: SchemaNode): undefined {
    if (this.#options.words === 'unstructured') throw new DecodeError(converterText(value, node));
    this.#save(
      this.#place.inContext(`json: cannot unmarshal ${jsonKind(value)} into Go value of type ${goTypeName(node)}`),
    );
    return undefined;
  }

  #wrongNumber(value: number | ExactNumber, node: SchemaNode): undefined {
    if (this.#options.words === 'unstructured') throw new DecodeError(converterText(value, node));
    this.#save(
      this.#place.inContext(`json: cannot unmarshal number ${value} into Go value of type ${goTypeName(node)}`),
    );
    return undefined;
  }

  #save(text: string): void {
    this.#saved ??= new DecodeError(text);
  }
}

/** Number of items of a slice that one object counts as. */
const nodesOfItem = 8;
const anything: SchemaNode = {};

/** True for a place that accepts any value, as {@link TypedDecoder} reads it. */
function takesAnything(node: SchemaNode): boolean {
  return (
    node.properties === undefined &&
    node.additionalProperties === undefined &&
    node.items === undefined &&
    (node.type === undefined || node.type === 'object')
  );
}

/** Throws for a number that no double can hold: it would be stored as null. */
function finiteNumber(value: number | ExactNumber): number | ExactNumber {
  if (Number.isFinite(Number(value))) return plainNumber(value);
  throw new DecodeError(infinityText(value));
}

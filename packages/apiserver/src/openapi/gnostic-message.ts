// Writes messages of gnostic, the protobuf form of OpenAPI documents, from tables that map keywords to fields. Used by
// swagger-protobuf.ts and openapi-protobuf.ts. Source: google/gnostic-models.
import { stringifyJson } from '@kapstan/api';
import { fitsOneSlice, getOwn, isJsonObject, type SlicedWork, setOwn } from '@kapstan/api/internal';
import { ProtobufWriter } from '../codec/protobuf-wire.ts';

export type Json = Readonly<Record<string, unknown>>;
export type WriteField = (writer: ProtobufWriter, field: number, value: unknown) => void;

/** The fields of a message by the keywords of the document. */
export interface Shape {
  readonly fields: Readonly<Record<string, readonly [field: number, write: WriteField]>>;
  /** Field for keywords that begin with "x-". */
  readonly extensions?: number;
}

/** A message that was made earlier and stands for its value. */
export class EncodedMessage {
  readonly bytes: Uint8Array;

  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

export function piece(write: (writer: ProtobufWriter) => void): Uint8Array {
  const writer = new ProtobufWriter();
  write(writer);
  return writer.finish();
}

/**
 * Returns a schema that can be written in one step: the schema itself when it is small, otherwise a copy whose members
 * are messages made one by one.
 */
export function* preparedSchema(schema: Json, encode: (schema: Json) => EncodedMessage): SlicedWork<Json> {
  if (fitsOneSlice(schema)) return schema;
  const prepared: Record<string, unknown> = { ...schema };
  for (const word of ['items', 'additionalProperties']) {
    const inner = getOwn(schema, word);
    if (isJsonObject(inner)) prepared[word] = encode(yield* preparedSchema(inner, encode));
  }
  const properties = getOwn(schema, 'properties');
  if (!isJsonObject(properties)) return prepared;
  const encoded: Record<string, unknown> = {};
  for (const name of Object.keys(properties)) {
    setOwn(encoded, name, encode(yield* preparedSchema(getOwn(properties, name) as Json, encode)));
    yield;
  }
  prepared.properties = encoded;
  return prepared;
}

export interface Named {
  readonly name: string;
  readonly shape: Shape;
  readonly value: Json;
}

export function writeNamed(writer: ProtobufWriter, field: number, { name, shape, value }: Named): void {
  writer.message(field, () => {
    writer.text(1, name);
    writer.message(2, () => writeShape(writer, shape, value));
  });
}

export function writeShape(writer: ProtobufWriter, { fields, extensions }: Shape, value: Json): void {
  for (const [word, [field, write]] of Object.entries(fields)) {
    if (Object.hasOwn(value, word) && value[word] !== undefined) write(writer, field, value[word]);
  }
  if (extensions === undefined) return;
  for (const [word, one] of Object.entries(value)) {
    if (!word.startsWith('x-')) continue;
    writer.message(extensions, () => {
      writer.text(1, word);
      any(writer, 2, one);
    });
  }
}

export const text: WriteField = (writer, field, value) => writer.text(field, String(value));
export const double: WriteField = (writer, field, value) => writer.double(field, Number(value));
export const whole: WriteField = (writer, field, value) => {
  writer.tag(field, 0);
  writer.varint(Number(value));
};
export const flag: WriteField = (writer, field, value) => {
  if (value === true) whole(writer, field, 1);
};
/** Free values are YAML, which includes JSON. */
export const any: WriteField = (writer, field, value) =>
  writer.message(field, () => writer.text(2, `${stringifyJson(value)}\n`));
export const message =
  (shape: () => Shape): WriteField =>
  (writer, field, value) =>
    writer.message(field, () => writeShape(writer, shape(), value as Json));
export const each =
  (write: WriteField): WriteField =>
  (writer, field, value) => {
    for (const one of value as readonly unknown[]) write(writer, field, one);
  };
/** Writes a message with a single field. */
export const within =
  (inner: number, write: WriteField): WriteField =>
  (writer, field, value) =>
    writer.message(field, () => write(writer, inner, value));

// Decodes protobuf messages to the JSON form of objects, as Go would print the decoded object. protobuf-encoder.ts does
// the inverse.

import { ExactNumber } from '@kapstan/api';
import { isJsonObject, runWhole, setOwn } from '@kapstan/api/internal';
import type { Message, MessageField } from '../schema/node/message.ts';
import { newFormState, takeField, type ValueForm, valueForms } from './value-forms.ts';
import { WireCursor } from './wire-cursor.ts';

type Json = Record<string, unknown>;

/**
 * Decodes the message of a kind and adds its members to `object`, whose kind and apiVersion come first. Throws Error
 * for malformed bytes.
 */
export function decodeInto(object: Json, message: Message, bytes: Uint8Array): void {
  const cursor = new WireCursor(bytes);
  readFields(cursor, message, { end: cursor.bytes.length, object });
}

/** Messages that hold either a schema or, in its place, a boolean or a list. */
export const schemaOrBool = 'crd/apiextensions.v1.JSONSchemaPropsOrBool';
export const schemaOrItems: ReadonlySet<string> = new Set([
  'crd/apiextensions.v1.JSONSchemaPropsOrArray',
  'crd/apiextensions.v1.JSONSchemaPropsOrStringArray',
]);

function readMessage(cursor: WireCursor, message: Message, end: number): unknown {
  const form = valueForms.get(message.name);
  if (form !== undefined) return readForm(cursor, form, end);
  if (message.name === schemaOrBool) return readSchemaOrBool(cursor, end, message);
  if (schemaOrItems.has(message.name)) return readSchemaOrItems(cursor, end, message);
  const object: Json = {};
  readFields(cursor, message, { end, object });
  return message.isList ? (object.items ?? []) : object;
}

export interface Target {
  readonly end: number;
  readonly object: Json;
}

function readFields(cursor: WireCursor, message: Message, { end, object }: Target): void {
  while (cursor.at < end) readTagged(cursor, message, object);
  finishFields(cursor, message, { end, object });
}

/** Reads one field into the object. Returns the message's description of it; undefined for an unknown field, which is skipped. */
export function readTagged(cursor: WireCursor, message: Message, object: Json): MessageField | undefined {
  const tag = cursor.tag();
  const number = Math.floor(tag / 8);
  if (number === 0) throw new Error('proto: illegal tag 0');
  const field = message.byNumber[number];
  if (field === undefined) cursor.skip(tag % 8);
  else if (tag === field.tag) readField(cursor, object, field);
  else readPacked(cursor, object, { field, wireType: tag % 8 });
  return field;
}

export function finishFields(cursor: WireCursor, message: Message, { end, object }: Target): void {
  if (cursor.at !== end) throw new Error('unexpected EOF');
  cursor.fields += message.always.length;
  for (const field of message.always) fillAbsent(object, field);
}

export function readField(cursor: WireCursor, object: Json, field: MessageField): void {
  if (field.shape === 'map') return readMapEntry(cursor, object, field);
  if (field.isInline) return readFields(cursor, field.inner, { end: cursor.end(), object });
  addValue(object, field, readValue(cursor, field));
}

export function addValue(object: Json, field: MessageField, value: unknown): void {
  if (field.shape === 'single') return setMember(object, field, value);
  const items = object[field.name];
  if (Array.isArray(items)) items.push(value);
  else object[field.name] = [value];
}

/** Reads numbers that follow each other without tags, as encoders other than Go's write lists. */
function readPacked(
  cursor: WireCursor,
  object: Json,
  { field, wireType }: { readonly field: MessageField; readonly wireType: number },
): void {
  if (!isPacked(field, wireType)) throw new Error(`proto: wrong wireType = ${wireType} for field ${field.name}`);
  for (const end = cursor.end(); cursor.at < end; cursor.fields++) readField(cursor, object, field);
}

export function isPacked({ shape, tag }: MessageField, wireType: number): boolean {
  return wireType === 2 && shape === 'repeated' && tag % 8 === 0;
}

function setMember(object: Json, field: MessageField, value: unknown): void {
  const isOmitted = value === null ? field.omitsAbsent : field.omitsZero && isZero(value);
  if (!isOmitted) object[field.name] = value;
}

/** Adds the values that Go prints for members missing on the wire. */
function fillAbsent(object: Json, field: MessageField): void {
  if (field.isInline) {
    for (const inner of field.inner.always) fillAbsent(object, inner);
    return;
  }
  if (object[field.name] === undefined) object[field.name] = absentValue(field);
}

function absentValue(field: MessageField): unknown {
  if (field.shape !== 'single' || field.isOptional) return null;
  switch (field.type) {
    case 'string':
      return '';
    case 'bool':
      return false;
    case 'message':
      return readMessage(nothing, field.inner, 0);
    case 'bytes':
      return null;
    default:
      return 0;
  }
}

const nothing = new WireCursor(new Uint8Array());

function readMapEntry(cursor: WireCursor, object: Json, field: MessageField): void {
  const map = mapOf(object, field);
  const { entry } = field;
  let key = '';
  let value: unknown;
  for (const end = cursor.end(); cursor.at < end; ) {
    const tag = cursor.varint();
    if (tag === 0x0a) key = cursor.text(cursor.end());
    else if (entry !== undefined && tag === entry.tag) value = readValue(cursor, entry);
    else cursor.skip(tag % 8);
  }
  setEntry(map, field, { key, value });
}

export function mapOf(object: Json, { name }: MessageField): Json {
  const known = object[name];
  const map = isJsonObject(known) ? known : {};
  if (known === undefined) object[name] = map;
  return map;
}

export function setEntry(map: Json, { entry }: MessageField, { key, value }: { key: string; value: unknown }): void {
  setOwn(map, key, value ?? (entry === undefined || entry.type === 'bytes' ? '' : absentValue(entry)));
}

export function readValue(cursor: WireCursor, field: MessageField): unknown {
  switch (field.type) {
    case 'string':
      return cursor.text(cursor.end());
    case 'message':
      return readMessage(cursor, field.inner, cursor.end());
    case 'bool':
      return cursor.varint() !== 0;
    case 'bytes': {
      const end = cursor.end();
      const text = cursor.bytes.toString('base64', cursor.at, end);
      cursor.at = end;
      return text;
    }
    case 'double':
      return cursor.double();
    case 'int32':
      return int32Of(cursor.int64());
    case 'int64':
      return numberOf(cursor.int64());
  }
}

function int32Of(value: number | bigint): number {
  return typeof value === 'number' ? value | 0 : Number(BigInt.asIntN(32, value));
}

function numberOf(value: number | bigint): number | ExactNumber {
  if (typeof value === 'number') return value;
  const text = value.toString();
  return String(Number(text)) === text ? Number(text) : new ExactNumber(text);
}

/** True for values that Go's omitempty and omitzero omit. */
function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false || (isJsonObject(value) && Object.keys(value).length === 0);
}

function readForm(cursor: WireCursor, form: ValueForm, end: number): unknown {
  const state = newFormState();
  while (cursor.at < end) takeField(form, state, cursor);
  return runWhole(form.jsonOf(state));
}

/** Reads a schema in its field of a message that holds either a schema or another value. */
function readSchema(cursor: WireCursor, field: MessageField | undefined): unknown {
  const end = cursor.end();
  return field === undefined ? undefined : readMessage(cursor, field.inner, end);
}

/** Reads one schema in field 1, or several items in field 2. */
function readSchemaOrItems(cursor: WireCursor, end: number, { byNumber }: Message): unknown {
  const [, first, second] = byNumber;
  const items: unknown[] = [];
  let schema: unknown;
  while (cursor.at < end) {
    const tag = cursor.tag();
    if (tag === 0x0a) schema = readSchema(cursor, first);
    else if (tag === 0x12)
      items.push(second?.type === 'string' ? cursor.text(cursor.end()) : readSchema(cursor, second));
    else cursor.skip(tag % 8);
  }
  return schema ?? items;
}

/** Reads a schema in field 2, or a boolean. */
function readSchemaOrBool(cursor: WireCursor, end: number, { byNumber }: Message): unknown {
  let allows = false;
  let schema: unknown;
  while (cursor.at < end) {
    const tag = cursor.tag();
    if (tag === 0x08) allows = cursor.varint() !== 0;
    else if (tag === 0x12) schema = readSchema(cursor, byNumber[2]);
    else cursor.skip(tag % 8);
  }
  return schema ?? allows;
}

// Decodes protobuf messages to the JSON form of objects, as Go would print the decoded object. protobuf-encoder.ts does
// the inverse.

import { ExactNumber, formatTime, parseJson } from '@kapstan/api';
import { isJsonObject, setOwn } from '@kapstan/api/internal';
import type { Message, MessageField } from '../schema/message.ts';
import { WireCursor } from './wire-cursor.ts';

type Json = Record<string, unknown>;
/** Reads from the cursor's position up to `end`. */
type FormReader = (cursor: WireCursor, end: number, message: Message) => unknown;

/**
 * Decodes the message of a kind and adds its members to `object`, whose kind and apiVersion come first. Throws Error
 * for malformed bytes.
 */
export function decodeInto(object: Json, message: Message, bytes: Uint8Array): void {
  const cursor = new WireCursor(bytes);
  readFields(cursor, message, { end: cursor.bytes.length, object });
}

const forms: ReadonlyMap<string, FormReader> = new Map<string, FormReader>([
  ['machinery/api.resource.Quantity', (cursor, end) => textField(cursor, end) || '0'],
  ['machinery/util.intstr.IntOrString', readIntOrString],
  ['machinery/runtime.RawExtension', readRaw],
  ['crd/apiextensions.v1.JSON', readRaw],
  ['meta/v1.FieldsV1', readRaw],
  ['meta/v1.Time', (cursor, end) => readTime(cursor, end)?.whole ?? null],
  ['meta/v1.MicroTime', readMicroTime],
  ['crd/apiextensions.v1.JSONSchemaPropsOrArray', readSchemaOrItems],
  ['crd/apiextensions.v1.JSONSchemaPropsOrBool', readSchemaOrBool],
  ['crd/apiextensions.v1.JSONSchemaPropsOrStringArray', readSchemaOrItems],
]);

function readMessage(cursor: WireCursor, message: Message, end: number): unknown {
  const form = forms.get(message.name);
  if (form !== undefined) return form(cursor, end, message);
  const object: Json = {};
  readFields(cursor, message, { end, object });
  return message.isList ? (object.items ?? []) : object;
}

interface Target {
  readonly end: number;
  readonly object: Json;
}

function readFields(cursor: WireCursor, message: Message, { end, object }: Target): void {
  while (cursor.at < end) {
    const tag = cursor.varint();
    const number = Math.floor(tag / 8);
    if (number === 0) throw new Error('proto: illegal tag 0');
    const field = message.byNumber[number];
    if (field === undefined) cursor.skip(tag % 8);
    else if (tag === field.tag) readField(cursor, object, field);
    else readPacked(cursor, object, { field, wireType: tag % 8 });
  }
  if (cursor.at !== end) throw new Error('unexpected EOF');
  for (const field of message.always) fillAbsent(object, field);
}

function readField(cursor: WireCursor, object: Json, field: MessageField): void {
  if (field.shape === 'map') return readMapEntry(cursor, object, field);
  if (field.isInline) return readFields(cursor, field.inner, { end: cursor.end(), object });
  const value = readValue(cursor, field);
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
  const isPacked = wireType === 2 && field.shape === 'repeated' && field.tag % 8 === 0;
  if (!isPacked) throw new Error(`proto: wrong wireType = ${wireType} for field ${field.name}`);
  for (const end = cursor.end(); cursor.at < end; ) readField(cursor, object, field);
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
      return readMessage(nothing(), field.inner, 0);
    case 'bytes':
      return null;
    default:
      return 0;
  }
}

const nothing = (): WireCursor => new WireCursor(new Uint8Array());

function readMapEntry(cursor: WireCursor, object: Json, field: MessageField): void {
  const known = object[field.name];
  const map = isJsonObject(known) ? known : {};
  if (known === undefined) object[field.name] = map;
  const { entry } = field;
  let key = '';
  let value: unknown;
  for (const end = cursor.end(); cursor.at < end; ) {
    const tag = cursor.varint();
    if (tag === 0x0a) key = cursor.text(cursor.end());
    else if (entry !== undefined && tag === entry.tag) value = readValue(cursor, entry);
    else cursor.skip(tag % 8);
  }
  setOwn(map, key, value ?? (entry === undefined || entry.type === 'bytes' ? '' : absentValue(entry)));
}

function readValue(cursor: WireCursor, field: MessageField): unknown {
  switch (field.type) {
    case 'string':
      return cursor.text(cursor.end());
    case 'message': {
      const end = cursor.end();
      const form = forms.get(field.message);
      return form === undefined ? readMessage(cursor, field.inner, end) : form(cursor, end, field.inner);
    }
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

/** Reads the fields of a small message by number; if a number repeats, the last one counts. */
function textField(cursor: WireCursor, end: number): string {
  let text = '';
  while (cursor.at < end) {
    const tag = cursor.varint();
    if (tag === 0x0a) text = cursor.text(cursor.end());
    else cursor.skip(tag % 8);
  }
  return text;
}

function readIntOrString(cursor: WireCursor, end: number): unknown {
  let [isText, number, text] = [false, 0, ''];
  while (cursor.at < end) {
    const tag = cursor.varint();
    if (tag === 0x08) isText = cursor.varint() === 1;
    else if (tag === 0x10) number = Number(cursor.int64());
    else if (tag === 0x1a) text = cursor.text(cursor.end());
    else cursor.skip(tag % 8);
  }
  return isText ? text : number;
}

function readRaw(cursor: WireCursor, end: number): unknown {
  const raw = textField(cursor, end);
  return raw === '' ? null : parseJson(raw);
}

interface Instant {
  readonly whole: string;
  readonly nanos: number;
}

/** Returns undefined for a time that is not set. */
function readTime(cursor: WireCursor, end: number): Instant | undefined {
  let seconds: number | undefined;
  let nanos = 0;
  while (cursor.at < end) {
    const tag = cursor.varint();
    if (tag === 0x08) seconds = Number(cursor.int64());
    else if (tag === 0x10) nanos = cursor.varint();
    else cursor.skip(tag % 8);
  }
  return seconds === undefined ? undefined : { whole: formatTime(seconds * 1000), nanos };
}

function readMicroTime(cursor: WireCursor, end: number): string | null {
  const time = readTime(cursor, end);
  if (time === undefined) return null;
  const micros = Math.floor(time.nanos / 1000);
  return `${time.whole.slice(0, -1)}.${micros.toString().padStart(6, '0')}Z`;
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
    const tag = cursor.varint();
    if (tag === 0x0a) schema = readSchema(cursor, first);
    else if (tag === 0x12)
      items.push(second?.type === 'string' ? cursor.text(cursor.end()) : readSchema(cursor, second));
    else cursor.skip(tag % 8);
  }
  return schema ?? items;
}

function readSchemaOrBool(cursor: WireCursor, end: number, { byNumber }: Message): unknown {
  let allows = false;
  let schema: unknown;
  while (cursor.at < end) {
    const tag = cursor.varint();
    if (tag === 0x08) allows = cursor.varint() !== 0;
    else if (tag === 0x12) schema = readSchema(cursor, byNumber[2]);
    else cursor.skip(tag % 8);
  }
  return schema ?? allows;
}

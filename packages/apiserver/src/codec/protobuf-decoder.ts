// Decodes protobuf messages to the JSON form of objects, as Go would print the decoded object. protobuf-encoder.ts does
// the inverse.

import { ExactNumber, formatTime, parseJson } from '@kapstan/api';
import {
  isJsonObject,
  JsonLimitError,
  type JsonLimits,
  maxJsonDepth,
  parseJsonInSlices,
  rememberSize,
  runWhole,
  type SlicedWork,
  setOwn,
} from '@kapstan/api/internal';
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

/** Does what {@link decodeInto} does, in slices. Throws JsonLimitError for a message beyond the limits. */
export function* decodeIntoInSlices(
  object: Json,
  message: Message,
  { bytes, limits }: { readonly bytes: Uint8Array; readonly limits: JsonLimits },
): SlicedWork<void> {
  const cursor = new WireCursor(bytes);
  yield* new LongMessageReader(cursor, limits).fields(message, { end: cursor.bytes.length, object });
}

const forms: ReadonlyMap<string, FormReader> = new Map<string, FormReader>([
  ['machinery/api.resource.Quantity', (cursor, end) => textField(cursor, end) || '0'],
  ['machinery/util.intstr.IntOrString', readIntOrString],
  ['machinery/runtime.RawExtension', readRaw],
  ['crd/apiextensions.v1.JSON', readRaw],
  ['meta/v1.FieldsV1', readRaw],
  ['meta/v1.Time', (cursor, end) => readTime(cursor, end)?.whole ?? null],
  ['meta/v1.MicroTime', readMicroTime],
  ...['Array', 'Bool', 'StringArray'].map((other): [string, FormReader] => [
    `crd/apiextensions.v1.JSONSchemaPropsOr${other}`,
    (cursor, end, message) => runWhole(new LongMessageReader(cursor).value(message, end)),
  ]),
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
  while (cursor.at < end) readTagged(cursor, message, object);
  finishFields(cursor, message, { end, object });
}

/** Reads one field with its tag. */
function readTagged(cursor: WireCursor, message: Message, object: Json): void {
  cursor.fields++;
  const tag = cursor.varint();
  const number = Math.floor(tag / 8);
  if (number === 0) throw new Error('proto: illegal tag 0');
  const field = message.byNumber[number];
  if (field === undefined) cursor.skip(tag % 8);
  else if (tag === field.tag) readField(cursor, object, field);
  else readPacked(cursor, object, { field, wireType: tag % 8 });
}

function finishFields(cursor: WireCursor, message: Message, { end, object }: Target): void {
  if (cursor.at !== end) throw new Error('unexpected EOF');
  for (const field of message.always) fillAbsent(object, field);
}

function readField(cursor: WireCursor, object: Json, field: MessageField): void {
  if (field.shape === 'map') return readMapEntry(cursor, object, field);
  if (field.isInline) return readFields(cursor, field.inner, { end: cursor.end(), object });
  addValue(object, field, readValue(cursor, field));
}

function addValue(object: Json, field: MessageField, value: unknown): void {
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
  for (const end = cursor.end(); cursor.at < end; ) readField(cursor, object, field);
}

function isPacked({ shape, tag }: MessageField, wireType: number): boolean {
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

function mapOf(object: Json, { name }: MessageField): Json {
  const known = object[name];
  const map = isJsonObject(known) ? known : {};
  if (known === undefined) object[name] = map;
  return map;
}

function setEntry(map: Json, { entry }: MessageField, { key, value }: { key: string; value: unknown }): void {
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

/** Longest message that is read in one step. */
const plainBytes = 4096;

const noLimits: JsonLimits = { maxValues: Number.POSITIVE_INFINITY, maxMembers: Number.POSITIVE_INFINITY };

/** Reads messages of any length in slices, and leaves short ones to the functions above. */
class LongMessageReader {
  readonly #cursor: WireCursor;
  readonly #limits: JsonLimits;
  readonly #members = new Map<object, number>();
  #pausedAt = 0;
  #depth = 0;

  constructor(cursor: WireCursor, limits: JsonLimits = noLimits) {
    this.#cursor = cursor;
    this.#limits = limits;
  }

  *fields(message: Message, { end, object }: Target): SlicedWork<void> {
    const cursor = this.#cursor;
    if (++this.#depth > maxJsonDepth) throw new Error('proto: exceeded max depth');
    while (cursor.at < end) {
      if (this.#isDue()) yield;
      const start = cursor.at;
      const tag = cursor.varint();
      const field = message.byNumber[Math.floor(tag / 8)];
      const isLong = tag % 8 === 2 && cursor.varint() > plainBytes;
      cursor.at = start;
      if (field !== undefined && isLong && isPacked(field, 2)) yield* this.#packed(object, field);
      else if (field?.type === 'message' && isLong && tag === field.tag) yield* this.#field(object, field);
      else readTagged(cursor, message, object);
      if (field?.shape === 'map') this.#countMember(object[field.name]);
    }
    finishFields(cursor, message, { end, object });
    this.#depth--;
  }

  /** Reads the message that ends there. */
  *value(message: Message, end: number): SlicedWork<unknown> {
    switch (message.name) {
      case 'machinery/runtime.RawExtension':
      case 'crd/apiextensions.v1.JSON':
      case 'meta/v1.FieldsV1':
        return yield* this.#raw(end);
      case 'crd/apiextensions.v1.JSONSchemaPropsOrBool':
        return yield* this.#schemaOrBool(end, message);
      case 'crd/apiextensions.v1.JSONSchemaPropsOrArray':
      case 'crd/apiextensions.v1.JSONSchemaPropsOrStringArray':
        return yield* this.#schemaOrItems(end, message);
    }
    const form = forms.get(message.name);
    if (form !== undefined) return form(this.#cursor, end, message);
    const object: Json = {};
    yield* this.fields(message, { end, object });
    return message.isList ? (object.items ?? []) : object;
  }

  #isDue(): boolean {
    const { at, fields } = this.#cursor;
    if (fields > this.#limits.maxValues) throw new JsonLimitError(`more than ${this.#limits.maxValues} values`);
    if (at - this.#pausedAt < plainBytes) return false;
    this.#pausedAt = at;
    return true;
  }

  #countMember(map: unknown): void {
    const count = (this.#members.get(map as object) ?? 0) + 1;
    if (count > this.#limits.maxMembers)
      throw new JsonLimitError(`an object with more than ${this.#limits.maxMembers} members`);
    this.#members.set(map as object, count);
    rememberSize(map as object, count);
  }

  *#field(object: Json, field: MessageField): SlicedWork<void> {
    const cursor = this.#cursor;
    cursor.fields++;
    cursor.varint();
    const end = cursor.end();
    if (field.shape === 'map') return yield* this.#mapEntry(object, field, end);
    if (field.isInline) return yield* this.fields(field.inner, { end, object });
    addValue(object, field, yield* this.value(field.inner, end));
  }

  *#packed(object: Json, field: MessageField): SlicedWork<void> {
    const cursor = this.#cursor;
    cursor.varint();
    for (const end = cursor.end(); cursor.at < end; cursor.fields++) {
      if (this.#isDue()) yield;
      readField(cursor, object, field);
    }
  }

  *#mapEntry(object: Json, field: MessageField, end: number): SlicedWork<void> {
    const cursor = this.#cursor;
    const { entry } = field;
    let key = '';
    let value: unknown;
    while (cursor.at < end) {
      const tag = cursor.varint();
      if (tag === 0x0a) key = cursor.text(cursor.end());
      else if (entry?.tag !== tag) cursor.skip(tag % 8);
      else if (entry.type === 'message') value = yield* this.value(entry.inner, cursor.end());
      else value = readValue(cursor, entry);
    }
    setEntry(mapOf(object, field), field, { key, value });
  }

  *#raw(end: number): SlicedWork<unknown> {
    const raw = textField(this.#cursor, end);
    return raw === '' ? null : yield* parseJsonInSlices(raw, this.#limits);
  }

  /** Reads a schema in field 2, or a boolean. */
  *#schemaOrBool(end: number, { byNumber }: Message): SlicedWork<unknown> {
    const cursor = this.#cursor;
    let allows = false;
    let schema: unknown;
    while (cursor.at < end) {
      const tag = cursor.varint();
      if (tag === 0x08) allows = cursor.varint() !== 0;
      else if (tag === 0x12) schema = yield* this.#schema(byNumber[2]);
      else cursor.skip(tag % 8);
    }
    return schema ?? allows;
  }

  /** Reads one schema in field 1, or several items in field 2. */
  *#schemaOrItems(end: number, { byNumber }: Message): SlicedWork<unknown> {
    const cursor = this.#cursor;
    const [, first, second] = byNumber;
    const items: unknown[] = [];
    let schema: unknown;
    for (; cursor.at < end; cursor.fields++) {
      if (this.#isDue()) yield;
      const tag = cursor.varint();
      if (tag === 0x0a) schema = yield* this.#schema(first);
      else if (tag === 0x12)
        items.push(second?.type === 'string' ? cursor.text(cursor.end()) : yield* this.#schema(second));
      else cursor.skip(tag % 8);
    }
    return schema ?? items;
  }

  *#schema(field: MessageField | undefined): SlicedWork<unknown> {
    const end = this.#cursor.end();
    return field === undefined ? undefined : yield* this.value(field.inner, end);
  }
}

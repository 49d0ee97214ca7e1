// Encodes objects from their JSON form to protobuf messages, as kube-apiserver does: fields in rising order, scalars
// that are not pointers even when zero, maps sorted by key. protobuf-decoder.ts does the inverse.

import { ExactNumber, parseTime } from '@kapstan/api';
import { isJsonObject } from '@kapstan/api/internal';
import type { Message, MessageField } from '../schema/node/message.ts';
import { sortedKeys } from '../schema/sorted-value.ts';
import { stringifyEscaped } from './go-json.ts';
import { MessageBuffer } from './message-buffer.ts';

/**
 * Shared by all messages, because encoding is synchronous. It is cleared first, since a failed encoding may have left
 * bytes.
 */
const shared = new MessageBuffer();

/** Returns the bytes of one message. Throws TypeError for values that do not fit it. */
export function encodeMessage(message: Message, value: unknown): Uint8Array {
  shared.clear();
  writeMessage(shared, message, value);
  return shared.take();
}

/** The bytes before the length of a message and after the message. */
export interface MessageFrame {
  readonly head: Uint8Array;
  readonly tail: Uint8Array;
}

/** Returns a message after its length, in its frame. Throws TypeError for values that do not fit it. */
export function encodeFramed(message: Message, value: unknown, { head, tail }: MessageFrame): Uint8Array {
  shared.clear();
  shared.raw(tail);
  const end = shared.size;
  writeMessage(shared, message, value);
  shared.varint(shared.size - end);
  shared.raw(head);
  return shared.take();
}

type FormWriter = (buffer: MessageBuffer, value: unknown, message: Message) => void;

/**
 * Messages whose JSON is not an object of their fields. These functions write backwards, last byte first, as the whole
 * encoder does. Source: the facts' jsonForms.
 */
const forms: ReadonlyMap<string, FormWriter> = new Map<string, FormWriter>([
  ['machinery/api.resource.Quantity', (buffer, value) => writeText(buffer, 0x0a, value ?? '0')],
  ['machinery/util.intstr.IntOrString', writeIntOrString],
  ['machinery/runtime.RawExtension', writeRaw],
  ['crd/apiextensions.v1.JSON', writeRaw],
  ['meta/v1.FieldsV1', writeRaw],
  ['meta/v1.Time', writeTime],
  ['meta/v1.MicroTime', writeTime],
  ['crd/apiextensions.v1.JSONSchemaPropsOrArray', writeSchemaOrArray],
  ['crd/apiextensions.v1.JSONSchemaPropsOrBool', writeSchemaOrBool],
  ['crd/apiextensions.v1.JSONSchemaPropsOrStringArray', writeSchemaOrTexts],
]);

function writeMessage(buffer: MessageBuffer, message: Message, value: unknown): void {
  const form = forms.get(message.name);
  if (form !== undefined) return form(buffer, value, message);
  writeFields(buffer, message, value);
}

function writeFields(buffer: MessageBuffer, message: Message, value: unknown): void {
  const { fields } = message;
  if (Array.isArray(value)) {
    const [items] = fields;
    if (!message.isList || items === undefined) throw new TypeError(`a list does not fit ${message.name}`);
    return writeRepeated(buffer, items, value);
  }
  const object = isJsonObject(value) ? value : noMembers;
  const { places } = message;
  // Most fields of a struct are not set, so this code first looks at the existing members, then makes one pass in wire
  // order.
  const values: unknown[] = new Array(fields.length);
  for (const name of Object.keys(object)) {
    const place = places.get(name);
    if (place !== undefined) values[place] = object[name];
  }
  for (let i = fields.length - 1; i >= 0; i--) {
    const field = fields[i] as MessageField;
    writeField(buffer, field, field.isInline && values[i] !== undefined ? object : values[i]);
  }
}

const noMembers: Record<string, unknown> = {};

function writeField(buffer: MessageBuffer, field: MessageField, value: unknown): void {
  if (value === undefined || value === null) {
    if (field.shape === 'single' && !field.isOptional) buffer.raw(zeroOf(field));
    return;
  }
  if (field.shape === 'single') return writeSingle(buffer, field, value);
  if (field.shape === 'repeated') {
    if (Array.isArray(value)) writeRepeated(buffer, field, value);
  } else if (isJsonObject(value)) writeMap(buffer, field, value);
}

const zeros = new WeakMap<MessageField, Uint8Array>();

/** Returns an unset value that is written nevertheless. It is kept, because each object has many. */
function zeroOf(field: MessageField): Uint8Array {
  let zero = zeros.get(field);
  if (zero === undefined) {
    const buffer = new MessageBuffer();
    writeSingle(buffer, field, undefined);
    zero = buffer.take();
    zeros.set(field, zero);
  }
  return zero;
}

function writeRepeated(buffer: MessageBuffer, field: MessageField, items: readonly unknown[]): void {
  for (let i = items.length - 1; i >= 0; i--) writeSingle(buffer, field, items[i]);
}

function writeMap(buffer: MessageBuffer, field: MessageField, value: Record<string, unknown>): void {
  const { entry } = field;
  if (entry === undefined) return;
  const keys = sortedKeys(value);
  for (let i = keys.length - 1; i >= 0; i--) {
    const key = keys[i] as string;
    const end = buffer.size;
    // Only own keys are read, so `__proto__` needs no special case.
    const item = value[key];
    if (item !== null || entry.type !== 'bytes') writeSingle(buffer, entry, item);
    writeText(buffer, 0x0a, key);
    buffer.varint(buffer.size - end);
    buffer.varint(field.tag);
  }
}

function writeSingle(buffer: MessageBuffer, field: MessageField, value: unknown): void {
  switch (field.type) {
    case 'string':
      return writeText(buffer, field.tag, value);
    case 'message':
      return writeInner(buffer, field, value);
    case 'bool':
      buffer.varint(value === true ? 1 : 0);
      break;
    case 'bytes':
      return writeBytes(buffer, field.tag, Buffer.from(textOf(value), 'base64'));
    case 'double':
      buffer.double(Number(value ?? 0));
      break;
    case 'int32':
    case 'int64':
      buffer.varint(integerOf(value));
  }
  buffer.varint(field.tag);
}

function writeInner(buffer: MessageBuffer, field: MessageField, value: unknown): void {
  const end = buffer.size;
  const form = forms.get(field.message);
  if (form === undefined) writeFields(buffer, field.inner, value);
  else form(buffer, value, field.inner);
  buffer.varint(buffer.size - end);
  buffer.varint(field.tag);
}

function writeText(buffer: MessageBuffer, tag: number, value: unknown): void {
  const end = buffer.size;
  buffer.text(typeof value === 'string' ? value : textOf(value));
  buffer.varint(buffer.size - end);
  buffer.varint(tag);
}

function writeBytes(buffer: MessageBuffer, tag: number, bytes: Uint8Array): void {
  buffer.raw(bytes);
  buffer.varint(bytes.length);
  buffer.varint(tag);
}

function integerOf(value: unknown): number | bigint {
  if (Number.isSafeInteger(value)) return value as number;
  // The printed digits are the digits that were read, so they are used; the double may hold another integer.
  if (typeof value === 'number' && Number.isInteger(value)) return BigInt(String(value));
  if (value instanceof ExactNumber) return BigInt(value.text);
  if (value === undefined || value === null) return 0;
  throw new TypeError(`not an integer: ${String(value)}`);
}

function textOf(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object' && !(value instanceof ExactNumber)) throw new TypeError('not a text');
  return String(value);
}

function writeIntOrString(buffer: MessageBuffer, value: unknown): void {
  const isText = typeof value === 'string';
  writeText(buffer, 0x1a, isText ? value : '');
  buffer.varint(isText ? 0 : integerOf(value));
  buffer.varint(0x10);
  buffer.varint(isText ? 1 : 0);
  buffer.varint(0x08);
}

/** Writes any JSON as JSON. */
function writeRaw(buffer: MessageBuffer, value: unknown): void {
  if (value !== undefined && value !== null) writeText(buffer, 0x0a, stringifyEscaped(value));
}

/** Writes nothing for a time that is not set. */
function writeTime(buffer: MessageBuffer, value: unknown): void {
  if (typeof value !== 'string') return;
  const seconds = Math.floor(parseTime(value) / 1000);
  if (Number.isNaN(seconds)) throw new TypeError(`not a time: ${value}`);
  const fraction = value.length === 20 ? '' : (/\.(\d{1,9})/.exec(value)?.[1] ?? '');
  buffer.varint(Number(fraction.padEnd(9, '0')));
  buffer.varint(0x10);
  buffer.varint(seconds);
  buffer.varint(0x08);
}

/** Writes a schema in its field of a message that holds either a schema or another value. */
function writeSchema(buffer: MessageBuffer, field: MessageField | undefined, value: unknown): void {
  if (field === undefined) return;
  const end = buffer.size;
  writeFields(buffer, field.inner, value);
  buffer.varint(buffer.size - end);
  buffer.varint(field.tag);
}

function writeSchemaOrArray(buffer: MessageBuffer, value: unknown, { byNumber }: Message): void {
  if (!Array.isArray(value)) return writeSchema(buffer, byNumber[1], value);
  for (let i = value.length - 1; i >= 0; i--) writeSchema(buffer, byNumber[2], value[i]);
}

function writeSchemaOrBool(buffer: MessageBuffer, value: unknown, { byNumber }: Message): void {
  const isObject = isJsonObject(value);
  if (isObject) writeSchema(buffer, byNumber[2], value);
  buffer.varint(isObject || value === true ? 1 : 0);
  buffer.varint(0x08);
}

function writeSchemaOrTexts(buffer: MessageBuffer, value: unknown, { byNumber }: Message): void {
  if (!Array.isArray(value)) return writeSchema(buffer, byNumber[1], value);
  for (let i = value.length - 1; i >= 0; i--) writeText(buffer, 0x12, value[i]);
}

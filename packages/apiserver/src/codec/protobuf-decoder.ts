// Protobuf messages to the JSON form of objects: what Go's encoder would write of the object that it decodes.
// Beside protobuf-encoder.ts.
import { ExactNumber, formatTime, isJsonObject, parseJson, setOwn } from '@kapstan/api';
import { type Message, type MessageField, messageNamed } from './protobuf-messages.ts';
import { readFields, readPacked, type WireField } from './protobuf-wire.ts';

type Json = Record<string, unknown>;
type FormReader = (bytes: Uint8Array) => unknown;

/** The JSON value of a message. Throws Error for bytes that are none. */
export function decodeMessage(message: Message, bytes: Uint8Array): unknown {
  const form = forms.get(message.name);
  if (form !== undefined) return form(bytes);
  const object: Json = {};
  const lists = new Map<MessageField, unknown[]>();
  for (const wire of readFields(bytes)) {
    const field = message.byNumber.get(wire.field);
    if (field !== undefined) readField(object, field, { wire, lists });
  }
  for (const [field, items] of lists) setOwn(object, field.name, items);
  return itemsOnly.has(message.name) ? (object.items ?? []) : object;
}

const texts = new TextDecoder('utf-8', { fatal: true });

const itemsOnly: ReadonlySet<string> = new Set([
  'meta/v1.Verbs',
  'authentication.v1.ExtraValue',
  'authorization.v1.ExtraValue',
  'certificates.v1.ExtraValue',
]);

const forms: ReadonlyMap<string, FormReader> = new Map<string, FormReader>([
  ['machinery/api.resource.Quantity', (bytes) => textOf(fieldsOf(bytes).get(1))],
  ['machinery/util.intstr.IntOrString', readIntOrString],
  ['machinery/runtime.RawExtension', readRaw],
  ['crd/apiextensions.v1.JSON', readRaw],
  ['meta/v1.FieldsV1', readRaw],
  ['meta/v1.Time', (bytes) => readTime(bytes)?.whole ?? null],
  ['meta/v1.MicroTime', (bytes) => readTime(bytes)?.precise ?? null],
  ['crd/apiextensions.v1.JSONSchemaPropsOrArray', (bytes) => readSchemaOr(bytes, (wire) => readSchema(wire))],
  ['crd/apiextensions.v1.JSONSchemaPropsOrBool', readSchemaOrBool],
  ['crd/apiextensions.v1.JSONSchemaPropsOrStringArray', (bytes) => readSchemaOr(bytes, (wire) => textOf(wire))],
]);

interface FieldReading {
  readonly wire: WireField;
  readonly lists: Map<MessageField, unknown[]>;
}

function readField(object: Json, field: MessageField, { wire, lists }: FieldReading): void {
  switch (field.shape) {
    case 'map':
      return readMapEntry(object, field, wire);
    case 'repeated': {
      const items = lists.get(field) ?? [];
      lists.set(field, items);
      const isPacked = wire.type === 2 && isVarint(field);
      if (isPacked) items.push(...readPacked(wire.bytes).map((value) => varintOf(field, value)));
      else items.push(readValue(field, wire));
      return;
    }
    case 'single':
      setMember(object, field, readValue(field, wire));
  }
}

function setMember(object: Json, field: MessageField, value: unknown): void {
  if (field.isInline && isJsonObject(value)) {
    for (const [name, member] of Object.entries(value)) setOwn(object, name, member);
    return;
  }
  const isOmitted = value === null || (field.omitsZero && !field.isOptional && isZero(value));
  if (!isOmitted) setOwn(object, field.name, value);
}

function readMapEntry(object: Json, field: MessageField, wire: WireField): void {
  const map = isJsonObject(object[field.name]) ? (object[field.name] as Json) : {};
  setOwn(object, field.name, map);
  const entry = fieldsOf(wire.bytes);
  const value = entry.get(2);
  const empty: WireField = {
    field: 2,
    type: field.isScalar && isVarint(field) ? 0 : 2,
    value: 0n,
    bytes: new Uint8Array(),
  };
  setOwn(map, textOf(entry.get(1)), readValue(field, value ?? empty));
}

function readValue(field: MessageField, wire: WireField): unknown {
  if (!field.isScalar) return decodeMessage(messageNamed(field.type), wire.bytes);
  switch (field.type) {
    case 'string':
      return textOf(wire);
    case 'bytes':
      return Buffer.from(wire.bytes).toString('base64');
    case 'double':
      return new DataView(new BigUint64Array([wire.value]).buffer).getFloat64(0, true);
    default:
      return varintOf(field, wire.value);
  }
}

function isVarint(field: MessageField): boolean {
  return field.type === 'bool' || field.type === 'int32' || field.type === 'int64';
}

function varintOf(field: MessageField, value: bigint): unknown {
  if (field.type === 'bool') return value !== 0n;
  const signed = BigInt.asIntN(field.type === 'int32' ? 32 : 64, value);
  const number = Number(signed);
  return Number.isSafeInteger(number) ? number : new ExactNumber(signed.toString());
}

/** Go's omitempty: structs are never empty. */
function isZero(value: unknown): boolean {
  return value === '' || value === 0 || value === false || value === null;
}

/** The last of each number, as protobuf has it. */
function fieldsOf(bytes: Uint8Array): ReadonlyMap<number, WireField> {
  return new Map([...readFields(bytes)].map((wire) => [wire.field, wire]));
}

function textOf(wire: WireField | undefined): string {
  return wire === undefined ? '' : texts.decode(wire.bytes);
}

function readIntOrString(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  if (fields.get(1)?.value === 1n) return textOf(fields.get(3));
  return Number(BigInt.asIntN(32, fields.get(2)?.value ?? 0n));
}

function readRaw(bytes: Uint8Array): unknown {
  const raw = textOf(fieldsOf(bytes).get(1));
  return raw === '' ? null : parseJson(raw);
}

/** Nothing for a time that is not set. */
function readTime(bytes: Uint8Array): { readonly whole: string; readonly precise: string } | undefined {
  const fields = fieldsOf(bytes);
  const seconds = fields.get(1);
  if (seconds === undefined) return undefined;
  const whole = formatTime(Number(BigInt.asIntN(64, seconds.value)) * 1000);
  const micros = (fields.get(2)?.value ?? 0n) / 1000n;
  return { whole, precise: `${whole.slice(0, -1)}.${micros.toString().padStart(6, '0')}Z` };
}

const schemaMessage = 'crd/apiextensions.v1.JSONSchemaProps';

function readSchema(wire: WireField): unknown {
  return decodeMessage(messageNamed(schemaMessage), wire.bytes);
}

function readSchemaOr(bytes: Uint8Array, item: (wire: WireField) => unknown): unknown {
  const items: unknown[] = [];
  for (const wire of readFields(bytes)) {
    if (wire.field === 1) return readSchema(wire);
    items.push(item(wire));
  }
  return items;
}

function readSchemaOrBool(bytes: Uint8Array): unknown {
  const fields = fieldsOf(bytes);
  const schema = fields.get(2);
  return schema === undefined ? fields.get(1)?.value === 1n : readSchema(schema);
}

// Objects in their JSON form to protobuf messages, as kube-apiserver writes them: fields in rising order, scalars that
// are no pointers also when zero, maps sorted by key. Beside protobuf-decoder.ts.
import { ExactNumber, getOwn, isJsonObject, parseTime, stringifyJson } from '@kapstan/api';
import { type Message, type MessageField, messageNamed } from './protobuf-messages.ts';
import { ProtobufWriter } from './protobuf-wire.ts';

/** The bytes of one message. Throws TypeError for values that do not fit it. */
export function encodeMessage(message: Message, value: unknown): Uint8Array {
  const writer = new ProtobufWriter();
  writeMessage(writer, message, value);
  return writer.finish();
}

type FormWriter = (writer: ProtobufWriter, value: unknown, message: Message) => void;

/** Messages whose JSON is not the object of their fields. Source: the facts' jsonForms. */
const forms: ReadonlyMap<string, FormWriter> = new Map<string, FormWriter>([
  ['machinery/api.resource.Quantity', (writer, value) => writer.text(1, scalarText(value))],
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

function writeMessage(writer: ProtobufWriter, message: Message, value: unknown): void {
  const form = forms.get(message.name);
  if (form !== undefined) return form(writer, value, message);
  if (Array.isArray(value)) return writeItems(writer, message, value);
  const object = isJsonObject(value) ? value : {};
  for (const field of message.fields) writeField(writer, field, field.isInline ? object : getOwn(object, field.name));
}

/** Lists under a name of their own: meta/v1 Verbs, ExtraValue. */
function writeItems(writer: ProtobufWriter, message: Message, items: readonly unknown[]): void {
  const [field] = message.fields;
  if (field?.name !== 'items') throw new TypeError(`a list does not fit ${message.name}`);
  writeField(writer, field, items);
}

function writeField(writer: ProtobufWriter, field: MessageField, value: unknown): void {
  switch (field.shape) {
    case 'repeated':
      if (Array.isArray(value)) for (const item of value) writeSingle(writer, field, item);
      return;
    case 'map':
      if (isJsonObject(value)) writeMap(writer, field, value);
      return;
    case 'single':
      if (field.isOptional && (value === undefined || value === null)) return;
      writeSingle(writer, field, value);
  }
}

function writeMap(writer: ProtobufWriter, field: MessageField, value: Record<string, unknown>): void {
  for (const key of Object.keys(value).sort()) {
    writer.message(field.number, () => {
      writer.text(1, key);
      writeSingle(writer, { ...field, number: 2 }, getOwn(value, key));
    });
  }
}

function writeSingle(writer: ProtobufWriter, field: MessageField, value: unknown): void {
  if (!field.isScalar) {
    writer.message(field.number, () => writeMessage(writer, messageNamed(field.type), value));
    return;
  }
  switch (field.type) {
    case 'string':
      return writer.text(field.number, scalarText(value));
    case 'bytes':
      return writer.bytes(field.number, Buffer.from(scalarText(value), 'base64'));
    case 'double':
      return writer.double(field.number, Number(value ?? 0));
    case 'bool':
      return writeVarint(writer, field.number, value === true ? 1 : 0);
    default:
      return writeVarint(writer, field.number, integerOf(value));
  }
}

function writeVarint(writer: ProtobufWriter, field: number, value: number | bigint): void {
  writer.tag(field, 0);
  writer.varint(value);
}

function integerOf(value: unknown): number | bigint {
  if (value instanceof ExactNumber) return BigInt(value.text);
  if (value === undefined || value === null) return 0;
  if (typeof value === 'number' && Number.isInteger(value)) return value;
  throw new TypeError(`not an integer: ${String(value)}`);
}

function scalarText(value: unknown): string {
  if (value === undefined || value === null) return '';
  if (typeof value === 'object' && !(value instanceof ExactNumber)) throw new TypeError('not a text');
  return String(value);
}

function writeIntOrString(writer: ProtobufWriter, value: unknown): void {
  const isText = typeof value === 'string';
  writeVarint(writer, 1, isText ? 1 : 0);
  writeVarint(writer, 2, isText ? 0 : integerOf(value));
  writer.text(3, isText ? value : '');
}

/** Any JSON, kept as JSON. */
function writeRaw(writer: ProtobufWriter, value: unknown): void {
  if (value !== undefined && value !== null) writer.bytes(1, Buffer.from(stringifyJson(value)));
}

/** Nothing for a time that is not set. */
function writeTime(writer: ProtobufWriter, value: unknown): void {
  if (typeof value !== 'string') return;
  const ms = parseTime(value);
  if (Number.isNaN(ms)) throw new TypeError(`not a time: ${value}`);
  const fraction = /\.(\d{1,9})/.exec(value)?.[1] ?? '';
  writeVarint(writer, 1, Math.floor(ms / 1000));
  writeVarint(writer, 2, Number(fraction.padEnd(9, '0')));
}

const schemaMessage = 'crd/apiextensions.v1.JSONSchemaProps';

function writeSchema(writer: ProtobufWriter, field: number, value: unknown): void {
  writer.message(field, () => writeMessage(writer, messageNamed(schemaMessage), value));
}

function writeSchemaOrArray(writer: ProtobufWriter, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) writeSchema(writer, 2, item);
  else writeSchema(writer, 1, value);
}

function writeSchemaOrBool(writer: ProtobufWriter, value: unknown): void {
  const isObject = isJsonObject(value);
  writeVarint(writer, 1, isObject || value === true ? 1 : 0);
  if (isObject) writeSchema(writer, 2, value);
}

function writeSchemaOrTexts(writer: ProtobufWriter, value: unknown): void {
  if (Array.isArray(value)) for (const item of value) writer.text(2, String(item));
  else writeSchema(writer, 1, value);
}

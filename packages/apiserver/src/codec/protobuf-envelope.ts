// The envelope of Kubernetes objects in protobuf: four magic bytes, then runtime.Unknown with the kind and the message.
import {
  formatApiVersion,
  type GroupVersionKind,
  JsonLimitError,
  type JsonLimits,
  noJsonLimits,
  parseApiVersion,
  type SlicedWork,
} from '@kapstan/api/internal';
import type { Message } from '../schema/node/message.ts';
import type { ApiTypes } from '../schema/node/schema-node.ts';
import { decodeIntoInSlices } from './long-message-reader.ts';
import { decodeInto } from './protobuf-decoder.ts';
import { encodeFramed, type MessageFrame } from './protobuf-encoder.ts';
import { ProtobufWriter, varintSize } from './protobuf-wire.ts';
import { WireCursor } from './wire-cursor.ts';

export const protobufMediaType = 'application/vnd.kubernetes.protobuf';

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);

/** Returns everything before and after `rawSize` bytes of a message, so that large ones need not be copied. */
export function envelopeAround(kind: GroupVersionKind, rawSize: number): MessageFrame {
  const { head, tail } = envelopeOf(kind);
  const size = new ProtobufWriter();
  size.varint(rawSize);
  return { head: Buffer.concat([head, size.finish()]), tail };
}

/** Returns an encoder for objects of a kind in their envelope. Throws TypeError for a kind without a protobuf form. */
export function envelopeEncoder(types: ApiTypes, kind: GroupVersionKind): (object: unknown) => Uint8Array {
  const message = types.messageOfKind(kind);
  if (message === undefined) throw new TypeError(`${formatApiVersion(kind)} ${kind.kind} has no protobuf form`);
  const frame = envelopeOf(kind);
  return (object) => encodeFramed(message, object, frame);
}

/** Returns an envelope up to the length of its message, and the bytes that follow the message. */
function envelopeOf(kind: GroupVersionKind): MessageFrame {
  const type = new ProtobufWriter();
  type.message(1, () => {
    type.text(1, formatApiVersion(kind));
    type.text(2, kind.kind);
  });
  type.tag(2, 2);
  const tail = new ProtobufWriter();
  tail.text(3, '');
  tail.text(4, '');
  return { head: Buffer.concat([magic, type.finish()]), tail: tail.finish() };
}

export function wrapMessage(kind: GroupVersionKind, raw: Uint8Array): Uint8Array {
  const { head, tail } = envelopeAround(kind, raw.length);
  return Buffer.concat([head, raw, tail]);
}

export function hasEnvelope(bytes: Uint8Array): boolean {
  return magic.equals(bytes.subarray(0, magic.length));
}

/** Returns one event of a watch: its length, then WatchEvent around an object in its envelope. */
export function watchFrame(type: string, enveloped: Uint8Array): Uint8Array {
  const event = new ProtobufWriter();
  event.text(1, type);
  const rawSize = 1 + varintSize(enveloped.length) + enveloped.length;
  event.tag(2, 2);
  event.varint(rawSize);
  event.bytes(1, enveloped);
  const bytes = event.finish();
  const length = Buffer.allocUnsafe(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** Parts that an envelope may contain. */
export interface EnvelopeContent {
  readonly types: ApiTypes;
  /** The kind of an envelope that does not name one. */
  readonly expected: GroupVersionKind;
}

/** Returns the object in an envelope in its JSON form. Throws Error with Go's texts for malformed bytes. */
export function readEnvelope(bytes: Uint8Array, content: EnvelopeContent): Record<string, unknown> {
  const { object, message, raw } = openEnvelope(bytes, content);
  // Whoever looks at the kind next refuses one without a message.
  if (message !== undefined) decodeInto(object, message, raw);
  return object;
}

/** Does what {@link readEnvelope} does, in slices. Throws JsonLimitError for an object beyond the limits. Default: no limits. */
export function* readEnvelopeInSlices(
  bytes: Uint8Array,
  content: EnvelopeContent,
  limits: JsonLimits = noJsonLimits,
): SlicedWork<Record<string, unknown>> {
  const { object, message, raw } = openEnvelope(bytes, content);
  if (message !== undefined) yield* decodeIntoInSlices(object, message, { bytes: raw, limits });
  return object;
}

interface OpenedEnvelope {
  /** Has only the kind and apiVersion. */
  readonly object: Record<string, unknown>;
  readonly message: Message | undefined;
  readonly raw: Uint8Array;
}

function openEnvelope(bytes: Uint8Array, { types, expected }: EnvelopeContent): OpenedEnvelope {
  if (bytes.length === 0) throw new Error('empty data');
  if (!hasEnvelope(bytes)) {
    throw new Error('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const { apiVersion, kind, raw } = readUnknown(bytes.subarray(magic.length));
  const version =
    apiVersion === '' ? { group: expected.group, version: expected.version } : parseApiVersion(apiVersion);
  const actual = { ...version, kind: kind === '' ? expected.kind : kind };
  const object = { kind: actual.kind, apiVersion: formatApiVersion(actual) };
  return { object, message: types.messageOfKind(actual), raw };
}

function readUnknown(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const unknown = { apiVersion: '', kind: '', raw: bytes.subarray(0, 0) };
  const cursor = new WireCursor(bytes);
  while (cursor.at < bytes.length) {
    const tag = cursor.tag();
    requireFewFields(cursor);
    if (tag === typeTag) readTypeMeta(cursor, unknown);
    else if (tag === rawTag) {
      const end = cursor.end();
      unknown.raw = bytes.subarray(cursor.at, end);
      cursor.at = end;
    } else cursor.skip(tag % 8);
  }
  return unknown;
}

/** Maximum number of fields of an envelope. Encoders write four. */
const maxEnvelopeFields = 10_000;

function requireFewFields({ fields }: WireCursor): void {
  if (fields > maxEnvelopeFields) throw new JsonLimitError(`an envelope with more than ${maxEnvelopeFields} fields`);
}

const typeTag = 0x0a;
const rawTag = 0x12;

function readTypeMeta(cursor: WireCursor, type: { apiVersion: string; kind: string }): void {
  for (const end = cursor.end(); cursor.at < end; ) {
    const tag = cursor.tag();
    requireFewFields(cursor);
    if (tag === 0x0a) type.apiVersion = cursor.text(cursor.end());
    else if (tag === 0x12) type.kind = cursor.text(cursor.end());
    else cursor.skip(tag % 8);
  }
}

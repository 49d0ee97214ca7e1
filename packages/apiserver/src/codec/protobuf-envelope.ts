// The envelope of Kubernetes objects in protobuf: four magic bytes, then runtime.Unknown with the kind and the message.
import { formatApiVersion, type GroupVersionKind, parseApiVersion, setOwn } from '@kapstan/api';
import { decodeMessage } from './protobuf-decoder.ts';
import { messageOfKind } from './protobuf-messages.ts';
import { ProtobufWriter, readFields, varintSize } from './protobuf-wire.ts';

export const protobufMediaType = 'application/vnd.kubernetes.protobuf';

const magic = Buffer.from([0x6b, 0x38, 0x73, 0x00]);
const texts = new TextDecoder();

/** Everything before and after `rawSize` bytes of a message, so that large ones need not be copied. */
export function envelopeAround(
  kind: GroupVersionKind,
  rawSize: number,
): { readonly head: Uint8Array; readonly tail: Uint8Array } {
  const type = new ProtobufWriter();
  type.message(1, () => {
    type.text(1, formatApiVersion(kind));
    type.text(2, kind.kind);
  });
  type.tag(2, 2);
  type.varint(rawSize);
  const tail = new ProtobufWriter();
  tail.text(3, '');
  tail.text(4, '');
  return { head: Buffer.concat([magic, type.finish()]), tail: tail.finish() };
}

export function wrapMessage(kind: GroupVersionKind, raw: Uint8Array): Uint8Array {
  const { head, tail } = envelopeAround(kind, raw.length);
  return Buffer.concat([head, raw, tail]);
}

/** One event of a watch: its length, then WatchEvent around an object in its envelope. */
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

/** The object in an envelope, in its JSON form. Throws Error with Go's texts for what is none. */
export function readEnvelope(bytes: Uint8Array, expected: GroupVersionKind): Record<string, unknown> {
  if (bytes.length === 0) throw new Error('empty data');
  if (!magic.equals(bytes.subarray(0, magic.length))) {
    throw new Error('provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]');
  }
  const { apiVersion, kind, raw } = readUnknown(bytes.subarray(magic.length));
  const version =
    apiVersion === '' ? { group: expected.group, version: expected.version } : parseApiVersion(apiVersion);
  const actual = { ...version, kind: kind === '' ? expected.kind : kind };
  const object: Record<string, unknown> = { kind: actual.kind, apiVersion: formatApiVersion(actual) };
  const message = messageOfKind(actual);
  // What has no message is refused by whoever looks at the kind.
  if (message === undefined) return object;
  const value = decodeMessage(message, raw) as Record<string, unknown>;
  for (const [name, member] of Object.entries(value)) setOwn(object, name, member);
  return object;
}

function readUnknown(bytes: Uint8Array): { apiVersion: string; kind: string; raw: Uint8Array } {
  const unknown = { apiVersion: '', kind: '', raw: new Uint8Array() };
  for (const { field, bytes: value } of readFields(bytes)) {
    if (field === 2) unknown.raw = value as Uint8Array<ArrayBuffer>;
    if (field !== 1) continue;
    for (const type of readFields(value)) {
      if (type.field === 1) unknown.apiVersion = texts.decode(type.bytes);
      if (type.field === 2) unknown.kind = texts.decode(type.bytes);
    }
  }
  return unknown;
}

// EncryptedObject is the protobuf message that KMS v2 stores after its prefix: the data and the sealed key that opens
// it. Source: value/encrypt/envelope/kmsv2/v2 api.proto and ValidateEncryptedObject.
import { createHash } from 'node:crypto';
import type { SealedKey } from './key-service.ts';
import { ProtobufReader, ProtobufWriter } from './protobuf.ts';

/** Kind of the opened key: an AES-GCM key, or a seed from which keys are derived. */
export const dekSource = { aesGcmKey: 0, hkdfSeed: 1 } as const;

export interface EncryptedObject extends SealedKey {
  readonly data: Uint8Array;
  /** One of the values of {@link dekSource}. */
  readonly sourceType: number;
}

const maxAnnotationBytes = 32 * 1024;
const maxKeyIdBytes = 1024;
const maxSealedBytes = 1024;

const field = { data: 1, keyId: 2, ciphertext: 3, annotations: 4, sourceType: 5 } as const;
const entry = { key: 1, value: 2 } as const;

/** Encodes an object. Throws TypeError for an object that {@link decodeEncryptedObject} would refuse. */
export function encodeEncryptedObject(object: EncryptedObject): Uint8Array {
  validateEncryptedObject(object);
  const out = new ProtobufWriter();
  out.bytes(field.data, object.data);
  out.bytes(field.keyId, Buffer.from(object.keyId));
  out.bytes(field.ciphertext, object.ciphertext);
  for (const [name, value] of object.annotations) {
    const pair = new ProtobufWriter();
    pair.bytes(entry.key, Buffer.from(name));
    pair.bytes(entry.value, value);
    out.bytes(field.annotations, pair.finish());
  }
  if (object.sourceType !== 0) out.varint(field.sourceType, object.sourceType);
  return out.finish();
}

/** Decodes an object. Throws TypeError for malformed bytes and for parts that are missing or too large. */
export function decodeEncryptedObject(bytes: Uint8Array): EncryptedObject {
  const object = readObject(bytes);
  validateEncryptedObject(object);
  return object;
}

function readObject(bytes: Uint8Array): EncryptedObject {
  const empty = new Uint8Array();
  let [data, ciphertext]: [Uint8Array, Uint8Array] = [empty, empty];
  let [keyId, sourceType] = ['', 0];
  const annotations = new Map<string, Uint8Array>();
  for (const { number, value } of new ProtobufReader(bytes).fields()) {
    if (typeof value === 'number') {
      if (number === field.sourceType) sourceType = value;
    } else if (number === field.data) data = value;
    else if (number === field.keyId) keyId = text(value);
    else if (number === field.ciphertext) ciphertext = value;
    else if (number === field.annotations) annotations.set(...readAnnotation(value));
  }
  return { data, ciphertext, keyId, sourceType, annotations };
}

function readAnnotation(bytes: Uint8Array): [string, Uint8Array] {
  let [name, content]: [string, Uint8Array] = ['', new Uint8Array()];
  for (const { number, value } of new ProtobufReader(bytes).fields()) {
    if (typeof value === 'number') continue;
    if (number === entry.key) name = text(value);
    if (number === entry.value) content = value;
  }
  return [name, content];
}

const decoder = new TextDecoder('utf-8', { fatal: true });
function text(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

function validateEncryptedObject(object: EncryptedObject): void {
  const { sourceType, data } = object;
  if (sourceType !== dekSource.aesGcmKey && sourceType !== dekSource.hkdfSeed) {
    throw new TypeError(`unknown encryptedDEKSourceType: ${sourceType}`);
  }
  if (data.length === 0) throw new TypeError('encrypted data is empty');
  validateSealedKey(object);
}

/** Throws TypeError when the key service returned something that may not be stored. */
export function validateSealedKey({ ciphertext, keyId, annotations }: SealedKey): void {
  const sealed = sizeError('encrypted DEK source', ciphertext.length, maxSealedBytes);
  if (sealed !== undefined) throw new TypeError(`failed to validate encrypted DEK source: ${sealed}`);
  const id = keyIdError(keyId);
  if (id !== undefined) throw new TypeError(`failed to validate key id: ${id}`);
  const notes = annotationErrors(annotations);
  if (notes.length > 0) {
    throw new TypeError(`failed to validate annotations: ${notes.length === 1 ? notes[0] : `[${notes.join(', ')}]`}`);
  }
}

/** Returns the error in a key's name, or undefined if there is none. */
export function keyIdError(keyId: string): string | undefined {
  return sizeError('keyID', Buffer.byteLength(keyId), maxKeyIdBytes);
}

function sizeError(what: string, size: number, max: number): string | undefined {
  if (size === 0) return `${what} is empty`;
  return size > max ? `${what} is ${size} bytes, which exceeds the max size of ${max}` : undefined;
}

const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const labelRule =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** Source: validateAnnotations, validation.IsFullyQualifiedDomainName. */
function annotationErrors(annotations: ReadonlyMap<string, Uint8Array>): string[] {
  const errors: string[] = [];
  let total = 0;
  for (const [name, value] of annotations) {
    const shown = `annotations: Invalid value: ${JSON.stringify(name)}:`;
    total += Buffer.byteLength(name) + value.length;
    const labels = name.replace(/\.$/, '').split('.');
    if (name === '') errors.push('annotations: Required value');
    else if (labels.length < 2) errors.push(`${shown} should be a domain with at least two segments separated by dots`);
    else if (!labels.every((part) => label.test(part) && part.length <= 63)) errors.push(`${shown} ${labelRule}`);
  }
  if (total > maxAnnotationBytes) {
    errors.push(`total size of annotations is ${total}, which exceeds the max size of ${maxAnnotationBytes}`);
  }
  return errors;
}

/**
 * Returns a name under which a sealed key is cached, made from everything that the key service needs to open it.
 * Source: generateCacheKey.
 */
export function sealedKeyName(sourceType: number, { ciphertext, keyId, annotations }: SealedKey): string {
  const hash = createHash('sha256').update(`${sourceType},`);
  // The length is added first, so that two different keys never hash the same bytes.
  const add = (part: Uint8Array): unknown => hash.update(`${part.length}:`).update(part);
  add(ciphertext);
  add(Buffer.from(keyId));
  const names = [...annotations.keys()].sort();
  for (const name of names) {
    add(Buffer.from(name));
    add(annotations.get(name) ?? new Uint8Array());
  }
  return hash.digest('base64');
}

/**
 * Returns the hash that logs show instead of a key's name, which may reveal more of the key service than a log should.
 * Source: GetHashIfNotEmpty.
 */
export function keyIdHash(keyId: string): string {
  return keyId === '' ? '' : `sha256:${createHash('sha256').update(keyId).digest('hex')}`;
}

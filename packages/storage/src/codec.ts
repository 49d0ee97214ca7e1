// The codec port: objects to stored bytes and back. JSON here; apiserver brings YAML and protobuf.
import { isDeepStrictEqual } from 'node:util';
import { type KubernetesObject, parseJson, type Revision, stringifyJson } from '@kapstan/api';
import { parseJsonInSlices, type SlicedWork, stringifyInSlices } from '@kapstan/api/internal';
import { spliceResourceVersion } from './json-splice.ts';
import { isSameJson } from './same-content.ts';

export interface Codec<T extends KubernetesObject> {
  readonly mediaType: string;
  /** Bytes to store. The object carries neither resourceVersion nor selfLink. Throws TypeError when it cannot be encoded. */
  encode(object: T): Uint8Array;
  /** {@link encode} of an object of any size. Absent: it is encoded in one turn. */
  encodeInSlices?(object: T): SlicedWork<Uint8Array>;
  /** Throws when the bytes are no object of this kind. `revision` is written into the object as its resourceVersion. */
  decode(bytes: Uint8Array, revision: Revision): T;
  /** {@link decode} of bytes of any size. Absent: they are decoded in one turn. */
  decodeInSlices?(bytes: Uint8Array, revision: Revision): SlicedWork<T>;
  /** Wire JSON of what {@link decode} gives, when that is cheap to know from the bytes. */
  wireJson?(bytes: Uint8Array, revision: Revision): Uint8Array | undefined;
  /** True when two encodings differ in nothing but their form (the order of members), so that no write is needed. Default: equal bytes. */
  isSameContent?(a: Uint8Array, b: Uint8Array): boolean;
  /** {@link isSameContent} of bytes of any length. Absent: they are compared in one turn. */
  isSameContentInSlices?(a: Uint8Array, b: Uint8Array): SlicedWork<boolean>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** One line of JSON with a final newline, as kube-apiserver stores custom resources. */
export function jsonCodec<T extends KubernetesObject>(): Codec<T> {
  return {
    mediaType: 'application/json',
    encode: (object) => encoder.encode(`${stringifyJson(object)}\n`),
    encodeInSlices: function* (object) {
      return encoder.encode(`${yield* stringifyInSlices(object)}\n`);
    },
    decode: (bytes, revision) => versioned<T>(parseJson(decoder.decode(bytes)), revision),
    decodeInSlices: function* (bytes, revision) {
      return versioned<T>(yield* parseJsonInSlices(decoder.decode(bytes)), revision);
    },
    wireJson: (bytes, revision) => spliceResourceVersion(bytes, String(revision)),
    // kube-apiserver's encoders order members by name or by struct field, so a mere reordering by a client writes
    // nothing there. Equal length first: white space or a number in another form still counts as a change.
    isSameContent: (a, b) =>
      hasSameBytes(a, b) && isDeepStrictEqual(parseJson(decoder.decode(a)), parseJson(decoder.decode(b))),
    isSameContentInSlices: function* (a, b) {
      if (!hasSameBytes(a, b)) return false;
      const before = yield* parseJsonInSlices(decoder.decode(a));
      return yield* isSameJson(before, yield* parseJsonInSlices(decoder.decode(b)));
    },
  };
}

function versioned<T extends KubernetesObject>(value: unknown, revision: Revision): T {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new TypeError('the stored value is not an object');
  const object = value as T;
  object.metadata = { ...object.metadata, resourceVersion: String(revision) };
  return object;
}

/** How many more there are of each byte in one than in the other; all 0 between two calls. */
const surplus = new Int32Array(256);

/** Whether one is a reordering of the other: what nearly all real changes are not, told without parsing. */
function hasSameBytes(a: Uint8Array, b: Uint8Array): boolean {
  if (a.length !== b.length) return false;
  let start = 0;
  let end = a.length;
  while (start < end && a[start] === b[start]) start++;
  while (end > start && a[end - 1] === b[end - 1]) end--;
  for (let at = start; at < end; at++) {
    count(a[at], 1);
    count(b[at], -1);
  }
  const isReordered = surplus.every((byte) => byte === 0);
  surplus.fill(0);
  return isReordered;
}

function count(byte = 0, by: 1 | -1): void {
  surplus[byte] = (surplus[byte] ?? 0) + by;
}

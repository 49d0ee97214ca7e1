// The codec port turns objects into stored bytes and back. This file has the JSON codec; apiserver adds YAML and
// protobuf.
import { isDeepStrictEqual } from 'node:util';
import { type KubernetesObject, parseJson, type Revision, stringifyJson } from '@kapstan/api';
import { encodeJsonInSlices, parseJsonInSlices, type SlicedWork } from '@kapstan/api/internal';
import { spliceResourceVersion } from './json-splice.ts';
import { isSameJson } from './same-content.ts';

/** Turns objects into bytes and back. */
export interface Codec<T extends KubernetesObject> {
  readonly mediaType: string;
  /**
   * Returns the bytes to store. The object carries neither resourceVersion nor selfLink. Throws TypeError when it
   * cannot be encoded.
   */
  encode(object: T): Uint8Array;
  /**
   * Does what {@link encode} does, in slices, for an object of any size. Absent = large objects are encoded in one turn
   * too.
   */
  encodeInSlices?(object: T): SlicedWork<Uint8Array>;
  /** Throws unless the bytes are an object of this kind. Sets the object's resourceVersion to `revision`. */
  decode(bytes: Uint8Array, revision: Revision): T;
  /**
   * Does what {@link decode} does, in slices, for bytes of any size. Absent = large values are decoded in one turn too.
   */
  decodeInSlices?(bytes: Uint8Array, revision: Revision): SlicedWork<T>;
  /** Returns the wire JSON of the object that {@link decode} returns, when it can be made from the bytes cheaply. */
  wireJson?(bytes: Uint8Array, revision: Revision): Uint8Array | undefined;
  /**
   * Returns true when two encodings differ only in form (the order of members), so that no write is needed. Absent:
   * only equal bytes are the same.
   */
  isSameContent?(a: Uint8Array, b: Uint8Array): boolean;
  /**
   * Does what {@link isSameContent} does, in slices, for bytes of any length. Absent = long values are compared in one
   * turn too.
   */
  isSameContentInSlices?(a: Uint8Array, b: Uint8Array): SlicedWork<boolean>;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** Returns a codec that writes one line of JSON with a final newline, as kube-apiserver stores custom resources. */
export function jsonCodec<T extends KubernetesObject>(): Codec<T> {
  return {
    mediaType: 'application/json',
    encode: (object) => encoder.encode(`${stringifyJson(object)}\n`),
    encodeInSlices: (object) => encodeJsonInSlices(object, { after: '\n' }),
    decode: (bytes, revision) => versioned<T>(parseJson(decoder.decode(bytes)), revision),
    decodeInSlices: function* (bytes, revision) {
      return versioned<T>(yield* parseJsonInSlices(decoder.decode(bytes)), revision);
    },
    wireJson: (bytes, revision) => spliceResourceVersion(bytes, String(revision)),
    // kube-apiserver's encoders order members by name or by struct field, so reordering them alone writes nothing
    // there. Other white space, or a number written in another form, still counts as a change: the lengths must be
    // equal.
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

/**
 * Counts, for each byte value, how many more occurrences one side has than the other. All counts are 0 between two
 * calls.
 */
const surplus = new Int32Array(256);

/**
 * Returns whether one value reorders the bytes of the other. Almost no real change does, so this settles most without
 * parsing.
 */
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

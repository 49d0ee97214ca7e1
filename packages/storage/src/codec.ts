// The codec port: objects to stored bytes and back. JSON here; apiserver brings YAML and protobuf.
import { type KubernetesObject, parseJson, type Revision, stringifyJson } from '@kapstan/api';

export interface Codec<T extends KubernetesObject> {
  readonly mediaType: string;
  /** Bytes to store. The object carries neither resourceVersion nor selfLink. Throws TypeError when it cannot be encoded. */
  encode(object: T): Uint8Array;
  /** Throws when the bytes are no object of this kind. `revision` is written into the object as its resourceVersion. */
  decode(bytes: Uint8Array, revision: Revision): T;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder('utf-8', { fatal: true });

/** One line of JSON with a final newline, as kube-apiserver stores custom resources. */
export function jsonCodec<T extends KubernetesObject>(): Codec<T> {
  return {
    mediaType: 'application/json',
    encode: (object) => encoder.encode(`${stringifyJson(object)}\n`),
    decode: (bytes, revision) => {
      const value = parseJson(decoder.decode(bytes));
      if (typeof value !== 'object' || value === null || Array.isArray(value))
        throw new TypeError('the stored value is not an object');
      const object = value as T;
      object.metadata = { ...object.metadata, resourceVersion: String(revision) };
      return object;
    },
  };
}

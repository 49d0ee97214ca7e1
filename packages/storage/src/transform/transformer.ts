// The transformer port: changes bytes on their way into and out of the engine, for encryption at rest. Source:
// apiserver storage/value/transformer.go. Calls are synchronous, so that a watch decodes in order without a queue;
// whatever a key service must provide is fetched before.

/** A value that was read, and whether it should be written again. */
export interface Transformed {
  readonly bytes: Uint8Array;
  /**
   * True for a value written with an old key or by another provider. The next update rewrites it even if nothing
   * changed.
   */
  readonly isStale: boolean;
}

/** Changes bytes on the way to the store and back, such as by encryption. */
export interface Transformer {
  /** Throws when this transformer did not write the bytes. `context` is the full key: authenticated, not stored. */
  fromStorage(bytes: Uint8Array, context: string): Transformed;
  toStorage(bytes: Uint8Array, context: string): Uint8Array;
  /**
   * Fetches data that {@link fromStorage} needs from elsewhere for these bytes; await it in the turn before. Undefined
   * = nothing is needed. Never rejects, because `fromStorage` reports failed fetches. Absent = nothing is ever needed.
   */
  prepare?(bytes: Uint8Array): Promise<void> | undefined;
}

/** Prefix of everything that is encrypted. Source: value/encrypt/identity. */
const encryptedPrefix = Buffer.from('k8s:enc:');

/** Stores values unchanged. Refuses to read bytes that an encrypting transformer wrote. */
export const identityTransformer: Transformer = {
  fromStorage: (bytes) => {
    if (startsWith(bytes, encryptedPrefix)) throw new TypeError('identity transformer tried to read encrypted data');
    return { bytes, isStale: false };
  },
  toStorage: (bytes) => bytes,
};

export function startsWith(bytes: Uint8Array, prefix: Uint8Array): boolean {
  if (bytes.length < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) if (bytes[i] !== prefix[i]) return false;
  return true;
}

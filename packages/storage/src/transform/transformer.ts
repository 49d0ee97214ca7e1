// The transformer port: bytes on their way into and out of the engine, for encryption at rest.
// Source: apiserver storage/value/transformer.go.
// Synchronous, so that a watch decodes in order without a queue; what must come from a key service is fetched before.

export interface Transformed {
  readonly bytes: Uint8Array;
  /** Written with an old key or by another provider: the next update writes it anew even when nothing changed. */
  readonly isStale: boolean;
}

export interface Transformer {
  /** Throws when the bytes are none of its own. `context` is authenticated, not stored: the full key. */
  fromStorage(bytes: Uint8Array, context: string): Transformed;
  toStorage(bytes: Uint8Array, context: string): Uint8Array;
  /**
   * Fetches what {@link fromStorage} of these bytes needs from elsewhere; to be awaited in the turn before. Undefined: it
   * needs nothing. Never rejects: what could not be had, `fromStorage` says. Absent: nothing is ever needed.
   */
  prepare?(bytes: Uint8Array): Promise<void> | undefined;
}

/** What everything that is encrypted begins with. Source: value/encrypt/identity. */
const encryptedPrefix = Buffer.from('k8s:enc:');

/** Stores what it is given. Refuses to read bytes that an encrypting transformer wrote. */
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

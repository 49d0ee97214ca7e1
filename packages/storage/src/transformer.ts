// The transformer port: bytes on their way into and out of the engine, for encryption at rest. spec/storage.md §2.11.
// Synchronous, so that a watch decodes in order without a queue: a provider that talks to a key service fetches keys ahead.

interface Transformed {
  readonly bytes: Uint8Array;
  /** Written with an old key or by another provider: the next update writes it anew even when nothing changed. */
  readonly isStale: boolean;
}

export interface Transformer {
  /** Throws when the bytes are none of its own. `context` is authenticated, not stored: the full key. */
  fromStorage(bytes: Uint8Array, context: string): Transformed;
  toStorage(bytes: Uint8Array, context: string): Uint8Array;
}

const encryptedPrefix = 'k8s:enc:';

/** Stores what it is given. Refuses to read bytes that an encrypting transformer wrote. */
export const identityTransformer: Transformer = {
  fromStorage: (bytes) => {
    if (startsWithText(bytes, encryptedPrefix)) {
      throw new TypeError('identity transformer tried to read encrypted data');
    }
    return { bytes, isStale: false };
  },
  toStorage: (bytes) => bytes,
};

function startsWithText(bytes: Uint8Array, text: string): boolean {
  if (bytes.length < text.length) return false;
  for (let i = 0; i < text.length; i++) if (bytes[i] !== text.charCodeAt(i)) return false;
  return true;
}

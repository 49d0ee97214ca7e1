// NaCl's secretbox (XSalsa20 and Poly1305), stored as nonce ‖ tag ‖ ciphertext. Source: value/encrypt/secretbox.
import { randomBytes } from 'node:crypto';
import { xsalsa20poly1305 } from '@noble/ciphers/salsa.js';
import { tooShort } from './aes-transformers.ts';
import type { Transformer } from './transformer.ts';

const keyBytes = 32;
const nonceBytes = 24;
const tagBytes = 16;

/** Encrypts with a key of 32 bytes. The context is not authenticated. */
export function secretboxTransformer(key: Uint8Array): Transformer {
  if (key.length !== keyBytes)
    throw new TypeError(`expected key size ${keyBytes} for secretbox provider, got ${key.length}`);
  return {
    fromStorage: (bytes) => {
      if (bytes.length < nonceBytes + tagBytes) throw new TypeError(tooShort);
      return { bytes: open(key, bytes.subarray(0, nonceBytes), bytes.subarray(nonceBytes)), isStale: false };
    },
    toStorage: (bytes) => {
      const nonce = randomBytes(nonceBytes);
      return Buffer.concat([nonce, xsalsa20poly1305(key, nonce).encrypt(bytes)]);
    },
  };
}

function open(key: Uint8Array, nonce: Uint8Array, sealed: Uint8Array): Uint8Array {
  try {
    return xsalsa20poly1305(key, nonce).decrypt(sealed);
  } catch (error) {
    // This is kube-apiserver's text for a wrong key. It is misleading, but operators search for it.
    throw new TypeError('output array was not large enough for encryption', { cause: error });
  }
}

// AES-GCM under a key of its own for every write, derived from one seed: what KMS v2 encrypts data with, because a random
// nonce of 12 bytes alone would wear one key out. Source: aes.NewHKDFExtendedNonceGCMTransformer.
import { createHmac, randomBytes } from 'node:crypto';
import { aesGcmTransformer, tooShort } from './aes-transformers.ts';
import type { Transformer } from './transformer.ts';

export const seedBytes = 32;
const infoBytes = 32;

/** info ‖ nonce ‖ ciphertext ‖ tag, where the info is random. The seed has at least 32 bytes. */
export function seedTransformer(seed: Uint8Array): Transformer {
  if (seed.length < seedBytes) throw new TypeError(`invalid seed length ${seed.length} used for key generation`);
  // No cache of derived keys, as Go has: one HMAC costs about as much as finding the key in a map would.
  return {
    fromStorage: (bytes, context) => {
      if (bytes.length < infoBytes) throw new TypeError(tooShort);
      const key = derivedKey(seed, bytes.subarray(0, infoBytes));
      return aesGcmTransformer(key).fromStorage(bytes.subarray(infoBytes), context);
    },
    toStorage: (bytes, context) => {
      const info = randomBytes(infoBytes);
      return Buffer.concat([info, aesGcmTransformer(derivedKey(seed, info)).toStorage(bytes, context)]);
    },
  };
}

/** HKDF-Expand with SHA-256 (RFC 5869 §2.3) for 32 bytes, which is its first block alone. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Uint8Array {
  return createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest();
}

// AES-GCM with a new key for every write, all derived from one seed. KMS v2 uses it because random 12-byte nonces alone
// would exhaust a single key. Source: aes.NewHKDFExtendedNonceGCMTransformer.
import { createHmac, randomBytes } from 'node:crypto';
import { aesGcmTransformer, tooShort } from './aes-transformers.ts';
import type { Transformer } from './transformer.ts';

export const seedBytes = 32;
const infoBytes = 32;

/** Stores info ‖ nonce ‖ ciphertext ‖ tag; the info is random. The seed has at least 32 bytes. */
export function seedTransformer(seed: Uint8Array): Transformer {
  if (seed.length < seedBytes) throw new TypeError(`invalid seed length ${seed.length} used for key generation`);
  // Unlike Go we keep no cache of derived keys: one HMAC costs about as much as a look-up in a map.
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

/** Derives 32 bytes by HKDF-Expand with SHA-256 (RFC 5869 §2.3), which is its first block alone. */
function derivedKey(seed: Uint8Array, info: Uint8Array): Uint8Array {
  return createHmac('sha256', seed).update(info).update(Uint8Array.of(1)).digest();
}

// AES in Kubernetes' two forms. GCM has a random nonce and authenticates the storage key; CBC has PKCS#7 and
// authenticates nothing. Source: value/encrypt/aes. The bytes are the same as kube-apiserver's.
import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import type { Transformer } from './transformer.ts';

export const tooShort = 'the stored data was shorter than the required size';
const gcmNonceBytes = 12;
const gcmTagBytes = 16;
const cbcBlockBytes = 16;

/** Stores nonce ‖ ciphertext ‖ tag. The context is authenticated, so a value moved to another key cannot be read. */
export function aesGcmTransformer(key: Uint8Array): Transformer {
  const algorithm = `aes-${keyBits(key)}-gcm` as 'aes-256-gcm';
  return {
    fromStorage: (bytes, context) => {
      if (bytes.length < gcmNonceBytes) throw new TypeError(tooShort);
      const tagStart = bytes.length - gcmTagBytes;
      if (tagStart < gcmNonceBytes) throw new TypeError(notAuthentic);
      const cipher = createDecipheriv(algorithm, key, bytes.subarray(0, gcmNonceBytes), { authTagLength: gcmTagBytes });
      cipher.setAAD(Buffer.from(context)).setAuthTag(bytes.subarray(tagStart));
      const plain = cipher.update(bytes.subarray(gcmNonceBytes, tagStart));
      requireAuthentic(() => cipher.final());
      return { bytes: plain, isStale: false };
    },
    toStorage: (bytes, context) => {
      const nonce = randomBytes(gcmNonceBytes);
      const cipher = createCipheriv(algorithm, key, nonce, { authTagLength: gcmTagBytes });
      cipher.setAAD(Buffer.from(context));
      const sealed = cipher.update(bytes);
      cipher.final();
      return Buffer.concat([nonce, sealed, cipher.getAuthTag()]);
    },
  };
}

/** Stores IV ‖ ciphertext. */
export function aesCbcTransformer(key: Uint8Array): Transformer {
  const algorithm = `aes-${keyBits(key)}-cbc`;
  return {
    fromStorage: (bytes) => {
      if (bytes.length < cbcBlockBytes) throw new TypeError(tooShort);
      if (bytes.length % cbcBlockBytes !== 0)
        throw new TypeError('the stored data is not a multiple of the block size');
      const cipher = createDecipheriv(algorithm, key, bytes.subarray(0, cbcBlockBytes)).setAutoPadding(false);
      const padded = cipher.update(bytes.subarray(cbcBlockBytes));
      cipher.final();
      return { bytes: withoutPadding(padded), isStale: false };
    },
    toStorage: (bytes) => {
      const iv = randomBytes(cbcBlockBytes);
      const cipher = createCipheriv(algorithm, key, iv);
      return Buffer.concat([iv, cipher.update(bytes), cipher.final()]);
    },
  };
}

function keyBits(key: Uint8Array): number {
  if (![16, 24, 32].includes(key.length)) throw new TypeError(`crypto/aes: invalid key size ${key.length}`);
  return key.length * 8;
}

/** Go's text, which operators search for, instead of OpenSSL's. */
const notAuthentic = 'cipher: message authentication failed';

function requireAuthentic(finish: () => unknown): void {
  try {
    finish();
  } catch (error) {
    throw new TypeError(notAuthentic, { cause: error });
  }
}

function withoutPadding(padded: Buffer): Buffer {
  const length = padded.at(-1) ?? 0;
  const start = padded.length - length;
  const isPadding = length > 0 && length <= cbcBlockBytes && start >= 0;
  if (!isPadding || !padded.subarray(start).every((byte) => byte === length)) {
    throw new TypeError('invalid padding on input');
  }
  return padded.subarray(0, start);
}

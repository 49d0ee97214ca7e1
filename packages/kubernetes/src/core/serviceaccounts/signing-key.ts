// SigningKey and VerificationKey: the keys of service-account tokens as read from files, with their names in tokens.
// Used by service-account-tokens.ts. Source: pkg/serviceaccount/jwt.go, openidmetadata.go; client-go keyutil (1.36).

import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { messageOf } from '@kapstan/api/internal';

export interface VerificationKey {
  /** Hash of the public key, by which tokens name it. */
  readonly id: string;
  /** Its name in JSON Web Algorithms. */
  readonly algorithm: string;
  readonly publicKey: KeyObject;
}

export interface SigningKey {
  readonly privateKey: KeyObject;
  readonly verification: VerificationKey;
}

const algorithmOfCurve: ReadonlyMap<string | undefined, string> = new Map([
  ['prime256v1', 'ES256'],
  ['secp384r1', 'ES384'],
  ['secp521r1', 'ES512'],
]);

/** Source: RFC 7518 §3.3. */
const minRsaBits = 2048;

/** Makes a key that lives as long as the process. It has no text, so nothing has to be written and read again. */
export function makeSigningKey(): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  return { privateKey, verification: verificationKey(publicKey) };
}

/** Reads a private key in PEM. Throws TypeError when it cannot be read or its kind cannot sign tokens. */
export function readSigningKey(pem: string): SigningKey {
  const privateKey = parsed(() => createPrivateKey(pem));
  return { privateKey, verification: verificationKey(createPublicKey(privateKey)) };
}

/**
 * Reads all keys of a PEM text: public ones, certificates, and the public halves of private ones. Throws TypeError when
 * there is none.
 */
export function readVerificationKeys(pem: string): VerificationKey[] {
  const blocks = pem.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  const keys = blocks
    .filter((block) => !block.includes('BEGIN EC PARAMETERS'))
    .map((block) => verificationKey(parsed(() => createPublicKey(block))));
  if (keys.length > 0) return keys;
  throw new TypeError('data does not contain any valid RSA or ECDSA public keys');
}

/** Returns the key as a member of a JSON Web Key Set. */
export function webKeyOf({ id, algorithm, publicKey }: VerificationKey): Readonly<Record<string, unknown>> {
  const { kty, ...rest } = publicKey.export({ format: 'jwk' });
  return { use: 'sig', kty, kid: id, alg: algorithm, ...rest };
}

function verificationKey(publicKey: KeyObject): VerificationKey {
  const { asymmetricKeyType: type, asymmetricKeyDetails: details } = publicKey;
  const algorithm = type === 'rsa' ? 'RS256' : algorithmOfCurve.get(details?.namedCurve);
  if (algorithm === undefined) {
    throw new TypeError('keys of service-account tokens must be RSA, or ECDSA on the curve P-256, P-384 or P-521');
  }
  if (details?.modulusLength !== undefined && details.modulusLength < minRsaBits) {
    throw new TypeError(`RSA keys of service-account tokens must have at least ${minRsaBits} bits`);
  }
  const spki = publicKey.export({ type: 'spki', format: 'der' });
  return { id: createHash('sha256').update(spki).digest('base64url'), algorithm, publicKey };
}

function parsed(parse: () => KeyObject): KeyObject {
  try {
    return parse();
  } catch (error) {
    throw new TypeError(messageOf(error), { cause: error });
  }
}

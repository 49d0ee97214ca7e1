// Checks that the parts of a KeyPair are valid and match. Used where files and options give them.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import type { KeyPair } from '@kapstan/controller/certificates';
import { StartError } from '../lifetime/start-error.ts';

/** The names of both parts in errors. */
export interface KeyPairNames {
  readonly cert: string;
  readonly key: string;
}

/** Throws a StartError that names the invalid part, or the key when it does not match the certificate. */
export function checkKeyPair({ cert, key }: KeyPair, names: KeyPairNames): void {
  const certificate = parsed(names.cert, () => new X509Certificate(cert));
  const privateKey = parsed(names.key, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartError(names.key, { cause: 'the private key does not match the certificate' });
  }
}

/** Returns true if both parts are valid and match. */
export function isKeyPair(pair: KeyPair): boolean {
  try {
    checkKeyPair(pair, { cert: '', key: '' });
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** Throws a StartError with this name unless there is at least one PEM block and all are certificates. TLS would ignore other blocks. */
export function checkAuthorities(pem: string, name: string): void {
  const blocks = pem.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  if (blocks.length === 0) throw new StartError(name, { cause: 'it contains no certificate' });
  for (const block of blocks) parsed(name, () => new X509Certificate(block));
}

/** Throws a StartError with this name unless the text is a private key (PEM). */
export function checkPrivateKey(pem: string, name: string): void {
  parsed(name, () => createPrivateKey(pem));
}

function parsed<T>(name: string, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw new StartError(name, { cause: error });
  }
}

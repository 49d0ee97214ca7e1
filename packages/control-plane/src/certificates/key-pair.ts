// KeyPair: a certificate with its private key, as files and TLS options hold it, and whether they are what they should be.
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { StartError } from '../start-error.ts';

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** True for an IP address, false for a DNS name: a certificate names the two differently. */
export function isAddress(host: string): boolean {
  return /^[0-9.]+$/.test(host) || host.includes(':');
}

/** How the parts of a pair are called in errors. */
export interface KeyPairNames {
  readonly cert: string;
  readonly key: string;
}

/** Throws a StartError that names the part which is no certificate or no key, or does not belong to the other. */
export function checkKeyPair({ cert, key }: KeyPair, names: KeyPairNames): void {
  const certificate = parsed(names.cert, () => new X509Certificate(cert));
  const privateKey = parsed(names.key, () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey)) {
    throw new StartError(names.key, { cause: 'it is not the key of the certificate' });
  }
}

/** Whether both are what they should be and belong together. */
export function isKeyPair(pair: KeyPair): boolean {
  try {
    checkKeyPair(pair, { cert: '', key: '' });
    return true;
  } catch (error) {
    if (error instanceof StartError) return false;
    throw error;
  }
}

/** Throws a StartError of this name unless all of the PEM blocks are certificates, and there is one. TLS would ignore others. */
export function checkAuthorities(pem: string, name: string): void {
  const blocks = pem.match(/-----BEGIN [^-]+-----[^-]*-----END [^-]+-----/g) ?? [];
  if (blocks.length === 0) throw new StartError(name, { cause: 'there is no certificate in it' });
  for (const block of blocks) parsed(name, () => new X509Certificate(block));
}

/** Throws a StartError of this name unless it is a private key, PEM. */
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

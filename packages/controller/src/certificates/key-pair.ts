// KeyPair: a certificate with its private key, as Secrets, files and TLS options hold them.

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/**
 * Time by which a certificate is valid before it is issued, because otherwise it would fail on a client whose clock is
 * slightly behind.
 */
export const clockSkewMs: number = 5 * 60_000;

/** Returns true for an IP address, false for a DNS name: a certificate lists the two differently. */
export function isAddress(host: string): boolean {
  return /^[0-9.]+$/.test(host) || host.includes(':');
}

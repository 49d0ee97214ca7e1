// KeyPair: a certificate with its private key, as files and TLS options hold it.

/** A certificate and its private key, PEM. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** True for an IP address, false for a DNS name: a certificate names the two differently. */
export function isAddress(host: string): boolean {
  return /^[0-9.]+$/.test(host) || host.includes(':');
}

// Certificates for programs that serve HTTPS themselves: webhooks of controllers and the control plane.
import type { AuthorityOptions, CertificateIssuer } from './certificate-issuer.ts';
import type { KeyPair } from './key-pair.ts';

export type { AuthorityOptions, CertificateIssuer, LeafOptions } from './certificate-issuer.ts';
export { isAddress, type KeyPair } from './key-pair.ts';

/** Creates an issuer over an existing authority, or over a new self-signed one. */
export async function createIssuer(
  existing: KeyPair | undefined,
  options: AuthorityOptions,
): Promise<CertificateIssuer> {
  // The module is imported here, because its library adds 200 ms to a start and is needed only when something is issued.
  const issuer = await import('./certificate-issuer.ts');
  return issuer.createIssuer(existing, options);
}

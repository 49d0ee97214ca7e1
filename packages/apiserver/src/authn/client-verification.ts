// Verifies client certificates as Go's crypto/x509 does: "any" extended key usage allows clients, and for the client's
// own certificate neither its key usage nor being an authority matters. Used by client-certificate.ts where OpenSSL
// refuses a certificate because of its purpose. Source: Go crypto/x509 verify.go (isValid, buildChains, checkChainForKeyUsage).
import { X509Certificate } from 'node:crypto';
import { parseTime } from '@kapstan/api';
import { extendedKeyUsages, hasUnhandledCriticalExtension } from './certificate-extensions.ts';

/** Certificates of the authorities that sign client certificates, in PEM, as the TLS layer takes them. */
export type ClientAuthorities = string | Uint8Array | readonly (string | Uint8Array)[];

/** 1.3.6.1.5.5.7.3.2, as DER has it. */
const clientAuth = '2b06010505070302';
/** 2.5.29.37.0 */
const anyUsage = '551d2500';
/** Maximum number of signature checks in one verification. Source: maxChainSignatureChecks. */
const maxSignatureChecks = 100;

const certificatePattern = /-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g;

/** Each text may contain several certificates. */
export function readAuthorities(authorities: ClientAuthorities): readonly X509Certificate[] {
  const all = typeof authorities === 'string' || authorities instanceof Uint8Array ? [authorities] : authorities;
  return all.flatMap((pem) => {
    const blocks =
      Buffer.from(pem as string)
        .toString('latin1')
        .match(certificatePattern) ?? [];
    return blocks.map((block) => new X509Certificate(block));
  });
}

/**
 * True when a chain leads from the first certificate, over others that were sent, to an authority, and each certificate
 * in it is valid now and may be used by clients. `sent`: in DER, the client's own first.
 */
export function isTrustedForClients(
  sent: readonly Uint8Array[],
  authorities: readonly X509Certificate[],
  nowMs: number,
): boolean {
  const [own, ...others] = sent.map((raw) => new X509Certificate(raw));
  if (own === undefined) return false;
  const isUsable = (certificate: X509Certificate): boolean =>
    isValidAt(certificate, nowMs) && !hasUnhandledCriticalExtension(certificate.raw) && servesClients(certificate);
  if (!isUsable(own)) return false;
  if (authorities.some((authority) => authority.raw.equals(own.raw))) return true;
  let checks = 0;
  const isIssuer = (issuer: X509Certificate, issued: X509Certificate): boolean =>
    issuer.ca && issued.checkIssued(issuer) && ++checks <= maxSignatureChecks && issued.verify(issuer.publicKey);
  const leadsToAuthority = (from: X509Certificate, passed: readonly X509Certificate[]): boolean => {
    if (authorities.some((authority) => isUsable(authority) && isIssuer(authority, from))) return true;
    const next = others.filter((other) => !passed.includes(other) && isUsable(other) && isIssuer(other, from));
    return next.some((issuer) => leadsToAuthority(issuer, [...passed, issuer]));
  };
  return leadsToAuthority(own, [own]);
}

function isValidAt({ validFrom, validTo }: X509Certificate, nowMs: number): boolean {
  return parseTime(validFrom) <= nowMs && nowMs <= parseTime(validTo);
}

function servesClients({ raw }: X509Certificate): boolean {
  const usages = extendedKeyUsages(raw);
  return usages === undefined || usages.includes(anyUsage) || usages.includes(clientAuth);
}

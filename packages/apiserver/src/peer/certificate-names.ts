// Checks whether a peer's certificate is for the name under which it is called, with Go's rules and texts. Used for webhooks, aggregated
// API servers and tunnels. Source: Go crypto/x509 verify.go (HostnameError).
import { isIP } from 'node:net';
import { checkServerIdentity, type PeerCertificate } from 'node:tls';

/** Maximum number of names that are listed; more are only counted. */
const maxNamesShown = 100;

/**
 * Refuses a certificate that relies on its common name, which Node accepts and Go does not, because such a webhook
 * would not work with a kube-apiserver. Use it as the TLS option `checkServerIdentity`.
 */
export function checkCertificateNames(host: string, certificate: PeerCertificate): Error | undefined {
  const error = checkServerIdentity(host, certificate);
  if (error !== undefined || certificate.subjectaltname !== undefined) return error;
  const text = 'certificate relies on the common name';
  return Object.assign(new Error(text), { code: 'ERR_TLS_CERT_ALTNAME_INVALID', host, cert: certificate });
}

/** Returns Go's text for a certificate that is not for the host. */
export function wrongNameText(host: string, certificate: Partial<PeerCertificate>): string {
  const { subjectaltname, subject } = certificate;
  if (subjectaltname === undefined && subject?.CN?.toString().toLowerCase() === host.toLowerCase())
    return 'x509: certificate relies on legacy Common Name field, use SANs instead';
  const isAddress = isIP(host) !== 0;
  const prefix = isAddress ? 'IP Address:' : 'DNS:';
  const names = (subjectaltname ?? '')
    .split(', ')
    .flatMap((name) => (name.startsWith(prefix) ? [name.slice(prefix.length)] : []));
  if (isAddress && names.length === 0)
    return `x509: cannot validate certificate for ${host} because it doesn't contain any IP SANs`;
  if (names.length >= maxNamesShown)
    return `x509: certificate is valid for ${names.length} ${isAddress ? 'IP SANs' : 'names'}, but none matched ${host}`;
  if (names.length === 0) return `x509: certificate is not valid for any names, but wanted to match ${host}`;
  return `x509: certificate is valid for ${names.join(', ')}, not ${host}`;
}

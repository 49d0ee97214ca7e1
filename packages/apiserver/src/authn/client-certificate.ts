// The client certificate of a TLS connection, as credentials. Verified by the TLS layer against the client authority.
import type { TLSSocket } from 'node:tls';
import type { Clock } from '@kapstan/api';
import { parseTime } from '@kapstan/api';
import type { Credentials } from './authenticator.ts';

/** Members `certificate` or `certificateError`; none when no certificate was sent. */
export function certificateCredentials(socket: TLSSocket | undefined, clock: Clock): Partial<Credentials> {
  if (socket?.encrypted !== true || typeof socket.getPeerCertificate !== 'function') return {};
  const certificate = socket.getPeerCertificate();
  if (certificate === null || certificate.subject === undefined) return {};
  if (!socket.authorized) return { certificateError: String(socket.authorizationError ?? 'not trusted') };
  // A connection may outlive the certificate it was opened with.
  if (parseTime(certificate.valid_to) < clock.now()) return { certificateError: 'the certificate has expired' };
  return {
    certificate: {
      commonName: texts(certificate.subject.CN)[0] ?? '',
      organizations: texts(certificate.subject.O),
    },
  };
}

/** Node gives one value as text and several as a list. */
function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

// Describes why a peer could not be reached, in the words of Go's net and crypto packages, because clients see them and
// people search for them. Thrown for tunnels (http/tunnel), aggregated API servers and webhooks.
import type { PeerCertificate } from 'node:tls';
import type { Destination } from '../registry/definition/destination.ts';
import { formatHostPort } from '../registry/definition/destination.ts';
import { wrongNameText } from './certificate-names.ts';

const connectTexts: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'connect: connection refused'],
  ['ECONNRESET', 'connect: connection reset by peer'],
  ['EHOSTUNREACH', 'connect: no route to host'],
  ['ENETUNREACH', 'connect: network is unreachable'],
  ['ETIMEDOUT', 'i/o timeout'],
]);

const unknownAuthority = 'x509: certificate signed by unknown authority';

const certificateTexts: ReadonlyMap<string, string> = new Map([
  ['DEPTH_ZERO_SELF_SIGNED_CERT', unknownAuthority],
  ['SELF_SIGNED_CERT_IN_CHAIN', unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT', unknownAuthority],
  ['UNABLE_TO_GET_ISSUER_CERT_LOCALLY', unknownAuthority],
  ['UNABLE_TO_VERIFY_LEAF_SIGNATURE', unknownAuthority],
  ['CERT_HAS_EXPIRED', 'x509: certificate has expired or is not yet valid'],
  ['CERT_NOT_YET_VALID', 'x509: certificate has expired or is not yet valid'],
]);

/** The error for a peer that cannot be reached. Its message is sent to the client. */
export class DialError extends Error {
  override readonly name = 'DialError';
}

/** Turns an error of connecting, or of the connection, into a DialError. */
export function dialError(error: NodeJS.ErrnoException, { host, port }: Pick<Destination, 'host' | 'port'>): DialError {
  const code = error.code ?? '';
  if (code === 'ENOTFOUND') return new DialError(`dial tcp: lookup ${host}: no such host`, { cause: error });
  const connect = connectTexts.get(code);
  const isDialing = error.syscall === 'connect';
  if (connect !== undefined && isDialing)
    return new DialError(`dial tcp ${formatHostPort(host, port)}: ${connect}`, { cause: error });
  const certificate = certificateTexts.get(code) ?? alternativeNames(error, host);
  if (certificate !== undefined)
    return new DialError(`tls: failed to verify certificate: ${certificate}`, { cause: error });
  if (code.includes('WRONG_VERSION_NUMBER') || code === 'EPROTO' || code === 'ERR_SSL_PACKET_LENGTH_TOO_LONG')
    return new DialError('tls: first record does not look like a TLS handshake', { cause: error });
  if (code === 'ECONNRESET' || error.message === 'socket hang up') return new DialError('EOF', { cause: error });
  return new DialError(error.message, { cause: error });
}

function alternativeNames(error: NodeJS.ErrnoException, host: string): string | undefined {
  if (error.code !== 'ERR_TLS_CERT_ALTNAME_INVALID') return undefined;
  return wrongNameText(host, (error as { readonly cert?: PeerCertificate }).cert ?? {});
}

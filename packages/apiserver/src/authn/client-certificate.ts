// Reads the client certificate of a TLS connection as credentials. The TLS layer has verified it against the client
// authorities; client-verification.ts decides where OpenSSL, unlike Go, refuses a certificate for its purpose. Source:
// apiserver authentication/request/x509.
import type { X509Certificate } from 'node:crypto';
import type { DetailedPeerCertificate, TLSSocket } from 'node:tls';
import { type Clock, parseTime } from '@kapstan/api';
import type { CertificateSubject, Credentials } from './authenticator.ts';
import { type ClientAuthorities, isTrustedForClients, readAuthorities } from './client-verification.ts';
import type { RequestHeaderOptions } from './request-header-names.ts';

export interface ClientCertificatesOptions {
  readonly authorities: ClientAuthorities;
  /** Front proxies, which have their own authorities. Undefined = there are none. */
  readonly frontProxies: Pick<RequestHeaderOptions, 'clientCa' | 'allowedNames'> | undefined;
  readonly clock: Clock;
}

/** Authorities whose certificates are accepted, in PEM. */
export interface CertificateAuthorities {
  readonly clients: ClientAuthorities;
  /** Undefined = there are no front proxies. */
  readonly frontProxies: ClientAuthorities | undefined;
}

interface Seen {
  readonly credentials: Partial<Credentials>;
  /** True for the certificate of a front proxy. */
  readonly isFrontProxy: boolean;
  /** End of the certificate's validity, in milliseconds. */
  readonly validToMs: number;
}

/** Faults of a chain that does not lead to an authority. The authority may have been added since the handshake. */
const faultsOfTrust: ReadonlySet<string> = new Set([
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
]);

export class ClientCertificates {
  #authorities: readonly X509Certificate[];
  #frontProxies: { readonly authorities: readonly X509Certificate[]; readonly names: readonly string[] } | undefined;
  readonly #clock: Clock;
  /** Results by connection, which has one certificate and many requests. */
  #seen = new WeakMap<TLSSocket, Seen>();
  /** True once the authorities have changed: the TLS layer may have judged an open connection by the earlier ones. */
  #hasChanged = false;

  constructor({ authorities, frontProxies, clock }: ClientCertificatesOptions) {
    this.#authorities = readAuthorities(authorities);
    this.#frontProxies = frontProxies && {
      authorities: readAuthorities(frontProxies.clientCa),
      names: frontProxies.allowedNames ?? [],
    };
    this.#clock = clock;
  }

  /** Reads other authorities; the returned function puts them to use, also for connections that are open. */
  authorities({ clients, frontProxies }: CertificateAuthorities): () => void {
    const [ofClients, ofProxies] = [readAuthorities(clients), readAuthorities(frontProxies ?? [])];
    return () => {
      this.#authorities = ofClients;
      this.#frontProxies = this.#frontProxies && { ...this.#frontProxies, authorities: ofProxies };
      this.#seen = new WeakMap();
      this.#hasChanged = true;
    };
  }

  /** Returns `certificate` or `certificateError`; neither when no certificate was sent. */
  credentialsOf(socket: TLSSocket | undefined): Partial<Credentials> {
    const seen = this.#of(socket);
    if (seen === undefined) return {};
    // The certificate may expire while its connection is open.
    if (seen.validToMs < this.#clock.now()) return { certificateError: 'the certificate has expired' };
    return seen.credentials;
  }

  /** True when the connection's certificate is valid now and belongs to a front proxy. */
  isFrontProxy(socket: TLSSocket | undefined): boolean {
    const seen = this.#of(socket);
    return seen?.isFrontProxy === true && seen.validToMs >= this.#clock.now();
  }

  #of(socket: TLSSocket | undefined): Seen | undefined {
    if (socket?.encrypted !== true || typeof socket.getPeerCertificate !== 'function') return undefined;
    let seen = this.#seen.get(socket);
    if (seen === undefined) {
      seen = this.#look(socket);
      this.#seen.set(socket, seen);
    }
    return seen;
  }

  #look(socket: TLSSocket): Seen {
    const certificate = socket.getPeerCertificate(true);
    if (certificate === null || certificate.subject === undefined) {
      return { credentials: {}, isFrontProxy: false, validToMs: Number.POSITIVE_INFINITY };
    }
    const validToMs = parseTime(certificate.valid_to);
    const isFrontProxy = this.#isOfFrontProxy(socket, certificate);
    if (this.#isOfClient(socket, certificate)) {
      return { credentials: { certificate: subjectOf(certificate) }, isFrontProxy, validToMs };
    }
    const certificateError = String(socket.authorizationError ?? 'not trusted');
    return { credentials: { certificateError }, isFrontProxy, validToMs };
  }

  /**
   * The TLS layer trusts the authorities of clients and of front proxies alike, so the chain has to show which kind this is: the common
   * name of a front proxy's certificate must not become a user.
   */
  #isOfClient(socket: TLSSocket, certificate: DetailedPeerCertificate): boolean {
    if (socket.authorized && this.#frontProxies === undefined && !this.#hasChanged) return true;
    return this.#isOf(this.#authorities, socket, certificate);
  }

  #isOfFrontProxy(socket: TLSSocket, certificate: DetailedPeerCertificate): boolean {
    if (this.#frontProxies === undefined) return false;
    const { authorities, names } = this.#frontProxies;
    if (names.length > 0 && !names.includes(subjectOf(certificate).commonName)) return false;
    return this.#isOf(authorities, socket, certificate);
  }

  #isOf(authorities: readonly X509Certificate[], socket: TLSSocket, certificate: DetailedPeerCertificate): boolean {
    if (!socket.authorized && !this.#isJudgedAgain(String(socket.authorizationError))) return false;
    return isTrustedForClients(rawChainOf(certificate), authorities, this.#clock.now());
  }

  /** OpenSSL checks the purpose before signatures and times, so these and critical extensions are checked again after that fault. */
  #isJudgedAgain(fault: string): boolean {
    return fault === 'INVALID_PURPOSE' || (this.#hasChanged && faultsOfTrust.has(fault));
  }
}

/** Returns the certificates sent, the client's own first. The last one names itself as its issuer. */
function rawChainOf(certificate: DetailedPeerCertificate): readonly Uint8Array[] {
  const chain: Uint8Array[] = [];
  const seen = new Set<DetailedPeerCertificate>();
  let next: DetailedPeerCertificate | undefined = certificate;
  while (next?.raw !== undefined && !seen.has(next)) {
    seen.add(next);
    chain.push(next.raw);
    next = next.issuerCertificate;
  }
  return chain;
}

/** Attribute of a user's UID in the subject. Source: apimachinery asn1.X509UID. */
const uidAttribute = '1.3.6.1.4.1.57683.2';

/**
 * If there are several common names, the last counts. Source: CommonNameUserConversion; pkix.Name.FillFromRDNSequence.
 */
function subjectOf({ subject, fingerprint256 }: DetailedPeerCertificate): CertificateSubject {
  const values = new Map(Object.entries(subject));
  return {
    commonName: texts(values.get('CN')).at(-1) ?? '',
    organizations: texts(values.get('O')),
    uids: texts(values.get(uidAttribute)),
    sha256: fingerprint256.replaceAll(':', '').toLowerCase(),
  };
}

/** Node returns one value as a string and several as a list. */
function texts(value: string | readonly string[] | undefined): readonly string[] {
  if (value === undefined) return [];
  return typeof value === 'string' ? [value] : value;
}

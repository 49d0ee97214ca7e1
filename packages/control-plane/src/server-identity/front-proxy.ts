// The trusted front proxies, and the certificate of this server's own proxy for other API servers. Given files are used, otherwise
// certificates that this server has made. Source: kube-apiserver's --requestheader-* and --proxy-client-*.
import { X509Certificate } from 'node:crypto';
import type { RequestHeaderOptions } from '@kapstan/apiserver';
import type { KeyPair } from '@kapstan/controller/certificates';
import { type FrontProxy, frontProxyName } from '../certificates/certificates.ts';
import type { GivenCertificates } from '../certificates/followed-certificates.ts';
import { StartError } from '../lifetime/start-error.ts';

export interface FrontProxyOptions extends Omit<RequestHeaderOptions, 'clientCa'> {
  /**
   * Certificates of the authorities that sign certificates of front proxies, in PEM. Default: an authority that this server makes.
   */
  readonly clientCa?: string | undefined;
  /** Certificate that this server shows to other API servers. Default: one that this server makes. */
  readonly client?: KeyPair | undefined;
}

/** Returns the options with the current contents of their files. */
export function withCertificates(
  options: FrontProxyOptions,
  { frontProxyCa: clientCa, proxyClient: client }: GivenCertificates,
): FrontProxyOptions {
  return { ...options, clientCa, client };
}

/** Returns the certificate that this server's proxy shows. */
export function proxyCertificate(given: FrontProxyOptions, made: FrontProxy): KeyPair {
  return given.client ?? made.client;
}

/** Returns the trusted proxies; undefined = none, because only a proxy certificate of unknown authority was given. */
export function frontProxies(given: FrontProxyOptions, made: FrontProxy): RequestHeaderOptions | undefined {
  const { clientCa, client, allowedNames = [], ...headers } = given;
  const ownCa = client === undefined ? [made.caCert] : [];
  const authorities = clientCa === undefined ? ownCa : [clientCa, ...ownCa];
  if (authorities.length === 0) return undefined;
  if (clientCa === undefined)
    return { ...headers, clientCa: authorities, allowedNames: [frontProxyName, ...allowedNames] };
  // An empty list allows every certificate of the authorities already.
  const ownName = allowedNames.length === 0 || client !== undefined ? [] : [frontProxyName];
  return { ...headers, clientCa: authorities, allowedNames: [...allowedNames, ...ownName] };
}

/**
 * Throws a StartError when an authority signs certificates of clients and of front proxies, and any proxy name is accepted, because each
 * client could then act as anybody. Source: BuiltInAuthenticationOptions.Validate.
 */
export function refuseSharedAuthority(
  { clientCa = '', allowedNames = [] }: FrontProxyOptions,
  clientAuthorities: readonly string[],
): void {
  if (allowedNames.length > 0) return;
  const ofClients = new Set(clientAuthorities.flatMap(fingerprints));
  if (!fingerprints(clientCa).some((fingerprint) => ofClients.has(fingerprint))) return;
  const cause =
    '--requestheader-client-ca-file and --client-ca-file contain overlapping certificates; --requestheader-allowed-names must be specified to ensure regular client certificates cannot set authenticating proxy headers for arbitrary users';
  throw new StartError('frontProxy.clientCa', { cause });
}

function fingerprints(pem: string): readonly string[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
  return blocks.map((block) => new X509Certificate(block).fingerprint256);
}

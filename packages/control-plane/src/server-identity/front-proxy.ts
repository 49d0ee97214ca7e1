// Whom this server believes when headers say who asks, and how its own proxy proves itself to other API servers. The given files
// count, and what this server has made where none are given. Source: kube-apiserver's --requestheader-* and --proxy-client-*.
import type { RequestHeaderOptions } from '@kapstan/apiserver';
import { type FrontProxy, frontProxyName } from '../certificates/certificates.ts';
import type { KeyPair } from '../certificates/key-pair.ts';

export interface FrontProxyOptions extends Omit<RequestHeaderOptions, 'clientCa'> {
  /** Certificates of the authorities that sign those of front proxies, in PEM. Default: an authority that this server makes. */
  readonly clientCa?: string | undefined;
  /** Certificate that this server shows to other API servers. Default: one that this server makes. */
  readonly client?: KeyPair | undefined;
}

/** Returns the certificate that this server's proxy shows. */
export function proxyCertificate(given: FrontProxyOptions, made: FrontProxy): KeyPair {
  return given.client ?? made.client;
}

/** Returns whom to believe; undefined = nobody, because only a proxy certificate of unknown authority was given. */
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

// How a channel to a member of the cluster is secured. gRPC sends the host of an address as the server name of TLS, which RFC 6066 forbids for
// an IP address: Node warns about it, and refuses it from version 26 on. Used by endpoint-pool.ts.
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import { type ChannelCredentials, type ClientOptions, credentials } from '@grpc/grpc-js';
import type { Endpoint } from './endpoint.ts';
import type { EtcdTls } from './etcd-options.ts';

export interface EndpointSecurity {
  readonly credentials: ChannelCredentials;
  /** Options of the channel. */
  readonly serverName: ClientOptions;
}

/** Stands for an IP address. A member has one certificate, whatever name it is asked for. */
const standIn = 'etcd';

/** Returns how to secure a member's connection. Its certificate must name the host of its address, even an IP address. */
export function endpointSecurity({ address, isSecure }: Endpoint, tls: EtcdTls = {}): EndpointSecurity {
  if (!isSecure) return { credentials: credentials.createInsecure(), serverName: {} };
  const { ca = null, cert = null, key = null } = tls;
  const host = new URL(`https://${address}`).hostname.replace(/^\[(.*)\]$/, '$1');
  if (isIP(host) === 0) return { credentials: credentials.createSsl(ca, key, cert), serverName: {} };
  const checkAddress: typeof checkServerIdentity = (_, certificate) => checkServerIdentity(host, certificate);
  return {
    credentials: credentials.createSsl(ca, key, cert, { checkServerIdentity: checkAddress }),
    serverName: { 'grpc.ssl_target_name_override': standIn },
  };
}

// The key under which clients share connections: server, proxy, TLS and credential must be equal; namespace, user agent and
// impersonation may differ, because they belong to a request. Used by create-transport.ts; shared-pools.ts
// keeps the connections under it.
import { createHash } from 'node:crypto';
import { type Clock, stringifyJson } from '@kapstan/api';
import type { TlsConfig } from '../connection/tls-config.ts';
import type { ExecConfig } from '../credentials/exec-plugin.ts';
import type { OidcConfig } from '../credentials/oidc.ts';
import type { Http2Limits } from '../transport/http2-health.ts';
import type { ClientConfig } from './client-config.ts';

export interface ConnectionPlace {
  readonly server: URL;
  readonly proxyUrl: string | undefined;
  readonly clock: Clock;
  /** Limits of HTTP/2 connections; undefined: HTTP/1.1 alone. */
  readonly http2: Http2Limits | undefined;
}

/**
 * Returns a digest, because tokens and private keys are part of the key. Objects with behaviour (clock, credentials) are compared by
 * identity.
 */
export function connectionKey(config: ClientConfig, { server, proxyUrl, clock, http2 }: ConnectionPlace): string {
  const { tls, token, tokenFile, username, password, exec, oidc, credentials } = config;
  const parts = [
    [server.href, proxyUrl, identityOf(clock), http2?.readIdleMs, http2?.pingTimeoutMs],
    tlsParts(tls ?? {}),
    [token, tokenFile, username, password, identityOf(credentials)],
    exec === undefined ? [] : [...execParts(exec, config.proxyUrl), config.disableCompression],
    oidc === undefined ? [] : oidcParts(oidc),
  ];
  return createHash('sha256').update(stringifyJson(parts)).digest('base64');
}

function tlsParts({ ca, caFile, cert, certFile, key, keyFile, serverName, insecureSkipVerify }: TlsConfig): unknown[] {
  return [ca, caFile, cert, certFile, key, keyFile, serverName, insecureSkipVerify];
}

function execParts(exec: ExecConfig, proxyUrl: string | undefined): unknown[] {
  const { apiVersion, command, args, env, provideClusterInfo, interactiveMode, installHint, clusterConfig } = exec;
  const variables = env?.map(({ name, value }) => [name, value]);
  return [
    apiVersion,
    command,
    args,
    variables,
    provideClusterInfo,
    interactiveMode,
    installHint,
    clusterConfig,
    proxyUrl,
  ];
}

function oidcParts({
  issuerUrl,
  clientId,
  clientSecret,
  idToken,
  refreshToken,
  ca,
  caFile,
  persist,
}: OidcConfig): unknown[] {
  return [issuerUrl, clientId, clientSecret, idToken, refreshToken, ca, caFile, identityOf(persist)];
}

const identities = new WeakMap<object, number>();
let identityCount = 0;

function identityOf(value: object | undefined): number {
  if (value === undefined) return 0;
  const identity = identities.get(value) ?? ++identityCount;
  identities.set(value, identity);
  return identity;
}

// Builds a transport from a configuration: server URL, credentials, TLS, proxy, headers.
import { basename } from 'node:path';
import type { Clock, Logger } from '@kapstan/api';
import { checkProxyUrl, isOnThisMachine, proxyFromEnvironment } from '../connection/proxy.ts';
import type { TlsConfig } from '../connection/tls-config.ts';
import {
  anonymous,
  basicAuth,
  bearerToken,
  type Credentials,
  type RequestHeaders,
} from '../credentials/credentials.ts';
import { ExecPlugin } from '../credentials/exec-plugin.ts';
import { OidcTokenSource } from '../credentials/oidc.ts';
import { TokenFile } from '../credentials/token-file.ts';
import { clientTracer } from '../transport/call-tracing.ts';
import { ConnectionPool } from '../transport/connection-pool.ts';
import { http2Limits, isHttp2Disabled } from '../transport/http2-health.ts';
import { RateLimiter } from '../transport/rate-limiter.ts';
import { shareLink } from '../transport/shared-pools.ts';
import { TlsMaterial } from '../transport/tls-material.ts';
import { Transport } from '../transport/transport.ts';
import { logWarningsOnce } from '../transport/warnings.ts';
import type { ClientConfig, Impersonation, ResolvedClientOptions } from './client-config.ts';
import { connectionKey } from './connection-key.ts';

const version = '0.1.0';

/** Throws TypeError for a contradictory configuration. */
export function createTransport(config: ClientConfig, options: ResolvedClientOptions): Transport {
  const { clock, logger, rateLimit } = options;
  const tls = config.tls ?? {};
  const server = serverUrl(config.server, tls);
  const chosenProxy = config.proxyUrl === undefined ? proxyFromEnvironment(server, process.env) : config.proxyUrl;
  const proxyUrl = chosenProxy ? checkProxyUrl(chosenProxy) : undefined;
  // Everything that may throw comes before shareLink, because a share taken earlier would never be returned.
  const headers = {
    'user-agent': options.userAgent ?? defaultUserAgent(),
    ...impersonationHeaders(config.impersonate),
  };
  const http2 = options.http2 && !isHttp2Disabled(process.env) ? http2Limits(process.env, logger) : undefined;
  const limiter = rateLimit === undefined ? undefined : new RateLimiter(rateLimit, clock);
  const { credentials, lease } = shareLink(
    connectionKey(config, { server, proxyUrl, clock, http2 }),
    logger,
    (sharedLogger) => {
      const ports = { clock, logger: sharedLogger };
      const own = credentialsOf(config, { ...ports, server, tls });
      const material = new TlsMaterial({ ...ports, tls, credentials: own });
      const stop = (): void => {
        if (own instanceof ExecPlugin || own instanceof OidcTokenSource) own.stop();
      };
      return { credentials: own, pool: new ConnectionPool({ server, tls, material, proxyUrl, clock, http2 }), stop };
    },
  );
  return new Transport({
    server,
    pool: lease,
    credentials,
    headers,
    asksForGzip: asksForGzip(config, options, { server, proxyUrl }),
    limiter,
    tracer: clientTracer(options.tracing),
    onWarning: options.onWarning ?? logWarningsOnce(logger),
    options,
  });
}

/** On a loopback address compression costs more than it saves; behind a proxy even that address may be far away. */
function asksForGzip(
  { disableCompression }: ClientConfig,
  { compression }: ResolvedClientOptions,
  { server, proxyUrl }: { readonly server: URL; readonly proxyUrl: string | undefined },
): boolean {
  if (compression !== 'auto') return compression;
  return disableCompression !== true && (proxyUrl !== undefined || !isOnThisMachine(server));
}

/**
 * Uses https for a host without a scheme if TLS is configured, otherwise http. Source: client-go rest/url_utils.go (DefaultServerURL).
 */
export function serverUrl(server: string, tls: TlsConfig): URL {
  const isTls = Object.values(tls).some((value) => value !== undefined && value !== false);
  const host = server === '' ? 'localhost' : server;
  const text = /^[a-z][a-z0-9+.-]*:\/\//i.test(host) ? host : `${isTls ? 'https' : 'http'}://${host}`;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isHttp = url?.protocol === 'http:' || url?.protocol === 'https:';
  if (url === undefined || !isHttp || url.hostname === '' || (text !== host && url.pathname !== '/'))
    throw new TypeError(`host must be a URL or a host:port pair: ${JSON.stringify(server)}`);
  return url;
}

interface CredentialContext {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly server: URL;
  readonly tls: TlsConfig;
}

function credentialsOf(config: ClientConfig, { clock, logger, server, tls }: CredentialContext): Credentials {
  checkCombination(config);
  const { token, tokenFile, username, password, exec, oidc, credentials } = config;
  if (credentials !== undefined) return credentials;
  if (tokenFile) return new TokenFile({ path: tokenFile, fallback: token, clock, logger });
  if (token) return bearerToken(token);
  if (username) return basicAuth(username, password ?? '');
  if (oidc !== undefined) return new OidcTokenSource({ oidc, clock, logger });
  // With a configured certificate the plugin is not used. Source: client-go plugin/pkg/client/auth/exec (UpdateTransportConfig).
  const hasCertificate = tls.cert !== undefined || tls.certFile !== undefined;
  if (exec === undefined || hasCertificate) return anonymous;
  return new ExecPlugin({
    exec,
    cluster: { server: server.href, tls, proxyUrl: config.proxyUrl, disableCompression: config.disableCompression },
    clock,
    logger,
  });
}

function checkCombination({ token, tokenFile, username, exec, oidc, credentials }: ClientConfig): void {
  const hasToken = Boolean(token) || Boolean(tokenFile);
  if (hasToken && username) throw new TypeError('username/password or bearer token may be set, but not both');
  const hasProvider = exec !== undefined || oidc !== undefined;
  if (exec !== undefined && oidc !== undefined)
    throw new TypeError('execProvider and authProvider cannot be used in combination');
  if (credentials !== undefined && (hasToken || username || hasProvider))
    throw new TypeError('credentials may not be combined with token, username, exec or oidc');
}

function impersonationHeaders(impersonate: Impersonation | undefined): RequestHeaders {
  if (impersonate === undefined) return {};
  const { user, uid, groups = [], extra = {} } = impersonate;
  if (!user) {
    if (uid || groups.length > 0 || Object.keys(extra).length > 0)
      throw new TypeError('requesting uid, groups or user-extra without impersonating a user');
    return {};
  }
  const headers: Record<string, string | readonly string[]> = { 'impersonate-user': user };
  if (uid) headers['impersonate-uid'] = uid;
  if (groups.length > 0) headers['impersonate-group'] = groups;
  for (const [key, values] of Object.entries(extra)) headers[`impersonate-extra-${escapeHeaderKey(key)}`] = values;
  return headers;
}

// Percent-escapes bytes that a header's name cannot contain, including "%". Source: client-go transport headerKeyEscape.
function escapeHeaderKey(key: string): string {
  return [...Buffer.from(key)]
    .map((byte) => {
      const char = String.fromCharCode(byte);
      return /[A-Za-z0-9!#$&'*+.^_`|~-]/.test(char) ? char : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
    })
    .join('');
}

function defaultUserAgent(): string {
  const script = basename(process.argv[1] ?? '').replace(/\.[cm]?[jt]s$/, '');
  const command = script.replace(/[^A-Za-z0-9._-]/g, '') || 'node';
  return `${command}/kapstan-${version} (${process.platform}/${process.arch})`;
}

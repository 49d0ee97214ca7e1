// Opens connections: directly or through a proxy, including TLS. A connection that is no longer awaited ends at once instead of at its
// timeout. Used by the connection pool; proxy-tunnel.ts and socks-tunnel.ts handle proxies.
import { isIP, type Socket } from 'node:net';
import { type ConnectionOptions, checkServerIdentity, createSecureContext, rootCertificates } from 'node:tls';
import { isSocks } from '../connection/proxy.ts';
import { proxyTunnel } from '../connection/proxy-tunnel.ts';
import { socksTunnel } from '../connection/socks-tunnel.ts';
import { type BuildConnector, buildConnector } from '../connection/undici.ts';
import type { TlsTexts } from './tls-material.ts';

/**
 * Until the connection is open, the signal ends it; afterwards it belongs to the receiver of the callback. May throw instead of calling
 * back.
 */
export type Connect = (options: BuildConnector.Options, signal: AbortSignal, callback: BuildConnector.Callback) => void;

export interface ConnectorOptions {
  readonly server: URL;
  readonly proxyUrl: string | undefined;
  readonly texts: TlsTexts;
  readonly serverName: string | undefined;
  readonly isInsecure: boolean;
  /** Offers HTTP/2 in addition to HTTP/1.1; the socket's `alpnProtocol` is the server's choice. */
  readonly offersHttp2: boolean;
}

// Source of the values: client-go transport/cache.go.
const connectTimeoutMs = 30_000;
const tcpKeepAliveMs = 30_000;

// Uses our own tunnels, because undici's ProxyAgent cannot end a TLS handshake behind the proxy.
export function connectorOf(options: ConnectorOptions): Connect {
  const { server, proxyUrl, texts, serverName, isInsecure } = options;
  const identity = {
    minVersion: 'TLSv1.2' as const,
    cert: texts.cert,
    key: texts.key,
  };
  const connect = abortable({
    ...identity,
    rejectUnauthorized: !isInsecure,
    ca: texts.ca,
    allowH2: options.offersHttp2,
    ...nameToVerify(serverName),
  });
  if (proxyUrl === undefined) return connect;
  const way = { proxyUrl, server, timeoutMs: connectTimeoutMs };
  const tunnel = isSocks(proxyUrl) ? socksTunnel : proxyTunnel;
  // A TLS proxy is verified like the server, as in Go's net/http, or by the public authorities.
  const ca = texts.ca === undefined ? undefined : [...rootCertificates, texts.ca];
  const tls = /^https:/i.test(proxyUrl) ? { secureContext: createSecureContext({ ...identity, ca }) } : {};
  return (target, signal, callback) => {
    const connected = (httpSocket: Socket): void => {
      httpSocket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveMs);
      if (server.protocol === 'http:') return callback(null, httpSocket);
      try {
        connect({ ...target, httpSocket }, signal, callback);
      } catch (error) {
        httpSocket.destroy();
        callback(error as Error, null);
      }
    };
    const proxyTls = { ...tls, rejectUnauthorized: !isInsecure };
    tunnel({ ...way, proxyTls, signal }).then(connected, (error: Error) => callback(error, null));
  };
}

/** TLS does not announce an IP address (RFC 6066); Node 26 refuses one as `servername`. The certificate is still checked for it. */
function nameToVerify(serverName = ''): Pick<ConnectionOptions, 'servername' | 'checkServerIdentity'> {
  if (serverName === '') return {};
  if (isIP(serverName) === 0) return { servername: serverName };
  return { checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate) };
}

function abortable(tls: BuildConnector.BuildOptions): Connect {
  const keepAlive = { keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs };
  const direct = buildConnector({ ...tls, ...keepAlive, timeout: connectTimeoutMs });
  return (options, signal, callback) => {
    // undici returns the socket, although its types do not show it; when destroyed with an error, it calls back.
    const made: unknown = direct(options, (...result) => {
      signal.removeEventListener('abort', onAbort);
      callback(...result);
    });
    const onAbort = (): void => {
      (made as Socket).destroy(unwanted());
    };
    if (signal.aborted) onAbort();
    else signal.addEventListener('abort', onAbort, { once: true });
  };
}

function unwanted(): Error {
  return Object.assign(new Error('nobody waits for the connection'), { code: 'ECANCELED' });
}

// How a connection comes to stand: directly or through a proxy, TLS included. One that nobody waits for any more ends at once and
// not with its time. Used by the connection pool; the ways through proxies are proxy-tunnel.ts and socks-tunnel.ts.
import type { Socket } from 'node:net';
import { createSecureContext, rootCertificates } from 'node:tls';
import { buildConnector } from 'undici';
import { isSocks } from './proxy.ts';
import { proxyTunnel } from './proxy-tunnel.ts';
import { socksTunnel } from './socks-tunnel.ts';
import type { TlsTexts } from './tls-material.ts';

/** Until the connection stands, the signal ends it; then it belongs to whom it was called back. May throw instead of calling back. */
export type Connect = (options: buildConnector.Options, signal: AbortSignal, callback: buildConnector.Callback) => void;

export interface ConnectorOptions {
  readonly server: URL;
  readonly proxyUrl: string | undefined;
  readonly texts: TlsTexts;
  readonly serverName: string | undefined;
  readonly isInsecure: boolean;
}

// Source of the figures: client-go transport/cache.go.
const connectTimeoutMs = 30_000;
const tcpKeepAliveMs = 30_000;

// By our own tunnels: undici's ProxyAgent has no way to end a TLS handshake behind the proxy.
export function connectorOf({ server, proxyUrl, texts, serverName, isInsecure }: ConnectorOptions): Connect {
  const identity = {
    minVersion: 'TLSv1.2' as const,
    ...(texts.cert === undefined ? {} : { cert: texts.cert }),
    ...(texts.key === undefined ? {} : { key: texts.key }),
  };
  const connect = abortable({
    ...identity,
    rejectUnauthorized: !isInsecure,
    ...(texts.ca === undefined ? {} : { ca: texts.ca }),
    ...(serverName ? { servername: serverName } : {}),
  });
  if (proxyUrl === undefined) return connect;
  const way = { proxyUrl, server, timeoutMs: connectTimeoutMs };
  const tunnel = isSocks(proxyUrl) ? socksTunnel : proxyTunnel;
  // A proxy with TLS is asked for what the server is asked for, as by Go's net/http, or may be one of the public authorities'.
  const ca = texts.ca === undefined ? {} : { ca: [...rootCertificates, texts.ca] };
  const tls = /^https:/i.test(proxyUrl) ? { secureContext: createSecureContext({ ...identity, ...ca }) } : {};
  return (options, signal, callback) => {
    const connected = (httpSocket: Socket): void => {
      httpSocket.setNoDelay(true).setKeepAlive(true, tcpKeepAliveMs);
      if (server.protocol === 'http:') return callback(null, httpSocket);
      try {
        connect({ ...options, httpSocket }, signal, callback);
      } catch (error) {
        httpSocket.destroy();
        callback(error as Error, null);
      }
    };
    const proxyTls = { ...tls, rejectUnauthorized: !isInsecure };
    tunnel({ ...way, proxyTls, signal }).then(connected, (error: Error) => callback(error, null));
  };
}

function abortable(tls: buildConnector.BuildOptions): Connect {
  const keepAlive = { keepAlive: true, keepAliveInitialDelay: tcpKeepAliveMs };
  const direct = buildConnector({ ...tls, ...keepAlive, timeout: connectTimeoutMs });
  return (options, signal, callback) => {
    // undici gives back the socket, which its types leave out; destroyed with an error, it calls back.
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

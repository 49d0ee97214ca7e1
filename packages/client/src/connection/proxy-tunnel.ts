// A tunnel through an HTTP proxy (CONNECT). Its sibling for SOCKS5 is socks-tunnel.ts.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import type { SecureContext } from 'node:tls';

export interface TunnelOptions {
  readonly proxyUrl: string;
  readonly server: URL;
  /** Maximum silence of the proxy, in milliseconds. */
  readonly timeoutMs: number;
  /** Ends the tunnel. */
  readonly signal: AbortSignal;
}

export interface ProxyTunnelOptions extends TunnelOptions {
  /** TLS settings for a proxy with TLS. */
  readonly proxyTls: { readonly secureContext?: SecureContext; readonly rejectUnauthorized: boolean };
}

/** Returns a socket connected to the server. Rejects when the proxy cannot be reached or refuses. */
export async function proxyTunnel({
  proxyUrl,
  server,
  timeoutMs,
  proxyTls,
  signal,
}: ProxyTunnelOptions): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const path = `${server.hostname}:${port}`;
  const { username, password } = proxy;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = { host: path, ...(username || password ? { 'proxy-authorization': `Basic ${login}` } : {}) };
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  return await new Promise((resolve, reject) => {
    const target = { host: proxy.hostname.replace(/^\[(.*)\]$/, '$1'), port: proxy.port || undefined };
    const request = send({
      ...target,
      method: 'CONNECT',
      path,
      headers,
      signal,
      timeout: timeoutMs,
      agent: false,
      ...proxyTls,
    });
    request.once('error', reject);
    request.once('timeout', () => {
      const message = `proxy connect: no answer from the proxy within ${timeoutMs} ms`;
      request.destroy(Object.assign(new Error(message), { code: 'ETIMEDOUT' }));
    });
    request.once('connect', (response, socket) => {
      socket.setTimeout(0);
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      const message = `proxy connect: ${response.statusCode} ${response.statusMessage}`;
      return reject(Object.assign(new Error(message), { code: 'ECONNREFUSED' }));
    });
    request.end();
  });
}

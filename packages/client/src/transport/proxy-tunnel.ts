// A tunnel through an HTTP proxy (CONNECT) for connections that become WebSockets; calls use undici's ProxyAgent. Its
// sibling for SOCKS5 is socks-tunnel.ts.
import { request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';

export interface TunnelOptions {
  readonly proxyUrl: string;
  readonly server: URL;
}

export interface ProxyTunnelOptions extends TunnelOptions {
  readonly signal: AbortSignal;
}

/** The socket behind which the server listens. Rejects when the proxy cannot be reached or refuses. */
export function proxyTunnel({ proxyUrl, server, signal }: ProxyTunnelOptions): Promise<Socket> {
  const proxy = new URL(proxyUrl);
  const port = server.port || (server.protocol === 'https:' ? '443' : '80');
  const path = `${server.hostname}:${port}`;
  const { username, password } = proxy;
  const login = Buffer.from(`${decodeURIComponent(username)}:${decodeURIComponent(password)}`).toString('base64');
  const headers = { host: path, ...(username ? { 'proxy-authorization': `Basic ${login}` } : {}) };
  const send = proxy.protocol === 'https:' ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const target = { host: proxy.hostname.replace(/^\[(.*)\]$/, '$1'), port: proxy.port || undefined };
    const request = send({ ...target, method: 'CONNECT', path, headers, signal, agent: false });
    request.once('error', reject);
    request.once('connect', (response, socket) => {
      if (response.statusCode === 200) return resolve(socket);
      socket.destroy();
      const message = `Proxy response (${response.statusCode}) !== 200 when HTTP Tunneling`;
      return reject(Object.assign(new Error(message), { code: 'UND_ERR_ABORTED' }));
    });
    request.end();
  });
}

// Passes a request on to a peer and its answer back, which is how proxies handle everything but upgrades. Used by
// connect-handler.ts. Source: apimachinery pkg/util/proxy (UpgradeAwareHandler, Transport), httputil.ReverseProxy of
// Go.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { pipeline } from 'node:stream';
import { serviceUnavailable } from '@kapstan/api/errors';
import { abortSignalOf } from '@kapstan/api/internal';
import { type Connection, escapePath, formatHostPort } from '../../registry/definition/destination.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { passAnswer } from '../tunnel/pass-answer.ts';
import { answerHeaders, requestHeaders } from '../tunnel/tunnel-headers.ts';
import { linkMender, rewriteHtml } from '../tunnel/tunnel-links.ts';
import { changePage, isMendable } from '../tunnel/tunnel-page.ts';
import { requestPeer } from '../tunnel/tunnel-request.ts';
import type { HandlerPorts } from './resource-call.ts';

type ForwardPorts = Pick<HandlerPorts, 'transport' | 'tunnels'>;

/** Answers the request with the peer's answer. Rejects with 503 when the peer cannot be reached. */
export async function forwardRequest(exchange: Exchange, connection: Connection, ports: ForwardPorts): Promise<void> {
  const isRead = exchange.method === 'GET' || exchange.method === 'HEAD';
  if (connection.path === '' && isRead) return redirectToRoot(exchange);
  const leave = ports.tunnels.add(() => exchange.abort());
  exchange.onClose(leave);
  const prefix = prefixOf(exchange.path, connection.path);
  const response = await ask(exchange, connection, { transport: ports.transport, prefix });
  const status = response.statusCode ?? 0;
  const asked = exchange.header('host') ?? exchange.header(':authority') ?? '';
  const mend = linkMender({ prefix, hosts: [asked, formatHostPort(connection.host, connection.port)] });
  const isPage = exchange.method !== 'HEAD' && isMendable(response);
  for (const [name, value] of answerHeaders(response.rawHeaders)) {
    const key = name.toLowerCase();
    if (isPage && key === 'content-length') continue;
    exchange.addHeader(name, [key === 'location' ? mend(value) : value]);
  }
  if (isPage) return exchange.send(status, await changePage(response, (html) => rewriteHtml(html, mend)));
  await passAnswer(exchange, response);
}

/** Sends the client's headers and body to the peer. */
async function ask(
  exchange: Exchange,
  connection: Connection,
  { transport, prefix }: Pick<ForwardPorts, 'transport'> & { readonly prefix: string },
): Promise<IncomingMessage> {
  const { rawHeaders, rawQuery, socket } = exchange;
  const signal = abortSignalOf(exchange.signal);
  const path = escapePath(connection.path === '' ? '/' : connection.path);
  const headers = requestHeaders({ rawHeaders, client: socket?.remoteAddress, scope: 'request' });
  const send = (request: ClientRequest): void => {
    if (!request.hasHeader('content-length')) request.setHeader('Transfer-Encoding', 'chunked');
    // An error of either side ends the other. The answer may have come first, and then reports the error.
    pipeline(exchange.body, request, () => undefined);
  };
  return requestPeer(transport, connection, {
    method: exchange.method,
    target: rawQuery === '' ? path : `${path}?${rawQuery}`,
    headers: [...headers, ['X-Forwarded-Uri', posix.normalize(`${escapePath(prefix)}${path}`)]],
    ...(exchange.hasBody && { send }),
    signal,
  }).catch((error: Error) => {
    if (signal.aborted) throw error;
    throw serviceUnavailable(`error trying to reach service: ${error.message}`);
  });
}

/** Returns the part of the path before the peer's own. */
function prefixOf(path: string, suffix: string): string {
  return path.endsWith(suffix) ? path.slice(0, path.length - suffix.length) : path;
}

/**
 * Without the final slash, relative links on a root page would lead to a sibling path. Source:
 * proxyRedirectsforRootPath.
 */
function redirectToRoot(exchange: Exchange): void {
  const query = exchange.rawQuery === '' ? '' : `?${exchange.rawQuery}`;
  exchange.setHeader('Location', `${escapePath(exchange.path)}/${query}`);
  exchange.send(301, new Uint8Array(0));
}

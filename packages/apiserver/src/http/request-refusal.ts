// What is no request that an API server could look at, and the short answers that Go's server has for it. Used by http-server.ts.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { hasMalformedPath } from './request-url.ts';
import type { NodeRequest, NodeResponse } from './response-stream.ts';

/** Headers of a request; of more, node:http would drop the rest without a word. */
export const maxHeaders = 2000;

interface Refusal {
  readonly code: number;
  /** Status line and body. */
  readonly text: string;
}

/** Undefined when the request can be looked at. Source: net/http readRequest. */
export function refusalOf(request: NodeRequest): Refusal | undefined {
  if (!('stream' in request)) {
    const refusal = headRefusal(request);
    if (refusal !== undefined) return refusal;
  }
  return hasMalformedPath(request.url ?? '/') ? { code: 400, text: 'Bad Request' } : undefined;
}

function headRefusal({ httpVersionMajor, httpVersionMinor, method, rawHeaders }: IncomingMessage): Refusal | undefined {
  if (httpVersionMajor !== 1) {
    return { code: 505, text: 'HTTP Version Not Supported: unsupported protocol version' };
  }
  if (rawHeaders.length > 2 * maxHeaders) return { code: 431, text: 'Request Header Fields Too Large' };
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (isHost(rawHeaders[i])) hosts++;
  if (hosts > 1) return { code: 400, text: 'Bad Request' };
  if (hosts === 1 || httpVersionMinor === 0 || method === 'CONNECT') return undefined;
  return { code: 400, text: 'Bad Request: missing required Host header' };
}

function isHost(name: string | undefined): boolean {
  return name?.length === 4 && name.toLowerCase() === 'host';
}

export function sendRefusal(response: NodeResponse, { code, text }: Refusal): void {
  response.statusCode = code;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  if (!('stream' in response)) {
    response.statusMessage = text;
    response.setHeader('Connection', 'close');
  }
  response.end(`${code} ${text}`);
}

/** On the connection below: no TLS will come of it. */
export function refusePlainHttp(socket: TLSSocket & { readonly _parent?: Socket }): void {
  socket._parent?.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
}

/** What cannot be parsed. */
export function refuseClient(error: Error & { code?: string }, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const status = error.code === 'HPE_HEADER_OVERFLOW' ? '431 Request Header Fields Too Large' : '400 Bad Request';
  socket.end(`HTTP/1.1 ${status}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${status}`);
}

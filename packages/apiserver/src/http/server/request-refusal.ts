// Detects requests that are malformed at the level of HTTP, and answers them with the short texts of Go's server. Used
// by http-server.ts.
import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { TLSSocket } from 'node:tls';
import { hasMalformedPath } from '../exchange/request-url.ts';
import type { NodeRequest, NodeResponse } from '../exchange/response-stream.ts';

/** Maximum number of headers of a request; node:http would silently drop further ones. */
export const maxHeaders = 2000;

interface Refusal {
  readonly code: number;
  /** The status line, and the body unless `body` is set. */
  readonly text: string;
  /** The body if it differs from the status line. */
  readonly body?: string;
}

/** Returns undefined when the request can be handled. Source: net/http readRequest. */
export function refusalOf(request: NodeRequest): Refusal | undefined {
  if (!('stream' in request)) {
    const refusal = headRefusal(request);
    if (refusal !== undefined) return refusal;
  }
  return hasMalformedPath(request.url ?? '/') ? { code: 400, text: 'Bad Request' } : undefined;
}

function headRefusal({
  httpVersionMajor,
  httpVersionMinor,
  method,
  rawHeaders,
  headers,
}: IncomingMessage): Refusal | undefined {
  if (httpVersionMajor !== 1) return otherVersion;
  if (rawHeaders.length > 2 * maxHeaders) return { code: 431, text: 'Request Header Fields Too Large' };
  const encoding = headers['transfer-encoding'];
  if (encoding !== undefined && httpVersionMinor > 0 && encoding.toLowerCase() !== 'chunked') return otherEncoding;
  let hosts = 0;
  for (let i = 0; i < rawHeaders.length; i += 2) if (isHost(rawHeaders[i])) hosts++;
  if (hosts > 1) return { code: 400, text: 'Bad Request' };
  if (hosts === 1) return hostSigns.test(headers.host ?? '') ? undefined : malformedHost;
  if (httpVersionMinor === 0 || method === 'CONNECT') return undefined;
  return { code: 400, text: 'Bad Request: missing required Host header' };
}

const otherVersion: Refusal = { code: 505, text: 'HTTP Version Not Supported: unsupported protocol version' };
const otherEncoding: Refusal = { code: 501, text: 'Not Implemented', body: 'Unsupported transfer encoding' };
const malformedHost: Refusal = { code: 400, text: 'Bad Request: malformed Host header' };
/** Source: httpguts.ValidHostHeader. */
const hostSigns = /^[\w!$%&'()*+,\-.:;=[\]~]*$/;

function isHost(name: string | undefined): boolean {
  return name?.length === 4 && name.toLowerCase() === 'host';
}

/** Requests that got their last answer: the bytes after a refused head may be unreadable. */
const refused = new WeakSet<object>();

export function sendRefusal(response: NodeResponse, { code, text, body }: Refusal): void {
  response.statusCode = code;
  response.setHeader('Content-Type', 'text/plain; charset=utf-8');
  if (!('stream' in response)) {
    response.statusMessage = text;
    response.setHeader('Connection', 'close');
    if (response.socket !== null) refused.add(response.socket);
  }
  response.end(body ?? `${code} ${text}`);
}

/** Answers on the plain connection, because no TLS connection will be made. */
export function refusePlainHttp(socket: TLSSocket & { readonly _parent?: Socket }): void {
  socket._parent?.end('HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n');
}

/** Node's error for a head that it cannot read, with the position in the bytes. */
interface HeadError extends Error {
  readonly code?: string;
  readonly reason?: string;
  readonly rawPacket?: Uint8Array;
  readonly bytesParsed?: number;
}

/** Answers bytes that cannot be parsed. */
export function refuseClient(error: HeadError, socket: Socket): void {
  if (refused.has(socket)) return void socket.destroySoon();
  if (error.code === 'ECONNRESET' || !socket.writable) return void socket.destroy();
  const { code, text, body = `${code} ${text}` } = unreadableRefusal(error);
  socket.end(`HTTP/1.1 ${code} ${text}\r\nContent-Type: text/plain; charset=utf-8\r\nConnection: close\r\n\r\n${body}`);
}

function unreadableRefusal({ code, reason, rawPacket, bytesParsed = 0 }: HeadError): Refusal {
  if (code === 'HPE_HEADER_OVERFLOW') return { code: 431, text: 'Request Header Fields Too Large' };
  if (code === 'HPE_INVALID_TRANSFER_ENCODING') return otherEncoding;
  // Well formed, but a version that does not exist.
  if (reason === 'Invalid HTTP version') return otherVersion;
  const rest = reason === 'Invalid header token' ? Buffer.from(rawPacket?.subarray(bytesParsed) ?? []) : Buffer.of();
  const isBlankInName = /^ [^\r\n]*:/.test(rest.toString('latin1'));
  return { code: 400, text: isBlankInName ? 'Bad Request: invalid header name' : 'Bad Request' };
}

// Sends one request of this server to a peer, for proxies and logs, on its own connection. Used by tunnel-forward.ts
// and tunnel-bytes.ts.
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { dialError } from '../../peer/dial-error.ts';
import { type Destination, escapePath, formatHostPort } from '../../registry/definition/destination.ts';
import type { HeaderList } from './tunnel-headers.ts';
import type { TunnelTransport } from './tunnel-transport.ts';

export interface PeerRequest {
  readonly method: string;
  /** Path, with "?" and the query if there is one. Absent = the destination's own path and query. */
  readonly target?: string;
  readonly headers: HeaderList;
  /** Sends the body and ends it. Default: no body. */
  readonly send?: (request: ClientRequest) => void;
  /** Ends the request and its answer. */
  readonly signal: AbortSignal;
}

/**
 * Returns the head of the answer, whose body must be read or destroyed; the connection ends with it. Rejects with
 * DialError, and with the signal's reason.
 */
export async function requestPeer(
  transport: TunnelTransport,
  destination: Destination,
  { method, target, headers, send, signal }: PeerRequest,
): Promise<IncomingMessage> {
  const socket = await transport.connect(destination, signal);
  const { host, port, path, query = '' } = destination;
  const request = httpRequest({
    method,
    path: target ?? `${escapePath(path)}${query === '' ? '' : `?${query}`}`,
    createConnection: () => socket,
    setHost: false,
    signal,
  });
  for (const [name, values] of grouped(headers))
    request.setHeader(name, values.length === 1 ? (values[0] ?? '') : values);
  if (!request.hasHeader('host')) request.setHeader('Host', formatHostPort(host, port));
  return new Promise((resolve, reject) => {
    request.once('response', resolve);
    // Errors after the answer has begun belong to the answer; without a listener they would end the process.
    request.on('error', (error) => reject(signal.aborted ? signal.reason : dialError(error, destination)));
    request.once('close', () => socket.destroy());
    if (send === undefined) request.end();
    else send(request);
  });
}

function grouped(headers: HeaderList): ReadonlyMap<string, readonly string[]> {
  const byName = new Map<string, { readonly name: string; readonly values: string[] }>();
  for (const [name, value] of headers) {
    const entry = byName.get(name.toLowerCase()) ?? { name, values: [] };
    entry.values.push(value);
    byName.set(name.toLowerCase(), entry);
  }
  return new Map([...byName.values()].map(({ name, values }) => [name, values]));
}

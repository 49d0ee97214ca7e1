// Fetches bytes from a peer for this server's own answer, such as logs. Used by get-handler.ts. Source: apiserver
// registry/generic/rest (LocationStreamer).
import type { IncomingMessage } from 'node:http';
import { type Destination, formatDestination } from '../../registry/definition/destination.ts';
import { type AskedObject, peerRefusal } from './tunnel-refusal.ts';
import { requestPeer } from './tunnel-request.ts';
import type { TunnelTransport } from './tunnel-transport.ts';

export interface BytesRequest extends AskedObject {
  readonly transport: TunnelTransport;
  readonly signal: AbortSignal;
}

/** Maximum number of bytes of a refusal that are read. */
const maxRefusalBytes = 50_000;
const redirects: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);

/** Returns the bytes as they come. Rejects with the peer's refusal, in kube-apiserver's words. */
export async function bytesFrom(destination: Destination, request: BytesRequest): Promise<IncomingMessage> {
  const { transport, signal } = request;
  const headers = [['User-Agent', 'kapstan']] as const;
  const response = await requestPeer(transport, destination, { method: 'GET', headers, signal }).catch(
    (error: Error) => {
      throw signal.aborted ? error : new Error(`Get "${formatDestination(destination)}": ${error.message}`);
    },
  );
  const { statusCode = 0 } = response;
  const { location = '' } = response.headers;
  if (redirects.has(statusCode) && location !== '') {
    response.destroy();
    throw new Error(`Get "${location}": redirects forbidden`);
  }
  if (statusCode < 200 || statusCode > 206) throw peerRefusal(statusCode, await readStart(response), request);
  return response;
}

async function readStart(response: IncomingMessage): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of response as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    size += piece.length;
    if (size >= maxRefusalBytes) break;
  }
  return Buffer.concat(pieces).subarray(0, maxRefusalBytes).toString();
}

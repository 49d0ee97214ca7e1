// What is left of a request's body when its answer goes out: dropped while it is little, else cut off with the
// connection. Used by exchange.ts. Source: net/http of Go (maxPostHandlerReadBytes, closeAfterReply, rstAvoidanceDelay).
import { constants } from 'node:http2';
import type { Clock } from '@kapstan/api';
import type { NodeRequest, NodeResponse } from './response-stream.ts';

/** More than this is not read only to keep a connection. */
const maxDroppedBytes = 256 * 1024;
/** Time for a peer that still sends to read its answer: a connection closed with bytes unread loses it. */
const lingerMs = 500;

/** True when the body has not come whole and is too long to wait for. */
export function isRestLong(request: NodeRequest): boolean {
  return isRestComing(request) && Number(request.headers['content-length'] ?? 0) > maxDroppedBytes;
}

/** True when the body has not come whole. */
export function isRestComing(request: NodeRequest): boolean {
  if (request.complete) return false;
  if ('stream' in request) return !request.stream.endAfterHeaders;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** Reads the rest so that the connection can be used again, and cuts it off when it is too much for that. */
export function dropRest(request: NodeRequest): void {
  let bytes = 0;
  if (isRestComing(request)) {
    request.on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes <= maxDroppedBytes) return;
      if ('stream' in request) request.stream.close(constants.NGHTTP2_NO_ERROR);
      else request.destroy();
    });
  }
  request.resume();
}

/**
 * Sends the last of an answer whose head says that the connection is over. An HTTP/1.1 connection is closed when the
 * body has ended or after a moment; of an HTTP/2 connection only the stream is closed (RFC 9113 §8.1: NO_ERROR).
 */
export function endAndCut(
  request: NodeRequest,
  response: NodeResponse,
  { body, clock }: { readonly body: Uint8Array | undefined; readonly clock: Clock },
): void {
  if ('stream' in response) {
    const { stream } = response;
    // Not at once: a reset overtakes the last of the answer, which then looks broken. Unread, the rest stops by flow control.
    const cancel = clock.setBackgroundTimer(() => stream.close(constants.NGHTTP2_NO_ERROR), lingerMs);
    stream.once('close', cancel);
    response.end(body ?? '');
    return;
  }
  request.resume();
  if (body === undefined) response.flushHeaders();
  else response.write(body);
  const end = (): void => {
    cancel();
    response.end();
  };
  const cancel = clock.setBackgroundTimer(end, lingerMs);
  request.once('end', end);
  request.once('close', end);
}

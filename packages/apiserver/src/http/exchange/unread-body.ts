// Handles the part of a request's body that is unread when its answer is sent: a short rest is read and dropped, a long
// one ends with the connection. Used by exchange.ts. Source: net/http of Go (maxPostHandlerReadBytes, closeAfterReply,
// rstAvoidanceDelay).
import { constants } from 'node:http2';
import type { Clock } from '@kapstan/api';
import type { NodeRequest, NodeResponse } from './response-stream.ts';

/** A longer rest is not worth reading merely to keep the connection. */
const maxDroppedBytes = 256 * 1024;
/**
 * Time for a peer that is still sending to read its answer: closing a connection with unread bytes would lose the
 * answer.
 */
const lingerMs = 500;

/** True when the body has not arrived whole and is too long to wait for. */
export function isRestLong(request: NodeRequest): boolean {
  return isRestComing(request) && Number(request.headers['content-length'] ?? 0) > maxDroppedBytes;
}

/** True when the body has not arrived whole. */
export function isRestComing(request: NodeRequest): boolean {
  if (request.complete) return false;
  if ('stream' in request) return !request.stream.endAfterHeaders;
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** Reads the rest so that the connection can be used again; cuts it off if the rest is too long. */
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
 * Sends the last part of an answer whose head says that the connection ends. HTTP/1.1: closes the connection when the
 * body has ended or after a moment. HTTP/2: closes only the stream (RFC 9113 §8.1: NO_ERROR).
 */
export function endAndCut(
  request: NodeRequest,
  response: NodeResponse,
  { body, clock }: { readonly body: Uint8Array | undefined; readonly clock: Clock },
): void {
  if ('stream' in response) {
    const { stream } = response;
    // The stream is reset only later, because a reset overtakes the end of the answer, which then looks broken. Flow
    // control stops the rest.
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

// Reads the body of a request whole. Part of exchange.ts.
import { badRequest, requestEntityTooLarge } from '@kapstan/api/errors';
import type { CallSignal } from '@kapstan/api/internal';
import type { NodeRequest } from './response-stream.ts';

// This error is made once, because every request ends with it and its stack trace would say nothing.
export const connectionClosed: Error = new Error('the connection was closed');

export function tooLarge(limitBytes: number): Error {
  return requestEntityTooLarge(`limit is ${limitBytes}`);
}

/**
 * Resolves at the end of the body. Events are cheaper than an async iterator per request. The signal ends the wait too,
 * because a peer that sends a byte a minute must not hold a place among the requests.
 */
export function readAll(request: NodeRequest, limitBytes: number, signal: CallSignal): Promise<Uint8Array> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  return new Promise((resolve, reject) => {
    let isOver = false;
    // Every request closes in the end. The error is made only for bodies not yet read, because its trace costs as much
    // as the parsing.
    const fail = (error: Error): void => {
      if (!isOver) reject(badRequest(`error reading the request body: ${error.message}`));
      isOver = true;
    };
    if (request.destroyed || signal.aborted) return fail(connectionClosed);
    request.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size <= limitBytes) chunks.push(chunk);
      else reject(tooLarge(limitBytes));
    });
    request.once('end', () => {
      isOver = true;
      resolve(chunks.length === 1 && chunks[0] !== undefined ? chunks[0] : Buffer.concat(chunks));
    });
    request.once('error', fail);
    request.once('close', () => fail(connectionClosed));
    signal.addEventListener('abort', () => fail(connectionClosed), { once: true });
  });
}

// Passes a peer's answer on to the client as bytes, as fast as the client takes them. Used by tunnel-forward.ts and the
// proxy of aggregated API servers.
import type { IncomingMessage } from 'node:http';
import type { Exchange } from '../exchange/exchange.ts';

/**
 * Resolves when the whole answer is written. When the peer breaks off, the answer to the client is broken off too, and the promise rejects.
 * It listens to events, because a watch passes thousands of pieces and an iterator would make promises for each.
 */
export function passAnswer(exchange: Exchange, response: IncomingMessage): Promise<void> {
  const stream = exchange.open(response.statusCode ?? 0, 'passed');
  return new Promise((resolve, reject) => {
    const fail = (error: Error): void => {
      stream.abort();
      reject(error);
    };
    const resume = (): void => {
      if (stream.isClosed) response.destroy();
      else response.resume();
    };
    response.on('data', (piece: Uint8Array) => {
      if (stream.isClosed || stream.write(piece)) return;
      response.pause();
      void stream.drained().then(resume);
    });
    response.once('end', () => {
      stream.end();
      resolve();
    });
    response.once('error', fail);
    response.once('close', () => {
      if (!response.complete) fail(new Error('unexpected EOF'));
    });
    exchange.onClose(() => {
      response.destroy();
      resolve();
    });
  });
}

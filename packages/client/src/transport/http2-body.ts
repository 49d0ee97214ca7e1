// The body of an answer over HTTP/2. Node ends the stream of a broken connection without an error, which a reader would mistake for the end
// of the answer. This body then emits an error. Made by http2-connection.ts.
import { type ClientHttp2Stream, constants } from 'node:http2';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import type { AnswerBody } from './sender.ts';

// Beyond this, the window of the stream holds back the server.
const bufferedBytes = 65_536;

/**
 * Returns a function that tells whether the server has ended the body of a stream that has just begun. Node pushes null for that, and once
 * more when the server resets the stream without an error code, but then the stream is closed already.
 */
export function bodyEnd(stream: ClientHttp2Stream): () => boolean {
  let isEnded = false;
  const push = stream.push.bind(stream);
  stream.push = (chunk, encoding) => {
    if (chunk === null && !stream.closed) isEnded = true;
    return push(chunk, encoding);
  };
  return () => isEnded;
}

export class Http2Body extends Readable implements AnswerBody {
  readonly #stream: ClientHttp2Stream;

  /** `isEnded` is from {@link bodyEnd}. */
  constructor(stream: ClientHttp2Stream, isEnded: () => boolean) {
    super({ highWaterMark: bufferedBytes });
    this.#stream = stream;
    stream.on('data', (chunk: Buffer) => {
      if (!this.push(chunk)) stream.pause();
    });
    stream.once('end', () => {
      if (isEnded()) this.push(null);
      else this.destroy(connectionLost());
    });
    // No reader has requested data yet.
    stream.pause();
    // A body may break before its reader listens.
    this.on('error', () => undefined);
  }

  text(): Promise<string> {
    return text(this);
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    // A stream that was read to its end closes by itself; a reset would only cost the server work.
    if (!this.#stream.readableEnded && !this.#stream.closed) this.#stream.close(constants.NGHTTP2_CANCEL);
    callback(error);
  }
}

/** Returns an error with the text of Go's transport, which readers of logs can look up. */
export function connectionLost(): Error {
  return Object.assign(new Error('http2: client connection lost'), { code: 'ECONNRESET' });
}

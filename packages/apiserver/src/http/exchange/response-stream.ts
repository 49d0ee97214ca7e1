// ResponseStream: the body of an answer while it is written, the same for HTTP/1.1 and HTTP/2. Made by exchange.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { SharedFrames } from './shared-frames.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The body of an answer while it is written. Writes after `end` are ignored. */
export interface ResponseStream {
  /**
   * Writes bytes. Returns false when the peer is slower than we are: wait for {@link ResponseStream.drained}. The
   * caller must not change the bytes before `onTaken` is called, which never happens if the stream fails.
   */
  write(bytes: Uint8Array, onTaken?: () => void): boolean;
  /**
   * Does what {@link ResponseStream.write} does, for frames that many readers get. The frames go out in one write
   * where the reader cannot tell the difference. Use only one of the two methods on a stream.
   */
  writeShared(frames: readonly Uint8Array[]): boolean;
  /** False when each write is one message, so that a message must be written whole. */
  readonly takesPieces: boolean;
  /** Resolves when more can be written, or the stream is closed. */
  drained(): Promise<void>;
  /** Bytes accepted but not yet handed to the operating system. */
  readonly bufferedBytes: number;
  readonly isClosed: boolean;
  /** Collects writes until {@link ResponseStream.uncork}. */
  cork(): void;
  uncork(): void;
  end(): void;
  /** Cuts the connection (HTTP/1.1) or the stream (HTTP/2), so that the peer sees the body is incomplete. */
  abort(): void;
}

export interface ResponseStreamOptions {
  /** Calls `end` when the body may end. Default: at once. */
  readonly whenMayEnd?: (end: () => void) => void;
  /** Receives the length of each write, in bytes. */
  readonly onWrite?: (bytes: number) => void;
}

/** The body of an answer of Node's HTTP servers. */
export class NodeResponseStream implements ResponseStream {
  readonly takesPieces = true;
  readonly #response: NodeResponse;
  /** The stream of HTTP/2, or the response of HTTP/1.1. */
  readonly #sink: ServerResponse | Http2ServerResponse['stream'];
  readonly #options: ResponseStreamOptions;
  #isClosed = false;

  constructor(response: NodeResponse, options: ResponseStreamOptions = {}) {
    this.#response = response;
    this.#options = options;
    this.#sink = 'stream' in response ? response.stream : response;
    const close = (): void => {
      this.#isClosed = true;
    };
    this.#sink.once('close', close);
    // "close" reports a peer that resets the stream; without an error listener it would end the process.
    this.#sink.on('error', close);
  }

  get isClosed(): boolean {
    return this.#isClosed || this.#sink.destroyed || this.#sink.writableEnded;
  }

  get bufferedBytes(): number {
    return this.#sink.writableLength;
  }

  write(bytes: Uint8Array, onTaken?: () => void): boolean {
    if (this.isClosed) return true;
    this.#options.onWrite?.(bytes.length);
    return onTaken === undefined ? this.#sink.write(bytes) : this.#sink.write(bytes, unlessFailed(onTaken));
  }

  writeShared(frames: readonly Uint8Array[]): boolean {
    const length = lengthOf(frames);
    if (this.isClosed || length === 0) return true;
    this.#options.onWrite?.(length);
    const response = this.#response;
    return 'stream' in response ? response.stream.write(joined(frames)) : writeChunk(response, frames);
  }

  drained(): Promise<void> {
    return waitForDrain(this.#sink, () => this.isClosed);
  }

  cork(): void {
    this.#sink.cork();
  }

  uncork(): void {
    this.#sink.uncork();
  }

  end(): void {
    if (this.isClosed) return;
    this.#isClosed = true;
    const { whenMayEnd } = this.#options;
    if (whenMayEnd === undefined) this.#sink.end();
    else whenMayEnd(() => void this.#sink.end());
  }

  abort(): void {
    abortResponse(this.#response);
  }
}

/** Wraps a callback for Node's streams so that it runs only on success. */
export function unlessFailed(onTaken: () => void): (error?: Error | null) => void {
  return (error) => {
    if (error === undefined || error === null) onTaken();
  };
}

// All readers share one joined buffer per write; TLS would join the parts again for each reader.
const joins = new SharedFrames((frames) => Buffer.concat(frames));
const chunks = new SharedFrames((frames) => {
  const head = Buffer.from(`${lengthOf(frames).toString(16)}\r\n`);
  return Buffer.concat([head, ...frames, Buffer.from('\r\n')]);
});

function joined(frames: readonly Uint8Array[]): Uint8Array {
  return frames.length === 1 ? (frames[0] as Uint8Array) : joins.of(frames);
}

function lengthOf(frames: readonly Uint8Array[]): number {
  let length = 0;
  for (const frame of frames) length += frame.length;
  return length;
}

/**
 * Writes the frames as one HTTP/1.1 chunk. Where there are no chunks the bytes are written unchanged: to HTTP/1.0
 * clients and before the head is made.
 */
function writeChunk(response: ServerResponse, frames: readonly Uint8Array[]): boolean {
  if (!response.chunkedEncoding) return response.write(joined(frames));
  response.chunkedEncoding = false;
  try {
    return response.write(chunks.of(frames));
  } finally {
    response.chunkedEncoding = true;
  }
}

interface Drainable {
  readonly writableNeedDrain: boolean;
  once(event: 'drain' | 'close', listener: () => void): unknown;
  off(event: 'drain' | 'close', listener: () => void): unknown;
}

/** Resolves when the sink takes more, or is closed. */
export function waitForDrain(sink: Drainable, isClosed: () => boolean): Promise<void> {
  if (isClosed() || !sink.writableNeedDrain) return Promise.resolve();
  return new Promise((resolve) => {
    const done = (): void => {
      sink.off('drain', done);
      sink.off('close', done);
      resolve();
    };
    sink.once('drain', done);
    sink.once('close', done);
  });
}

/** Cuts the connection (HTTP/1.1) or the stream (HTTP/2). */
export function abortResponse(response: NodeResponse): void {
  if ('stream' in response) response.stream.close(constants.NGHTTP2_INTERNAL_ERROR);
  else response.destroy();
}

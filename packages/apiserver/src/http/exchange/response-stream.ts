// ResponseStream: the body of an answer while it is written, the same for HTTP/1.1 and HTTP/2. Made by exchange.ts.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { constants, type Http2ServerRequest, type Http2ServerResponse } from 'node:http2';
import { SharedFrames } from './shared-frames.ts';

export type NodeRequest = IncomingMessage | Http2ServerRequest;
export type NodeResponse = ServerResponse | Http2ServerResponse;

/** The body of an answer while it is written. Writes after `end` are ignored. */
export interface ResponseStream {
  /**
   * False: the peer is slower than we are; wait for {@link ResponseStream.drained}. The bytes must not be changed before `onTaken`
   * is called, which it is not where the stream fails.
   */
  write(bytes: Uint8Array, onTaken?: () => void): boolean;
  /**
   * As {@link ResponseStream.write}, for frames that many readers get: together, where that says the same. A stream is written in
   * one of the two ways.
   */
  writeShared(frames: readonly Uint8Array[]): boolean;
  /** False: each frame is a message, so it is written whole. */
  readonly takesPieces: boolean;
  /** Resolves when more can be written, and when the stream is closed. */
  drained(): Promise<void>;
  /** Bytes accepted and not yet handed to the system. */
  readonly bufferedBytes: number;
  readonly isClosed: boolean;
  /** Collects writes until {@link ResponseStream.uncork}. */
  cork(): void;
  uncork(): void;
  end(): void;
  /** Cuts the connection (HTTP/1.1) or the stream (HTTP/2): the peer sees that the body is not whole. */
  abort(): void;
}

export interface ResponseStreamOptions {
  /** Calls back when the body may end. Default: at once. */
  readonly whenMayEnd?: (end: () => void) => void;
  /** Told the length of what is written. */
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
    // A peer that resets the stream is told by "close"; without a listener the error would end the process.
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

/** For the callbacks of Node's streams. */
export function unlessFailed(onTaken: () => void): (error?: Error | null) => void {
  return (error) => {
    if (error === undefined || error === null) onTaken();
  };
}

// One buffer a write for all readers, where TLS would join the parts anew for each.
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
 * The frames as one chunk of HTTP/1.1. Without chunks, as to a client of HTTP/1.0 and before the head is made, the bytes go as
 * they are.
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

/** Resolves when the sink takes more, and when it is closed. */
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

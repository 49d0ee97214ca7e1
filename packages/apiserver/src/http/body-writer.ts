// BodyWriter: a body of unknown length in pieces. Small ones go out whole with their length, large ones as a stream
// with backpressure and, where the client takes it, gzip. Source of the threshold and level: apiserver responsewriters.
import { createGzip } from 'node:zlib';
import type { Clock } from '@kapstan/api';
import type { Exchange } from './exchange.ts';
import type { ResponseStream } from './response-stream.ts';

/** Answers above this are compressed and streamed. */
const streamThresholdBytes = 128 * 1024;
const pieceBytes = 256 * 1024;
/** Longest stretch of encoding before others get their turn, in milliseconds. */
const sliceMs = 8;

interface BodySink {
  write(bytes: Uint8Array): boolean;
  drained(): Promise<void>;
  end(): void;
}

export class BodyWriter {
  readonly #exchange: Exchange;
  readonly #status: number;
  readonly #clock: Clock;
  #parts: Uint8Array[] = [];
  #size = 0;
  #sink: BodySink | undefined;
  #stream: ResponseStream | undefined;
  #sliceStartMs: number;

  constructor(exchange: Exchange, answer: { readonly status: number; readonly clock: Clock }) {
    this.#exchange = exchange;
    this.#status = answer.status;
    this.#clock = answer.clock;
    this.#sliceStartMs = answer.clock.monotonicNow();
  }

  /** Takes bytes without waiting; they must not change. Call {@link BodyWriter.breathe} now and then. */
  push(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  /** True when {@link BodyWriter.breathe} has something to do. */
  get needsBreath(): boolean {
    return this.#size >= pieceBytes || this.#clock.monotonicNow() - this.#sliceStartMs >= sliceMs;
  }

  /** Sends what is there, waits for a slow peer, lets others run. False when the peer is gone. */
  async breathe(): Promise<boolean> {
    if (this.#size > streamThresholdBytes) this.#flush();
    await this.#sink?.drained();
    await new Promise<void>((resolve) => setImmediate(resolve));
    this.#sliceStartMs = this.#clock.monotonicNow();
    return !this.#exchange.signal.aborted && this.#stream?.isClosed !== true;
  }

  finish(): void {
    if (this.#sink === undefined && this.#size <= streamThresholdBytes) {
      this.#exchange.send(this.#status, Buffer.concat(this.#parts));
      return;
    }
    this.#flush();
    this.#sink?.end();
  }

  /** After a failure in the middle: the peer must not take what it has for the whole. */
  abort(): void {
    this.#stream?.abort();
  }

  #flush(): void {
    this.#sink ??= this.#open();
    if (this.#size > 0)
      this.#sink.write(this.#parts.length === 1 && this.#parts[0] ? this.#parts[0] : Buffer.concat(this.#parts));
    this.#parts = [];
    this.#size = 0;
  }

  #open(): BodySink {
    const isGzip = acceptsGzip(this.#exchange.header('accept-encoding'));
    if (isGzip) {
      this.#exchange.setHeader('Content-Encoding', 'gzip');
      this.#exchange.setHeader('Vary', 'Accept-Encoding');
    }
    const stream = this.#exchange.open(this.#status);
    this.#stream = stream;
    return isGzip ? gzipSink(stream) : stream;
  }
}

function gzipSink(stream: ResponseStream): BodySink {
  const gzip = createGzip({ level: 1 });
  gzip.on('data', (chunk: Uint8Array) => {
    if (stream.write(chunk)) return;
    gzip.pause();
    void stream.drained().then(() => gzip.resume());
  });
  gzip.on('end', () => stream.end());
  gzip.on('error', () => stream.abort());
  return {
    write: (bytes) => gzip.write(bytes),
    drained: () =>
      !gzip.writableNeedDrain || stream.isClosed
        ? Promise.resolve()
        : new Promise<void>((resolve) => {
            gzip.once('drain', resolve);
            void stream.drained().then(() => {
              if (stream.isClosed) resolve();
            });
          }),
    end: () => {
      gzip.end();
    },
  };
}

/** Source: responsewriters.negotiateContentEncoding: the word decides, not its quality. */
function acceptsGzip(header: string | undefined): boolean {
  return (header ?? '').split(',').some((part) => (part.split(';')[0] ?? '').trim() === 'gzip');
}

// BodyWriter sends a body of unknown length in pieces. A small body goes out whole with its length, a large one as a
// stream with backpressure and, if the client accepts it, gzip. Source of the threshold and level: apiserver
// responsewriters.
import { createGzip } from 'node:zlib';
import type { Clock } from '@kapstan/api';
import { type CallSignal, TurnSlice } from '@kapstan/api/internal';
import type { Span } from '../../tracing/span.ts';
import { sendTraced, startSerializing } from './encoding-trace.ts';
import type { Exchange } from './exchange.ts';
import { type ResponseStream, unlessFailed } from './response-stream.ts';

/** Answers larger than this are compressed and streamed. */
const streamThresholdBytes = 128 * 1024;
const pieceBytes = 256 * 1024;
/** Size of a buffer. A piece ends after the item that passes `pieceBytes`, so most pieces fit with this reserve. */
const roomBytes = pieceBytes + 64 * 1024;

interface BodySink {
  write(bytes: Uint8Array, onTaken?: () => void): boolean;
  drained(): Promise<void>;
  end(): void;
}

export interface BodyAnswer {
  readonly status: number;
  readonly clock: Clock;
  /** Media type that the span of the encoding names. Absent = nothing is encoded, so there is no span. */
  readonly mediaType?: string;
}

export class BodyWriter {
  readonly #exchange: Exchange;
  readonly #status: number;
  readonly #slice: TurnSlice;
  #parts: Uint8Array[] = [];
  #size = 0;
  /** Buffers whose bytes the sink has taken completely. */
  readonly #free: Buffer[] = [];
  #sink: BodySink | undefined;
  #stream: ResponseStream | undefined;
  readonly #span: Span | undefined;
  #written = 0;

  constructor(exchange: Exchange, answer: BodyAnswer) {
    this.#exchange = exchange;
    this.#status = answer.status;
    this.#span = answer.mediaType === undefined ? undefined : startSerializing(exchange, answer.mediaType);
    this.#slice = new TurnSlice({ clock: answer.clock, itemsPerLook: 1 });
  }

  /** Ends work for the answer when the peer is gone or its time is over. */
  get signal(): CallSignal {
    return this.#exchange.signal;
  }

  /** Takes bytes without waiting. The caller must not change them. Call {@link BodyWriter.breathe} now and then. */
  push(bytes: Uint8Array): void {
    this.#parts.push(bytes);
    this.#size += bytes.length;
  }

  /** True when {@link BodyWriter.breathe} has something to do. */
  get needsBreath(): boolean {
    return this.#size >= pieceBytes || this.#slice.endsHere();
  }

  /** Sends the collected bytes, waits for a slow peer and lets other work run. Returns false when the peer is gone. */
  async breathe(): Promise<boolean> {
    if (this.#exchange.signal.aborted) return false;
    if (this.#size > streamThresholdBytes) this.#flush();
    await this.#sink?.drained();
    await this.#slice.nextTurn();
    return !this.#exchange.signal.aborted && this.#stream?.isClosed !== true;
  }

  finish(): void {
    if (this.#sink === undefined && this.#size <= streamThresholdBytes) {
      const [first] = this.#parts;
      const body = this.#parts.length === 1 && first !== undefined ? first : Buffer.concat(this.#parts);
      sendTraced(this.#exchange, this.#status, { body, span: this.#span });
      return;
    }
    this.#flush();
    this.#sink?.end();
    this.#span?.addEvent('Write call succeeded', { size: this.#written });
    this.#span?.end();
  }

  /** Cuts the answer after a failure in the middle, so that the peer does not take the part it has for the whole. */
  abort(): void {
    this.#stream?.abort();
    this.#span?.end();
  }

  #flush(): void {
    if (this.#sink === undefined) this.#span?.addEvent('About to start writing response', { size: this.#size });
    this.#sink ??= this.#open();
    this.#written += this.#size;
    if (this.#size > 0) this.#writeParts(this.#sink);
    this.#parts = [];
    this.#size = 0;
  }

  /**
   * Joins the parts in a buffer that the sink has emptied, because new buffers for a large list are expensive to
   * allocate and collect.
   */
  #writeParts(sink: BodySink): void {
    const [first] = this.#parts;
    if (this.#parts.length === 1 && first !== undefined) return void sink.write(first);
    let piece = this.#free.pop();
    if (piece === undefined || piece.length < this.#size)
      piece = Buffer.allocUnsafeSlow(Math.max(this.#size, roomBytes));
    const joined = piece;
    let length = 0;
    for (const part of this.#parts) {
      joined.set(part, length);
      length += part.length;
    }
    sink.write(joined.subarray(0, length), () => this.#free.push(joined));
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
    write: (bytes, onTaken) => gzip.write(bytes, onTaken && unlessFailed(onTaken)),
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

/** Only the bare word counts, not one with a quality value. Source: apiserver responsewriters.negotiateContentEncoding. */
function acceptsGzip(header: string | undefined): boolean {
  return (header ?? '').split(',').some((part) => part.trim() === 'gzip');
}

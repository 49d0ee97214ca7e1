// WatchResponse: the stream of one watch. Takes events from the store at any speed, writes shared frames to the socket
// as fast as the peer reads, ends a peer that falls too far behind. spec/storage.md §5.6.
import type { UnstructuredObject } from '@kapstan/api';
import type { StorageEvent, StorageWatchSink } from '@kapstan/storage';
import type { Exchange, ResponseStream } from './exchange.ts';
import type { TurnFlusher } from './turn-flusher.ts';
import type { WatchFrames, WatchItem } from './watch-frames.ts';

export interface WatchResponseOptions {
  readonly frames: WatchFrames;
  readonly allowBookmarks: boolean;
  /** Bytes of live events that may wait for the peer; the initial events do not count. */
  readonly maxBufferedBytes: number;
  readonly flusher: TurnFlusher;
  /** The peer was too slow and its watch is ended. */
  onOverflow(): void;
  /** The stream is over, for whatever reason. Called once. */
  onEnd(): void;
}

/** Live events as bytes, which are shared; initial ones as they came, to be encoded when the socket has room. */
type Pending = WatchItem | { readonly type: 'FRAME'; readonly bytes: Uint8Array };

/** Bytes written to a socket before others get their turn. */
const sliceBytes = 256 * 1024;

/**
 * Events wait as references until the socket takes them, so the initial events of a large list cost no copy. Live
 * events are bounded by `maxBufferedBytes`; beyond it the stream ends and the client resumes from its last version.
 */
export class WatchResponse implements StorageWatchSink<UnstructuredObject> {
  readonly #options: WatchResponseOptions;
  #stream: ResponseStream | undefined;
  #queue: Pending[] = [];
  #head = 0;
  /** Size of the live events in the queue. */
  #waitingBytes = 0;
  #isInitial = true;
  #isScheduled = false;
  #isEnding = false;
  #isEnded = false;
  #hasBegun = false;

  constructor(options: WatchResponseOptions) {
    this.#options = options;
  }

  /** The failure that came before the stream was opened, if any: it can still be a plain answer. */
  get earlyError(): Error | undefined {
    const first = this.#queue[0];
    return this.#stream === undefined && first?.type === 'ERROR' ? first.error : undefined;
  }

  /** Sends the head and what has come so far. */
  open(exchange: Exchange): void {
    this.#stream = exchange.open(200);
    this.#schedule();
  }

  /** From here on events are live. Call when the initial events are known to be over. */
  endInitialEvents(): void {
    this.#isInitial = false;
  }

  onEvent(event: StorageEvent<UnstructuredObject>): void {
    if (this.#isEnding) return;
    const isInitial = this.#isInitial;
    if (event.type === 'BOOKMARK') {
      if (event.initialEventsEnd) this.#isInitial = false;
      if (!this.#options.allowBookmarks) return;
    }
    // The first event carries the columns of a Table, so it is made before those that come later.
    if (isInitial && this.#hasBegun) this.#queue.push(event);
    else this.#pushFrame(event, isInitial ? Number.POSITIVE_INFINITY : this.#options.maxBufferedBytes);
    this.#hasBegun = true;
    this.#schedule();
  }

  #pushFrame(event: StorageEvent<UnstructuredObject>, maxBufferedBytes: number): void {
    const bytes = this.#options.frames.of(event);
    if (bytes === undefined) return this.finish();
    this.#waitingBytes += bytes.length;
    const buffered = this.#waitingBytes + (this.#stream?.bufferedBytes ?? 0);
    if (buffered > maxBufferedBytes) this.#overflow();
    else this.#queue.push({ type: 'FRAME', bytes });
  }

  onEnd(error?: Error): void {
    if (this.#isEnding) return;
    if (error !== undefined) this.#queue.push({ type: 'ERROR', error });
    this.finish();
  }

  /** Ends the stream after what waits: the time is up, or the store said so. */
  finish(): void {
    this.#isEnding = true;
    this.#schedule();
  }

  /** Ends the stream at once: the peer is gone or the server stops. */
  close(): void {
    this.#isEnding = true;
    this.#queue = [];
    this.#head = 0;
    this.#end();
  }

  #overflow(): void {
    this.#options.onOverflow();
    this.close();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#stream === undefined || this.#isEnded) return;
    this.#isScheduled = true;
    this.#options.flusher.schedule(() => this.#flush());
  }

  #flush(): void {
    this.#isScheduled = false;
    const stream = this.#stream;
    if (stream === undefined || this.#isEnded) return;
    if (stream.isClosed) return this.close();
    const hasRoom = this.#writeSlice(stream);
    if (this.#isEnded) return;
    if (this.#head === this.#queue.length) {
      this.#queue = [];
      this.#head = 0;
      if (this.#isEnding) this.#end();
    } else if (hasRoom) this.#schedule();
    else this.#resumeWhenDrained(stream);
  }

  /** Keeps `#isScheduled` set, so that events that come meanwhile only queue up. */
  #resumeWhenDrained(stream: ResponseStream): void {
    this.#isScheduled = true;
    void stream.drained().then(() => this.#flush());
  }

  #writeSlice(stream: ResponseStream): boolean {
    let written = 0;
    let hasRoom = true;
    stream.cork();
    try {
      while (hasRoom && written < sliceBytes && this.#head < this.#queue.length) {
        const frame = this.#take();
        if (frame === undefined) {
          this.close();
          break;
        }
        written += frame.length;
        hasRoom = stream.write(frame);
      }
    } finally {
      stream.uncork();
    }
    return hasRoom;
  }

  #take(): Uint8Array | undefined {
    const item = this.#queue[this.#head++] as Pending;
    if (item.type !== 'FRAME') return this.#options.frames.of(item);
    this.#waitingBytes -= item.bytes.length;
    return item.bytes;
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stream?.end();
    this.#options.onEnd();
  }
}

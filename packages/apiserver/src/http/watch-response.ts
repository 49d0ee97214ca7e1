// WatchResponse: the stream of one watch. Takes events from the store at any speed, writes shared frames to the socket
// as fast as the peer reads, ends a peer that falls too far behind. spec/storage.md §5.6.
import { newInternalError, type UnstructuredObject } from '@kapstan/api';
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
/** What may wait for a reader that goes on reading, in bounds of one that does not. */
const boundsInAll = 8;

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
  /** The socket has had no room since the last flush. */
  #isBlocked = false;
  /** What came since it was last seen to take bytes. */
  #bytesWhileBlocked = 0;
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
    else this.#pushFrame(event);
    this.#hasBegun = true;
    this.#schedule();
  }

  /**
   * Slow is who takes nothing: more than the bound has come since the socket last had room, and it still has none. A burst
   * within one turn says nothing about the reader. In all, a reader that is merely behind may have several bounds waiting.
   */
  #pushFrame(event: StorageEvent<UnstructuredObject>): void {
    const bytes = this.#options.frames.of(event);
    if (bytes === undefined) return this.finish();
    this.#waitingBytes += bytes.length;
    if (this.#isBlocked) this.#bytesWhileBlocked += bytes.length;
    const { maxBufferedBytes } = this.#options;
    const buffered = this.#waitingBytes + (this.#stream?.bufferedBytes ?? 0);
    const isStuck = this.#isBlocked && this.#bytesWhileBlocked > maxBufferedBytes;
    if (!this.#isInitial && (isStuck || buffered > maxBufferedBytes * boundsInAll)) this.#overflow();
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
    this.#isBlocked = true;
    this.#bytesWhileBlocked = 0;
    void stream.drained().then(() => {
      this.#isBlocked = false;
      this.#flush();
    });
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
    if (item.type !== 'FRAME') return this.#encode(item);
    this.#waitingBytes -= item.bytes.length;
    return item.bytes;
  }

  /** What cannot be encoded ends this watch with its error, and no other (I8). */
  #encode(item: WatchItem): Uint8Array | undefined {
    try {
      return this.#options.frames.of(item);
    } catch (error) {
      this.#isEnding = true;
      this.#queue.length = this.#head;
      return this.#options.frames.of({ type: 'ERROR', error: newInternalError(error) });
    }
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stream?.end();
    this.#options.onEnd();
  }
}

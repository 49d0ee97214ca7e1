// WatchResponse is the stream of one watch. It takes events from the store at any speed, writes shared frames to the
// socket as fast as the peer reads, and ends a peer that falls too far behind. Source: apiserver
// endpoints/handlers/watch.go.
import type { UnstructuredObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import type { StorageEvent, StorageWatchSink } from '@kapstan/storage';
import type { StoredObject } from '../answer/encodings.ts';
import type { ResponseStream } from '../exchange/response-stream.ts';
import type { Flushable } from '../exchange/turn-flusher.ts';
import { framePieces, pieceBytes } from './frame-pieces.ts';
import type { InitialSlice } from './initial-slices.ts';
import { ReaderPace } from './reader-pace.ts';
import type { BudgetedWatch, BudgetReason, WatchAccount } from './watch-budget.ts';
import { addedObject, type WatchItem } from './watch-frames.ts';
import type { OpenWatch, OverflowReason, WatchResponseOptions } from './watch-response-options.ts';

/** A live event as shared bytes, or an initial one as an object, to be encoded when the socket has room. */
type Pending = WatchItem | Uint8Array;

/** Replaces a taken item in the queue, so that the queue does not keep it in memory. */
const taken = new Uint8Array(0);
/** Maximum number of empty slots at the head of the queue. */
const maxTaken = 256;
/** Number of bytes written to a socket at once; then the socket has to take them, and other watches get their turn. */
const sliceBytes = 32 * 1024;
/** With this many initial events or encoded bytes queued, further ones wait in the cache, where they cost nothing. */
const fullEvents = 500;
const fullBytes = 1_048_576;

/**
 * Events are queued as references until the socket takes them, so the initial events of a large list cost no copy. Live
 * events are limited in bytes, and a peer can be too slow in two ways:
 * - stuck: the socket took nothing for half a second, and more than `maxBufferedBytes` came meanwhile. The stream is
 *   aborted: a full socket cannot be ended normally, and the client has to see that its data is incomplete.
 * - behind: the socket takes bytes, but several times the limit is queued. No more events are taken, the queue is sent
 *   and the stream ends normally, as when kube-apiserver's cache terminates a watcher. The client is further on than
 *   before, so resuming from its last version makes progress however much there is to replay.
 * Queued bytes also count in the budget of all watches, which aborts the greediest of them.
 */
export class WatchResponse implements StorageWatchSink<UnstructuredObject>, BudgetedWatch, Flushable {
  readonly #options: WatchResponseOptions;
  readonly #pace: ReaderPace;
  #stream: ResponseStream | undefined;
  #queue: Pending[] = [];
  #head = 0;
  /** Pieces of a long frame that are still to be written. The next one is last. */
  #pieces: Uint8Array[] = [];
  /** The frame of these pieces, which share its memory. */
  #cut: Uint8Array | undefined;
  /** Exists from the opening of the stream to its end. */
  #account: WatchAccount | undefined;
  /**
   * True while the account includes the live events in the queue: from the first time the socket was full until the
   * queue is empty.
   */
  #isAccounted = false;
  /** Bytes of the live events in the queue. */
  #waitingBytes = 0;
  #isInitial = true;
  #isScheduled = false;
  #isEnding = false;
  #isEnded = false;
  #hasBegun = false;
  onRoom: (() => void) | undefined;

  constructor(options: WatchResponseOptions) {
    this.#options = options;
    this.#pace = new ReaderPace(options);
  }

  inspect(): OpenWatch {
    const { of, userName } = this.#options;
    return {
      group: of.group,
      resource: of.resource,
      userName,
      waitingEvents: this.#queue.length - this.#head,
      waitingBytes: this.#waitingBytes + (this.#stream?.bufferedBytes ?? 0),
      blockedSinceMs: this.#pace.blockedSinceMs,
    };
  }

  get isFull(): boolean {
    return this.#queue.length - this.#head >= fullEvents || this.#waitingBytes >= fullBytes;
  }

  /** A failure before the stream was opened; it can still become a plain answer. */
  get earlyError(): Error | undefined {
    const first = this.#queue[0];
    if (this.#stream !== undefined || first === undefined || first instanceof Uint8Array) return undefined;
    return first.type === 'ERROR' ? first.error : undefined;
  }

  /** Sends the events queued so far and later ones. */
  open(stream: ResponseStream): void {
    this.#stream = stream;
    if (!this.#isEnded) this.#account = this.#options.budget.open(this.#options.userName, this);
    this.#schedule();
  }

  /** Marks all later events as live. Call it when the initial events are known to be over. */
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
    // The first event carries the columns of a Table, so it is encoded before later ones.
    if (isInitial && this.#hasBegun) this.#queue.push(event);
    else {
      this.#pushLive(event);
      this.#tellOfEnd(event);
    }
    this.#hasBegun = true;
    this.#schedule();
  }

  #tellOfEnd(event: WatchItem): void {
    if (event.type === 'BOOKMARK' && event.initialEventsEnd) this.#options.onInitialEventsSent();
  }

  /**
   * A live event that cannot be encoded ends this watch after the events before it; its source is not notified (I8).
   */
  #pushLive(event: StorageEvent<UnstructuredObject>): void {
    try {
      this.#pushFrame(event);
    } catch (error) {
      this.onEnd(internalError(error));
    }
  }

  #pushFrame(event: StorageEvent<UnstructuredObject>): void {
    const bytes = this.#options.frames.of(event);
    if (bytes === undefined) return this.finish();
    this.#queue.push(bytes);
    this.#waitingBytes += bytes.length;
    this.#pace.noteWaiting(bytes.length);
    if (this.#isAccounted) this.#account?.hold(bytes);
    if (this.#isInitial || this.#isEnding) return;
    if (this.#pace.isStuck) this.#overflow('stuck', () => this.abort());
    else if (this.#pace.isBehind(this.#waitingBytes + (this.#stream?.bufferedBytes ?? 0)))
      this.#overflow('behind', () => this.finish());
  }

  endForBudget(reason: BudgetReason): void {
    this.#overflow(reason, () => this.abort());
  }

  #overflow(reason: OverflowReason, end: () => void): void {
    this.#options.onOverflow(reason);
    end();
  }

  onEnd(error?: Error): void {
    if (this.#isEnding) return;
    if (error !== undefined) this.#queue.push({ type: 'ERROR', error });
    this.finish();
  }

  /** Ends the stream after the queue is sent, when the time is up or the store ended the watch. */
  finish(): void {
    this.#beginEnd();
    this.#schedule();
  }

  /** Ends the stream after the bytes already written, when the peer is gone or the requested form has no events. */
  close(): void {
    // The peer would mistake a part of a frame for the whole.
    if (this.#pieces.length > 0) return this.abort();
    this.#drop();
    this.#end();
  }

  /** Cuts the stream at once, because the peer does not read; it sees that the stream is incomplete. */
  abort(): void {
    this.#drop();
    this.#stream?.abort();
    this.#end();
  }

  #drop(): void {
    this.#beginEnd();
    this.#releaseQueue();
    this.#empty();
    this.#pieces = [];
    this.#cut = undefined;
  }

  #empty(): void {
    this.#queue = [];
    this.#head = 0;
    this.#isAccounted = false;
  }

  #releaseQueue(): void {
    if (!this.#isAccounted) return;
    for (const item of this.#waiting()) this.#account?.release(item);
  }

  #waiting(): Uint8Array[] {
    const queued = this.#queue.slice(this.#head).filter((item) => item instanceof Uint8Array);
    return this.#cut === undefined ? queued : [this.#cut, ...queued];
  }

  #beginEnd(): void {
    if (this.#isEnding) return;
    this.#isEnding = true;
    this.#options.onEnding();
  }

  #schedule(): void {
    if (this.#isScheduled || this.#stream === undefined || this.#isEnded) return;
    this.#isScheduled = true;
    this.#options.flusher.schedule(this);
  }

  /** Writes as much of the queue as the socket takes. Called by the flusher at the end of the turn. */
  flush(): void {
    this.#isScheduled = false;
    const stream = this.#stream;
    if (stream === undefined || this.#isEnded) return;
    if (stream.isClosed) return this.close();
    this.#pace.unblock();
    const hasRoom = this.#writeSlice(stream);
    if (this.#isEnded) return;
    const isEmpty = this.#head === this.#queue.length && this.#pieces.length === 0;
    if (isEmpty) {
      this.#empty();
      if (this.#isEnding) return this.#end();
    }
    this.#shorten();
    this.#tellOfRoom();
    if (!hasRoom) this.#resumeWhenDrained(stream);
    else if (!isEmpty) this.#schedule();
  }

  /** Drops the taken slots, because a reader that is always a little behind never empties the queue. */
  #shorten(): void {
    if (this.#head < maxTaken || this.#head * 2 < this.#queue.length) return;
    this.#queue.splice(0, this.#head);
    this.#head = 0;
  }

  /**
   * Requests more once half of the room is free, because requesting a few events each time costs more than sending
   * them.
   */
  #tellOfRoom(): void {
    const { onRoom } = this;
    if (onRoom === undefined || this.#isEnding) return;
    if (this.#queue.length - this.#head > fullEvents / 2 || this.#waitingBytes > fullBytes / 2) return;
    this.onRoom = undefined;
    onRoom();
  }

  /** Keeps `#isScheduled` set, so that events that come meanwhile are only queued. */
  #resumeWhenDrained(stream: ResponseStream): void {
    this.#isScheduled = true;
    this.#pace.block();
    void stream.drained().then(() => {
      this.#account?.holdOwn(0);
      // A thousand sockets may have room again at once, which is too much for one turn.
      this.#options.flusher.schedule(this);
    });
    this.#accountFor(stream);
  }

  /** Updates the account, which may end this watch. */
  #accountFor(stream: ResponseStream): void {
    if (!this.#isAccounted) {
      this.#isAccounted = true;
      this.#account?.begin(this.#waiting());
    }
    this.#account?.holdOwn(stream.bufferedBytes);
  }

  #writeSlice(stream: ResponseStream): boolean {
    const frames: Uint8Array[] = [];
    let size = 0;
    let hasForm = true;
    while (hasForm && size < sliceBytes && (this.#pieces.length > 0 || this.#head < this.#queue.length)) {
      const frame = this.#takePiece() ?? this.#takeInitialSlice(stream) ?? this.#takeFrame(stream);
      if (frame === undefined) hasForm = false;
      else {
        size += frame.length;
        frames.push(frame);
      }
    }
    const hasRoom = frames.length === 0 || stream.writeShared(frames);
    if (!hasForm) this.close();
    return hasRoom;
  }

  /** Returns undefined unless the next event is an initial one whose frame other watches send too. */
  #takeInitialSlice({ takesPieces }: ResponseStream): Uint8Array | undefined {
    const first = addedObject(this.#queue[this.#head]);
    const form = first && takesPieces ? this.#options.frames.addedForm : undefined;
    if (first === undefined || form === undefined) return undefined;
    const slices = this.#options.initialSlices;
    const known = slices.beginningWith(first, form);
    const slice = known !== undefined && this.#isNext(known) ? known : this.#makeSlice();
    if (slice === undefined) return undefined;
    if (slice !== known) slices.keep(form, slice);
    this.#queue.fill(taken, this.#head, this.#head + slice.objects.length);
    this.#head += slice.objects.length;
    for (const length of slice.lengths) this.#options.sizes.observe(length);
    return slice.bytes;
  }

  #isNext({ objects }: InitialSlice): boolean {
    return objects.every((object, index) => addedObject(this.#queue[this.#head + index]) === object);
  }

  /** Returns undefined when the first frame is long or cannot be encoded. Takes nothing from the queue. */
  #makeSlice(): InitialSlice | undefined {
    const objects: StoredObject[] = [];
    const frames: Uint8Array[] = [];
    let size = 0;
    for (let at = this.#head; size < sliceBytes; at++) {
      const object = addedObject(this.#queue[at]);
      const frame = object && this.#frameOfAdded(object);
      if (object === undefined || frame === undefined) break;
      objects.push(object);
      frames.push(frame);
      size += frame.length;
    }
    if (frames.length === 0) return undefined;
    return { objects, lengths: frames.map(({ length }) => length), bytes: Buffer.concat(frames, size) };
  }

  /** Returns undefined when {@link WatchResponse.#takeFrame} has to handle the object. */
  #frameOfAdded(stored: StoredObject): Uint8Array | undefined {
    try {
      const frame = this.#options.frames.of({ type: 'ADDED', stored });
      return frame === undefined || frame.length > sliceBytes ? undefined : frame;
    } catch {
      return undefined;
    }
  }

  /** Returns the next frame, or the first piece of a long one. */
  #takeFrame({ takesPieces }: ResponseStream): Uint8Array | undefined {
    const frame = this.#take();
    if (frame === undefined) return undefined;
    this.#options.sizes.observe(frame.length);
    if (!takesPieces || frame.length <= pieceBytes) return frame;
    const [first, ...rest] = framePieces(frame);
    this.#pieces = rest.reverse();
    this.#cut = frame;
    if (this.#isAccounted) this.#account?.keep(frame);
    return first;
  }

  #takePiece(): Uint8Array | undefined {
    const piece = this.#pieces.pop();
    if (this.#pieces.length > 0 || this.#cut === undefined) return piece;
    if (this.#isAccounted) this.#account?.release(this.#cut);
    this.#cut = undefined;
    return piece;
  }

  #take(): Uint8Array | undefined {
    const item = this.#queue[this.#head] as Pending;
    this.#queue[this.#head++] = taken;
    if (!(item instanceof Uint8Array)) return this.#encode(item);
    this.#waitingBytes -= item.length;
    if (this.#isAccounted) this.#account?.release(item);
    return item;
  }

  /** An initial event that cannot be encoded ends this watch with its error, and no other watch (I8). */
  #encode(item: WatchItem): Uint8Array | undefined {
    try {
      this.#tellOfEnd(item);
      return this.#options.frames.of(item);
    } catch (error) {
      this.#beginEnd();
      this.#releaseQueue();
      this.#queue.length = this.#head;
      return this.#options.frames.of({ type: 'ERROR', error: internalError(error) });
    }
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#account?.close();
    this.#account = undefined;
    this.#stream?.end();
    this.#options.onEnd();
  }
}

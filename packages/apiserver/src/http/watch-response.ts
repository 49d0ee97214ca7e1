// WatchResponse: the stream of one watch. Takes events from the store at any speed, writes shared frames to the socket
// as fast as the peer reads, ends a peer that falls too far behind. spec/storage.md §5.6.
import {
  type Clock,
  formatApiVersion,
  initialEventsEndAnnotation,
  stringifyJson,
  type UnstructuredObject,
} from '@kapstan/api';
import type { StorageEvent, StorageWatchSink } from '@kapstan/storage';
import type { ResourceDefinition } from '../registry/resource-definition.ts';
import {
  type EventType,
  frameOf,
  metadataFrame,
  objectFrame,
  partialMetadata,
  type StoredObject,
} from './encodings.ts';
import type { Exchange, ResponseStream } from './exchange.ts';
import type { TransformTarget } from './negotiation.ts';
import { statusOf, wireStatus } from './status-response.ts';
import { type IncludeObject, tableFields, tableRow } from './table-response.ts';
import type { TurnFlusher } from './turn-flusher.ts';

export interface WatchResponseOptions {
  readonly definition: ResourceDefinition;
  readonly target: TransformTarget | undefined;
  readonly includeObject: IncludeObject;
  readonly allowBookmarks: boolean;
  /** Bytes of live events that may wait for the peer; the initial events do not count. */
  readonly maxBufferedBytes: number;
  readonly clock: Clock;
  readonly flusher: TurnFlusher;
  /** The peer was too slow and its watch is ended. */
  onOverflow(): void;
  /** The stream is over, for whatever reason. Called once. */
  onEnd(): void;
}

type Pending = StorageEvent<UnstructuredObject> | { readonly type: 'ERROR'; readonly error: Error };

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
  #hasSentColumns = false;

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
    if (event.type === 'BOOKMARK') {
      if (event.initialEventsEnd) this.#isInitial = false;
      if (!this.#options.allowBookmarks) return;
    } else if (!this.#isInitial) {
      this.#waitingBytes += this.#sizeOf(event);
      const buffered = this.#waitingBytes + (this.#stream?.bufferedBytes ?? 0);
      if (buffered > this.#options.maxBufferedBytes) return this.#overflow();
    }
    this.#queue.push(event);
    this.#schedule();
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
      this.#waitingBytes = 0;
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
        const frame = this.#frame(this.#queue[this.#head++] as Pending);
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
    this.#waitingBytes = Math.max(0, this.#waitingBytes - written);
    return hasRoom;
  }

  #end(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#stream?.end();
    this.#options.onEnd();
  }

  #sizeOf(event: { readonly type: EventType; readonly stored: StoredObject }): number {
    return this.#options.target === undefined ? objectFrame(event.type, event.stored).length : 1024;
  }

  /** Undefined where the form asked for has no events. */
  #frame(event: Pending): Uint8Array | undefined {
    const { target } = this.#options;
    if (event.type === 'ERROR') return textFrame('ERROR', wireStatus(statusOf(event.error)));
    if (event.type === 'BOOKMARK') return this.#bookmarkFrame(event);
    if (target === undefined) return objectFrame(event.type, event.stored);
    switch (target.kind) {
      case 'PartialObjectMetadata':
        return metadataFrame(event.type, event.stored, target.version);
      case 'PartialObjectMetadataList':
        return undefined;
      case 'Table':
        return textFrame(event.type, this.#table(event.stored.object));
    }
  }

  #bookmarkFrame(event: { readonly revision: number; readonly initialEventsEnd: boolean }): Uint8Array | undefined {
    const { definition, target } = this.#options;
    const annotations = event.initialEventsEnd ? { annotations: { [initialEventsEndAnnotation]: 'true' } } : {};
    const metadata = { resourceVersion: String(event.revision), ...annotations };
    const object: UnstructuredObject = { kind: definition.kind, apiVersion: formatApiVersion(definition), metadata };
    switch (target?.kind) {
      case undefined:
        return textFrame('BOOKMARK', object);
      case 'PartialObjectMetadata':
        return textFrame('BOOKMARK', partialMetadata(object, target?.version ?? 'v1'));
      case 'PartialObjectMetadataList':
        return undefined;
      case 'Table':
        return textFrame('BOOKMARK', this.#table(object));
    }
  }

  /** A Table of one row; the columns go out with the first event only. */
  #table(object: StoredObject['object']): Record<string, unknown> {
    const { definition, includeObject, clock, target } = this.#options;
    const version = target?.version ?? 'v1';
    const metadata = { resourceVersion: object.metadata?.resourceVersion ?? '' };
    const fields = tableFields(definition.table, metadata, {
      version,
      ...(this.#hasSentColumns ? { columns: 'none' } : {}),
    });
    this.#hasSentColumns = true;
    return { ...fields, rows: [tableRow(definition, object, { version, includeObject, nowMs: clock.now() })] };
  }
}

function textFrame(type: string, value: unknown): Uint8Array {
  return frameOf(type, Buffer.from(stringifyJson(value)));
}

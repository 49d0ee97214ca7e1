// EtcdWatch is one watch. It joins the pieces that etcd sends, delivers them to its sink, and knows where to continue
// on a new stream. Held by watch-hub.ts.
import type { Revision } from '@kapstan/api';
import type { EngineEvent, EngineWatchSink, KeyRange } from '@kapstan/storage';
import { eventDelete, type WatchRequest, type WireEvent } from './wire.ts';
import { keyBytes, toKeyValue, toWireRange } from './wire-key.ts';

export interface EtcdWatchInit {
  readonly id: number;
  readonly range: KeyRange;
  readonly after: Revision;
  readonly wantsProgress: boolean;
  readonly sink: EngineWatchSink;
  /** Key to watch when the range contains no keys. */
  readonly quietKey: string;
}

/** State of a watch on the present stream. */
export interface StreamPlace {
  /** Number of progress requests sent before its create request. */
  readonly askedBefore: number;
  /** Revision of the store when etcd created the watch. Absent until etcd confirms it. */
  readonly madeAt?: number;
}

export class EtcdWatch {
  readonly id: number;
  readonly #init: EtcdWatchInit;
  /** Every event below this revision was delivered, or precedes the watch's start. */
  #next: number;
  #held: WireEvent[] = [];
  #isClosed = false;
  /** Absent while the watch is on no stream. */
  place: StreamPlace | undefined;
  /** True once etcd has refused the watch; the token may have been out of date. */
  wasDenied = false;

  constructor(init: EtcdWatchInit) {
    this.id = init.id;
    this.#init = init;
    this.#next = init.after + 1;
  }

  get isClosed(): boolean {
    return this.#isClosed;
  }

  get nextRevision(): number {
    return this.#next;
  }

  /** Stops the watch. Nothing is delivered afterwards. */
  close(): void {
    this.#isClosed = true;
    this.#held = [];
  }

  /**
   * Returns the request that creates the watch on a new stream, from its present position. Held pieces are dropped,
   * because the new stream sends them again.
   */
  createRequest(): WatchRequest {
    this.#held = [];
    const { range, quietKey, wantsProgress } = this.#init;
    return {
      createRequest: {
        ...(toWireRange(range) ?? { key: keyBytes(quietKey) }),
        startRevision: this.#next,
        progressNotify: wantsProgress,
        prevKv: true,
        watchId: this.id,
        fragment: true,
      },
    };
  }

  /** Takes the events of a message. `hasMore` is true when etcd split a message and this is not its last piece. */
  take(events: readonly WireEvent[], hasMore: boolean): void {
    const all = this.#held.length === 0 ? events : [...this.#held, ...events];
    this.#held = [];
    let start = 0;
    while (start < all.length && !this.#isClosed) {
      const end = endOfRevision(all, start);
      // The next piece holds the rest of this revision.
      if (end === all.length && hasMore) {
        this.#held = all.slice(start);
        return;
      }
      this.#deliver(all.slice(start, end));
      start = end;
    }
  }

  /** Notes that everything up to this revision has been sent. */
  progress(revision: number): void {
    if (this.#isClosed || this.#held.length > 0 || revision < this.#next - 1) return;
    this.#next = revision + 1;
    if (this.#init.wantsProgress) this.#init.sink.onProgress(revision as Revision);
  }

  /** Ends the watch with the error, once. */
  fail(error: Error): void {
    if (this.#isClosed) return;
    this.close();
    this.#init.sink.onError(error);
  }

  #deliver(events: readonly WireEvent[]): void {
    const revision = events[0]?.kv.modRevision ?? 0;
    if (revision < this.#next) return;
    this.#next = revision + 1;
    if (toWireRange(this.#init.range) === undefined) return;
    this.#init.sink.onEvents(events.map(toEngineEvent), revision as Revision);
  }
}

function endOfRevision(events: readonly WireEvent[], start: number): number {
  const revision = events[start]?.kv.modRevision;
  let end = start + 1;
  while (end < events.length && events[end]?.kv.modRevision === revision) end += 1;
  return end;
}

function toEngineEvent({ type, kv, prevKv }: WireEvent): EngineEvent {
  const revision = kv.modRevision as Revision;
  const previous = prevKv === null ? {} : { previous: toKeyValue(prevKv) };
  if (type === eventDelete) return { type: 'delete', key: kv.key.toString(), revision, ...previous };
  const after = toKeyValue(kv);
  return { type: 'put', key: after.key, revision, kv: after, ...previous };
}

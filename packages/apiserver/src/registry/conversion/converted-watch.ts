// ConvertedWatch: one watch of a ConvertedStorage. A few events wait here in order while their objects are converted;
// those that need no conversion pass at once. Part of converted-storage.ts.

import { isStatusError, type UnstructuredObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import {
  matches,
  type SelectionPredicate,
  type Storage,
  type StorageEvent,
  type StorageWatch,
  type StorageWatchOptions,
  type StorageWatchSink,
  type Stored,
} from '@kapstan/storage';
import type { ConvertedObjects } from './converted-objects.ts';
import { selectsByMetadata, withoutSelectors } from './metadata-selection.ts';

type Event = StorageEvent<UnstructuredObject>;
type Change = Exclude<Event, { readonly type: 'BOOKMARK' }>;
type StoredObject = Stored<UnstructuredObject>;

/** When this many events wait here, the cache holds back initial objects. */
const fullQueue = 512;
/**
 * Maximum number of waiting events. A watch that is further behind ends, and its client resumes from the last event
 * that it saw.
 */
const maxQueue = 5_000;
/** Number of events converted by one call. */
const batchSize = 256;

export interface ConvertedWatchInit {
  readonly objects: ConvertedObjects;
  readonly predicate: SelectionPredicate<UnstructuredObject>;
  readonly sink: StorageWatchSink<UnstructuredObject>;
}

export class ConvertedWatch implements StorageWatch {
  readonly #objects: ConvertedObjects;
  readonly #predicate: SelectionPredicate<UnstructuredObject>;
  readonly #sink: StorageWatchSink<UnstructuredObject>;
  /** False when the storage below has selected already. */
  readonly #selects: boolean;
  readonly #stop = new AbortController();
  readonly #queue: Event[] = [];
  #watch: StorageWatch | undefined;
  #isConverting = false;
  /** The end of the watch below, once it is known. Events before it are delivered first. */
  #end: { readonly error: Error | undefined } | undefined;
  #isClosed = false;
  #onRoom: (() => void) | undefined;

  constructor({ objects, predicate, sink }: ConvertedWatchInit) {
    this.#objects = objects;
    this.#predicate = predicate;
    this.#sink = sink;
    this.#selects = !selectsByMetadata(predicate);
  }

  get begun(): Promise<void> | undefined {
    return this.#watch?.begun;
  }

  /** Starts the watch. Throws the errors of the storage below. */
  start(base: Storage<UnstructuredObject>, key: string, options: StorageWatchOptions<UnstructuredObject>): void {
    const asked = this.#selects
      ? { ...options, predicate: withoutSelectors(options.predicate), withPrevious: true }
      : options;
    this.#watch = base.watch(key, asked, this.#below());
    if (this.#isClosed) this.#watch.close();
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.length = 0;
    this.#watch?.close();
    this.#stop.abort(new Error('the watch is closed'));
  }

  #below(): StorageWatchSink<UnstructuredObject> {
    const isFull = (): boolean => this.#queue.length >= fullQueue || this.#sink.isFull === true;
    const waitForRoom = (callback: (() => void) | undefined): void => {
      this.#onRoom = callback;
      // Whichever of the two is full reports when it has room again.
      if (this.#sink.isFull === true) this.#sink.onRoom = () => this.#tellRoom();
    };
    return {
      onEvent: (event) => this.#onEvent(event),
      onEnd: (error) => {
        this.#end = { error };
        if (!this.#isConverting) this.#finish();
      },
      get isFull() {
        return isFull();
      },
      set onRoom(callback: (() => void) | undefined) {
        waitForRoom(callback);
      },
    };
  }

  #tellRoom(): void {
    if (this.#queue.length >= fullQueue || this.#sink.isFull === true) return;
    const callback = this.#onRoom;
    this.#onRoom = undefined;
    callback?.();
  }

  #onEvent(event: Event): void {
    if (this.#isClosed) return;
    if (!this.#isConverting && this.#isKnown(event)) return this.#deliver(event);
    if (this.#queue.length >= maxQueue) return this.#giveUp();
    this.#queue.push(event);
    if (!this.#isConverting) void this.#drain();
  }

  #isKnown(event: Event): boolean {
    return statesOf(event).every((stored) => this.#objects.known(stored) !== undefined);
  }

  /** Never rejects, because a failure ends the watch. */
  async #drain(): Promise<void> {
    this.#isConverting = true;
    try {
      while (this.#queue.length > 0) {
        const batch = this.#queue.splice(0, batchSize);
        await this.#objects.all(batch.flatMap(statesOf), this.#stop);
        for (const event of batch) this.#deliver(event);
        this.#tellRoom();
      }
    } catch (error) {
      this.#fail(error);
    }
    this.#isConverting = false;
    this.#finish();
  }

  #deliver(event: Event): void {
    if (this.#isClosed) return;
    if (event.type === 'BOOKMARK') return this.#sink.onEvent(event);
    const stored = this.#objects.known(event.stored) as StoredObject;
    if (this.#selects) this.#deliverSelected(event, stored);
    else this.#sink.onEvent(stored === event.stored ? event : { type: event.type, stored });
  }

  #deliverSelected({ type, previous }: Change, stored: StoredObject): void {
    const passes = this.#passes(stored);
    if (type !== 'MODIFIED') {
      if (passes) this.#sink.onEvent({ type, stored });
      return;
    }
    const old = previous && (this.#objects.known(previous) as StoredObject);
    const passed = old !== undefined && this.#passes(old);
    if (passes) this.#sink.onEvent({ type: passed ? 'MODIFIED' : 'ADDED', stored });
    else if (passed) this.#sink.onEvent({ type: 'DELETED', stored: old.atRevision(stored.revision) });
  }

  #passes(stored: StoredObject): boolean {
    return stored.view((object) => matches(this.#predicate, object));
  }

  #finish(): void {
    if (this.#end === undefined || this.#isClosed) return;
    const { error } = this.#end;
    this.close();
    this.#sink.onEnd(error);
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#sink.onEnd(isStatusError(error) ? error : internalError(error));
  }

  #giveUp(): void {
    this.close();
    this.#sink.onEnd();
  }
}

function statesOf(event: Event): readonly StoredObject[] {
  if (event.type === 'BOOKMARK') return [];
  return event.previous === undefined ? [event.stored] : [event.stored, event.previous];
}

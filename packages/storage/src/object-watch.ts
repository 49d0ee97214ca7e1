// Watches of an ObjectStore: the present state if requested, then the engine's events that match the selector. Source:
// apiserver storage/etcd3/watcher.go.
import { type GroupResource, type KubernetesObject, type Revision, StatusError } from '@kapstan/api';
import { expired, internalError, tooLargeResourceVersion } from '@kapstan/api/errors';
import { formatGroupResource, TurnSlice } from '@kapstan/api/internal';
import type { Engine, EngineEvent, EngineWatch, EngineWatchSink, KeyRange, KeyValue } from './engine.ts';
import { isStorageError, type StorageError } from './errors/storage-error.ts';
import { keyAfter } from './key-range.ts';
import type { ObjectCoder } from './object-coder.ts';
import { OrderedSteps } from './ordered-steps.ts';
import { isEverything, matches } from './selection-predicate.ts';
import type { StorageEvent, StorageWatch, StorageWatchOptions, StorageWatchSink } from './storage.ts';
import type { StoreCounters } from './store-counters.ts';
import type { Stored } from './stored.ts';

const pageSize = 10_000;

export interface ObjectWatchContext<T extends KubernetesObject> {
  readonly engine: Engine;
  readonly coder: ObjectCoder<T>;
  readonly resource: GroupResource;
  readonly random: () => number;
  readonly counters: StoreCounters;
}

export interface ObjectWatchCall<T extends KubernetesObject> {
  readonly range: KeyRange;
  /** The requested version; 0 for "" and "0". */
  readonly after: Revision;
  readonly options: StorageWatchOptions<T>;
  readonly sink: StorageWatchSink<T>;
}

/** One watch. It ends once, with one error, or without one when it is closed. */
export class ObjectWatch<T extends KubernetesObject> implements StorageWatch, EngineWatchSink {
  readonly #context: ObjectWatchContext<T>;
  readonly #call: ObjectWatchCall<T>;
  readonly #everything: boolean;
  readonly #onClosed: (watch: ObjectWatch<T>) => void;
  readonly #steps = new OrderedSteps((error) => this.#fail(error));
  readonly begun: Promise<void>;
  #engineWatch: EngineWatch | undefined;
  #isClosed = false;
  #noteBegun: () => void = () => undefined;

  constructor(context: ObjectWatchContext<T>, call: ObjectWatchCall<T>, onClosed: (watch: ObjectWatch<T>) => void) {
    this.#context = context;
    this.#call = call;
    this.#everything = isEverything(call.options.predicate);
    this.#onClosed = onClosed;
    this.begun = new Promise((resolve) => {
      this.#noteBegun = resolve;
    });
  }

  start(): void {
    this.#run().catch((error: unknown) => this.#fail(error));
  }

  close(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#noteBegun();
    this.#engineWatch?.close();
    this.#onClosed(this);
  }

  async #run(): Promise<void> {
    const { after, options } = this.#call;
    const after0 = after === 0;
    const wantsState = options.sendInitialEvents === true || (after0 && options.sendInitialEvents === undefined);
    if (!wantsState) {
      const { counters, engine } = this.#context;
      const current = (): Promise<Revision> =>
        counters.request('getCurrentResourceVersion', () => engine.currentRevision());
      this.#follow(after0 ? await current() : after);
      return;
    }
    const revision = await this.#sendState();
    if (this.#isClosed) return;
    const isMarked = options.marksInitialEventsEnd === true || options.predicate.allowWatchBookmarks;
    if (options.sendInitialEvents === true && isMarked) {
      this.#emit({ type: 'BOOKMARK', revision, initialEventsEnd: true });
    }
    this.#follow(revision);
  }

  /** Sends all existing objects page by page, all at one revision. Resolves to that revision. */
  async #sendState(): Promise<Revision> {
    const { counters, engine, random } = this.#context;
    const { range, after, options } = this.#call;
    const { span } = options;
    const slice = new TurnSlice();
    let page = await counters.request('list', () => engine.range(range, { limit: pageSize, span }));
    const { revision } = page;
    this.#noteBegun();
    // kube-apiserver spreads the retries over 1 to 4 seconds.
    if (after > revision) throw tooLargeResourceVersion(after, revision, 1 + Math.floor(random() * 4));
    for (;;) {
      await this.#sendPage(page.kvs, slice);
      const last = page.kvs.at(-1);
      if (this.#isClosed || !page.more || last === undefined) return revision;
      const rest = { start: keyAfter(last.key), end: range.end };
      page = await counters.request('list', () => engine.range(rest, { revision, limit: pageSize, span }));
    }
  }

  async #sendPage(kvs: readonly KeyValue[], slice: TurnSlice): Promise<void> {
    for (const kv of kvs) {
      const preparing = this.#context.coder.prepare(kv);
      if (preparing !== undefined) await preparing;
      if (this.#isClosed) return;
      this.#emitIf('ADDED', this.#context.coder.read(kv));
      if (slice.endsHere()) await slice.nextTurn();
    }
  }

  #follow(after: Revision): void {
    this.#noteBegun();
    if (this.#isClosed) return;
    const { range, options } = this.#call;
    const progressNotify = options.progressNotify === true;
    this.#engineWatch = this.#context.engine.watch(range, { after, progressNotify }, this);
    // The sink may have closed the watch while the engine delivered its first events.
    if (this.#isClosed) this.#engineWatch.close();
  }

  // The engine calls the next three methods.

  onEvents(events: readonly EngineEvent[]): void {
    this.#context.counters.eventsReceived += events.length;
    const needs = this.#needs(events);
    if (this.#steps.mayRunNow(needs)) this.#readEvents(events);
    else this.#steps.run(needs, () => this.#readEvents(events));
  }

  onProgress(revision: Revision): void {
    this.#context.counters.bookmarks++;
    if (this.#call.options.progressNotify !== true) return;
    this.#steps.run(undefined, () => this.#emit({ type: 'BOOKMARK', revision, initialEventsEnd: false }));
  }

  onError(error: Error): void {
    this.#steps.run(undefined, () => this.#fail(error));
  }

  /** Fetches everything needed to read these events. Undefined when nothing is. */
  #needs(events: readonly EngineEvent[]): Promise<unknown> | undefined {
    const needs: Promise<void>[] = [];
    const { coder } = this.#context;
    for (const { kv, previous } of events) {
      const need = kv && coder.prepare(kv);
      if (need !== undefined) needs.push(need);
      const isOldRead = kv === undefined || !this.#everything || this.#call.options.withPrevious === true;
      const oldNeed = isOldRead && previous ? coder.prepare(previous) : undefined;
      if (oldNeed !== undefined) needs.push(oldNeed);
    }
    return needs.length === 0 ? undefined : Promise.all(needs);
  }

  #readEvents(events: readonly EngineEvent[]): void {
    try {
      for (const event of events) this.#readEvent(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  #readEvent(event: EngineEvent): void {
    if (this.#isClosed) return;
    if (event.type === 'delete') {
      this.#emitIf('DELETED', this.#lastState(event));
      return;
    }
    if (event.kv === undefined) throw missingState(event, 'PUT');
    const isCreated = event.kv.createRevision === event.kv.modRevision;
    if (!isCreated && event.previous === undefined) throw missingState(event, 'PUT');
    const stored = this.#context.coder.readChange(event.kv);
    if (this.#everything && (isCreated || this.#call.options.withPrevious !== true)) {
      this.#emit({ type: isCreated ? 'ADDED' : 'MODIFIED', stored });
      return;
    }
    // `previous` is present unless the key was created; see the check above.
    const old = isCreated || event.previous === undefined ? undefined : this.#context.coder.read(event.previous);
    if (this.#everything && old !== undefined) {
      this.#emit({ type: 'MODIFIED', stored, previous: old });
      return;
    }
    this.#emitTransition(old, stored);
  }

  #emitTransition(old: Stored<T> | undefined, stored: Stored<T>): void {
    const { predicate } = this.#call.options;
    const passes = matches(predicate, stored.object);
    const passed = old !== undefined && matches(predicate, old.object);
    if (passes) this.#emit({ type: passed ? 'MODIFIED' : 'ADDED', stored });
    else if (passed) this.#emit({ type: 'DELETED', stored: old.atRevision(stored.revision) });
  }

  #lastState(event: EngineEvent): Stored<T> {
    if (event.previous === undefined) throw missingState(event, 'DELETE');
    try {
      return this.#context.coder.read(event.previous).atRevision(event.revision);
    } catch (error) {
      throw isStorageError(error, 'Corrupt') ? corruptDeletion(this.#context.resource, error) : error;
    }
  }

  #emitIf(type: 'ADDED' | 'DELETED', stored: Stored<T>): void {
    if (this.#everything || matches(this.#call.options.predicate, stored.object)) this.#emit({ type, stored });
  }

  #emit(event: StorageEvent<T>): void {
    if (!this.#isClosed) this.#call.sink.onEvent(event);
  }

  #fail(error: unknown): void {
    if (this.#isClosed) return;
    this.close();
    this.#call.sink.onEnd(watchError(error));
  }
}

/** Returns the error for the watch's one ERROR event. */
function watchError(error: unknown): Error {
  if (error instanceof StatusError) return error;
  if (isStorageError(error, 'Compacted')) return expired('The resourceVersion for the provided watch is too old.');
  // The receiver decides about errors of the engine: a cache retries later, HTTP answers 500.
  if (isStorageError(error) && error.code !== 'Corrupt') return error;
  return internalError(error);
}

function missingState(event: EngineEvent, type: string): Error {
  return new Error(
    `etcd event received with PrevKv=nil (key=${JSON.stringify(event.key)}, modRevision=${event.revision}, type=${type})`,
  );
}

function corruptDeletion(resource: GroupResource, cause: StorageError): StatusError {
  return new StatusError(
    {
      code: 500,
      reason: 'StorageReadError',
      message: `saw a DELETED event, but object data is corrupt: ${cause.message}`,
      details: {
        ...(resource.group === '' ? {} : { group: resource.group }),
        kind: resource.resource,
        causes: [
          {
            reason: 'UnexpectedServerResponse',
            field: cause.key,
            message: `${formatGroupResource(resource)}: ${cause.detail}`,
          },
        ],
      },
    },
    { cause },
  );
}

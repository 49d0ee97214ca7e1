// Distributor puts each change into the cache, then notifies handlers and observers. Run by process-loop.ts; owned by shared-informer.ts.
// Source: client-go tools/cache/shared_informer.go (HandleDeltas).
import type { Clock, DeepReadonly, KubernetesObject, ObjectKey } from '@kapstan/api';
import { deletionHandlingKey, isDeletedFinalStateUnknown, lastStateOf } from '../fifo/deleted-final-state-unknown.ts';
import type { Delta, Fifo } from '../fifo/fifo.ts';
import { type DeliveryGate, type DeltaSink, ProcessLoop } from '../fifo/process-loop.ts';
import type { Indexer } from '../store/indexer.ts';
import type { MutationDetector } from '../store/mutation-detector.ts';
import type { ResourceEventHandler } from './event-handler.ts';
import type { HandlerListener } from './handler-listener.ts';
import { HandlerRegistry } from './handler-registry.ts';
import type { InformerObserver } from './informer-events.ts';
import type { AddedChange, InformerEvent, ObjectChange } from './object-change.ts';
import { SyncSignal } from './sync-signal.ts';

/** An object that exists: new, changed, or only repeated. */
type Present<T extends KubernetesObject> = Omit<AddedChange<T>, 'type'> & { readonly isResync: boolean };

export interface DistributorOptions<T extends KubernetesObject> {
  readonly fifo: Fifo<T>;
  readonly indexer: Indexer<T>;
  readonly detector: MutationDetector;
  readonly clock: Clock;
  /** Period of resyncs, in milliseconds. 0 = never. */
  readonly resyncMs: number;
  /** True if an object whose newest change failed is queued again. */
  readonly retryOnError: boolean;
  /** See {@link ProcessLoopOptions}. */
  readonly processed: ((ms: number) => void) | undefined;
  readonly warn: (text: string) => void;
  /** Receives the errors of consumers, the transform and index functions. */
  readonly report: (error: unknown, change?: ObjectChange<T>) => void;
}

export class Distributor<T extends KubernetesObject> implements DeltaSink<T> {
  readonly handlers: HandlerRegistry<T>;
  /** Done when the whole first list is in the cache. */
  readonly synced: SyncSignal = new SyncSignal();
  readonly #fifo: Fifo<T>;
  readonly #indexer: Indexer<T>;
  readonly #detector: MutationDetector;
  readonly #report: DistributorOptions<T>['report'];
  readonly #loop: ProcessLoop<T>;
  // Invariant: the list is replaced, never changed, so that an observer added during a delivery does not get that change twice.
  #observers: readonly InformerObserver<T>[] = [];
  #isStopped = false;

  constructor(options: DistributorOptions<T>) {
    const { fifo, clock, retryOnError, processed, report } = options;
    this.#fifo = fifo;
    this.#indexer = options.indexer;
    this.#detector = options.detector;
    this.#report = report;
    this.#loop = new ProcessLoop<T>({ fifo, clock, sink: this, retryOnError, processed });
    this.handlers = new HandlerRegistry<T>({
      resyncCheckMs: options.resyncMs,
      clock,
      warn: options.warn,
      gate: this.#loop,
      onError: report,
    });
  }

  get gate(): DeliveryGate {
    return this.#loop;
  }

  /** Number of handlers and observers. */
  get consumers(): number {
    return this.handlers.size + this.#observers.length;
  }

  // ---- Consumers ----

  // Atomic: replay and registration belong together, so that no change is missed or delivered twice.
  addHandler(
    handler: ResourceEventHandler<T>,
    options: { readonly resyncMs: number; readonly isStarted: boolean },
  ): HandlerListener<T> {
    const isOutermost = this.#loop.hold();
    try {
      const added = this.handlers.add(handler, options);
      for (const change of this.#presentObjects()) added.deliver(change);
      added.noteUpstream(this.synced.isDone);
      return added;
    } finally {
      if (isOutermost) this.#loop.deliver();
    }
  }

  /** Reports the present objects to an observer, then each change. Returns a function that ends that. */
  observe({ next, end }: InformerObserver<T>): () => void {
    if (this.#isStopped) {
      end();
      return () => undefined;
    }
    let isOver = false;
    const observer: InformerObserver<T> = { next: (event) => isOver || next(event), end };
    // Atomic: replay and subscription belong together, as for handlers.
    const isOutermost = this.#loop.hold();
    try {
      this.#observers = [...this.#observers, observer];
      for (const change of this.#presentObjects()) observer.next(change);
      if (this.synced.isDone) observer.next({ type: 'synced' });
    } finally {
      if (isOutermost) this.#loop.deliver();
    }
    return () => {
      isOver = true;
      this.#observers = this.#observers.filter((other) => other !== observer);
    };
  }

  *#presentObjects(): Iterable<ObjectChange<T>> {
    for (const object of this.#indexer.list()) {
      // The receiver of the previous object may have closed the informer.
      if (this.#isStopped) return;
      yield { type: 'added', key: deletionHandlingKey(object), object, isInInitialList: true };
    }
  }

  // ---- The walk of one event ----

  // Invariant: the cache changes first, and consumers are notified afterwards.
  apply({ type, object }: Delta<T>, key: ObjectKey, isInInitialList: boolean): void {
    // Invariant: the cache holds everything up to its version, and the version never goes back within a watch.
    const { resourceVersion } = this.#loop.isUpToDate ? this.#fifo : this.#indexer;
    if (type === 'Deleted') this.#remove(key, object, resourceVersion);
    else {
      const present = { key, object: object as DeepReadonly<T>, isInInitialList, isResync: type === 'Sync' };
      this.#store(present, resourceVersion);
    }
  }

  onDrained(): void {
    // A bookmark, an empty list or the deletion of an unknown object leaves no entry to pop.
    if (this.#loop.isUpToDate) this.#indexer.bookmark(this.#fifo.resourceVersion);
    if (this.#fifo.hasSynced && !this.synced.isDone) {
      this.synced.finish();
      this.handlers.noteSynced();
      this.#tell(this.#observers, { type: 'synced' });
    }
  }

  onError(error: unknown): void {
    this.#report(error);
  }

  /** Stores an object. An addition of a cached object is an update, and an update of an object that is not cached is an addition. */
  #store({ key, object, isInInitialList, isResync }: Present<T>, resourceVersion: string): void {
    this.#detector.watch(object);
    const oldObject = this.#indexer.put(key, object, resourceVersion);
    if (oldObject === undefined) {
      this.#distribute({ type: 'added', key, object, isInInitialList }, 'all');
      return;
    }
    // An unchanged version comes from a relist in which this object did not change. If a transform drops the version, this cannot be
    // detected.
    const version = object.metadata?.resourceVersion;
    const isSame = version !== undefined && version !== '' && version === oldObject.metadata?.resourceVersion;
    this.#distribute({ type: 'updated', key, object, oldObject }, isResync || isSame ? 'resync' : 'all');
  }

  #remove(key: ObjectKey, object: Delta<T>['object'], resourceVersion: string): void {
    this.#indexer.delete(object, resourceVersion);
    const isFinalStateUnknown = isDeletedFinalStateUnknown<T>(object);
    this.#distribute({ type: 'deleted', key, object: lastStateOf<T>(object), isFinalStateUnknown }, 'all');
  }

  #distribute(change: ObjectChange<T>, audience: 'all' | 'resync'): void {
    // We take the list of observers first: one that a handler adds meanwhile receives this change through its replay.
    const observers = audience === 'all' ? this.#observers : [];
    this.handlers.deliver(change, audience);
    this.#tell(observers, change);
  }

  #tell(observers: readonly InformerObserver<T>[], event: InformerEvent<T>): void {
    for (const observer of observers) {
      try {
        observer.next(event);
      } catch (error) {
        this.#report(error);
      }
    }
  }

  // ---- End ----

  /** Applies nothing more. */
  stop(): void {
    this.#isStopped = true;
    this.synced.giveUp();
    this.#loop.close();
  }

  endObservers(): void {
    for (const observer of this.#observers) observer.end();
  }
}

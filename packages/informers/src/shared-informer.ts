// One list and watch for all consumers of a resource. The walk of one event, in one turn: reflector → fifo-writer.ts → FIFO →
// process-loop.ts → distributor.ts → indexer, handlers and observables.
// Source: client-go tools/cache/shared_informer.go.

import { type KubernetesObject, type ListerWatcher, systemClock } from '@kapstan/api';
import {
  boundCallbacks,
  guardedCall,
  requireFunction,
  requireKnownOptions,
  requireNotNegative,
  requireObject,
  requireSignal,
} from '@kapstan/api/internal';
import { Observable } from 'rxjs/internal/Observable';
import { createFifo } from './fifo/create-fifo.ts';
import type { Fifo, Transform } from './fifo/fifo.ts';
import { FifoWriter } from './fifo-writer.ts';
import { informerCallbacks, requireHandler, requireListerWatcher } from './guards/informer-checks.ts';
import { requireOptionsOf } from './guards/informer-option-tables.ts';
import { errorText, type Warn, warningTo } from './guards/process-warning.ts';
import { Distributor } from './handlers/distributor.ts';
import type { ResourceEventHandler } from './handlers/event-handler.ts';
import type { EventHandlerOptions, EventHandlerRegistration } from './handlers/event-handler-registration.ts';
import type { HandlerListener } from './handlers/handler-listener.ts';
import { registrationOf } from './handlers/handler-registry.ts';
import { informerEvents } from './handlers/informer-events.ts';
import type { InformerEvent, ObjectChange } from './handlers/object-change.ts';
import type { Syncable } from './handlers/sync-signal.ts';
import type { InformerMeasure } from './informer-metrics.ts';
import { Reflector } from './reflector/reflector.ts';
import { expectedOf, sourceName } from './reflector/reflector-events.ts';
import type { ReflectorOptions } from './reflector/reflector-options.ts';
import { type ReflectorStatus, watchErrorWarning } from './reflector/reflector-status.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import { Indexer, type Indexers, withNamespaceIndex } from './store/indexer.ts';
import { Lister } from './store/lister.ts';
import { MutationDetector } from './store/mutation-detector.ts';

/** A cache of one resource, kept up to date, with its readers. Starts with {@link start} and ends with {@link close}, once. */
export class SharedInformer<T extends KubernetesObject> implements Syncable {
  /** The live cache, for reading only. */
  readonly indexer: Indexer<T>;
  /** Reads from the cache in the shape of the API. */
  readonly lister: Lister<T>;
  /** Shared. Replays the present status. Never errors. Completes on close. Slow consumers: each change is delivered at once. */
  readonly status$: Observable<ReflectorStatus>;
  /**
   * Shared: one list and watch for all. A subscriber gets the present objects, then `synced`, then changes (without resyncs). Never errors.
   * Completes on close. Slow consumers: delivery is synchronous and nothing is buffered; slow subscribers should use `events` or {@link
   * conflateByKey}. An error that a subscriber throws is an uncaught exception, as usual in RxJS; it reaches neither the informer nor other
   * subscribers, nor `onHandlerError`.
   */
  readonly events$: Observable<InformerEvent<T>>;

  readonly #options: SharedInformerOptions<T>;
  readonly #clock: NonNullable<ReflectorOptions['clock']>;
  /** Name of the listed objects, for texts: "pods", "deployments.apps". */
  readonly #name: string;
  readonly #warn: Warn;
  readonly #fifo: Fifo<T>;
  readonly #distributor: Distributor<T>;
  readonly #reflector: Reflector<T>;
  readonly #registrations = new WeakMap<EventHandlerRegistration, HandlerListener<T>>();
  readonly #detector: MutationDetector;
  readonly #measure: InformerMeasure | undefined;
  #transform: Transform<T> | undefined;
  #phase: 'new' | 'started' | 'stopped' = 'new';
  #handlerErrors = 0;

  /** Throws TypeError on bad options. Does nothing until {@link start}. */
  constructor(listerWatcher: ListerWatcher<T>, given: SharedInformerOptions<T> = {}) {
    requireListerWatcher(listerWatcher);
    requireOptionsOf<SharedInformerOptions<KubernetesObject>>('an informer', given);
    const options = boundCallbacks(given, informerCallbacks);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    const resource = options.resource ?? listerWatcher.resource;
    this.#name = options.name ?? sourceName(resource);
    this.#warn = warningTo(options.logger);
    this.#transform = options.transform;
    const report = (error: unknown, change?: ObjectChange<T>): void => this.#reportError(error, change);
    const retryOnError = options.retryOnError ?? false;
    this.indexer = new Indexer<T>(withNamespaceIndex(options.indexers), {
      onIndexError: retryOnError ? rethrow : report,
    });
    this.lister = new Lister(this.indexer, resource ?? { group: '', plural: '' });
    this.#fifo = createFifo(options.fifo ?? 'delta', {
      knownObjects: this.indexer,
      transform: (object) => (this.#transform === undefined ? object : this.#transform(object)),
    });
    this.#detector = new MutationDetector({
      name: this.#name,
      mode: options.mutationDetection ?? 'off',
      clock: this.#clock,
      onMutation: report,
    });
    this.#measure = options.metrics?.measure({
      resource,
      queued: () => this.#fifo.length,
      resourceVersion: () => this.indexer.resourceVersion,
    });
    this.#distributor = new Distributor<T>({
      fifo: this.#fifo,
      indexer: this.indexer,
      detector: this.#detector,
      clock: this.#clock,
      resyncMs: options.resyncMs ?? 0,
      retryOnError,
      processed: this.#measure?.processed,
      warn: (text) => this.#warn(`${this.#name}: ${text}`),
      report,
    });
    this.#reflector = this.#createReflector(listerWatcher, expectedOf(resource));
    this.status$ = this.#reflector.status$;
    this.events$ = new Observable((subscriber) =>
      this.#distributor.observe({ next: (event) => subscriber.next(event), end: () => subscriber.complete() }),
    );
  }

  // ---- State ----

  /** True once {@link start} was called; stays true after {@link close}. */
  get isStarted(): boolean {
    return this.#phase !== 'new';
  }

  /** True once {@link close} was called. A stopped informer cannot be started again. */
  get isStopped(): boolean {
    return this.#phase === 'stopped';
  }

  /** True once the whole first list is in the cache. Registrations of handlers have their own `hasSynced`. */
  get hasSynced(): boolean {
    return this.#distributor.synced.isDone;
  }

  /** Resolves to true once it has synced, to false if it was closed first. Never rejects. */
  whenSynced(): Promise<boolean> {
    return this.#distributor.synced.promise;
  }

  /** The newest value of {@link status$}; after {@link close} the last one. */
  get status(): ReflectorStatus {
    return this.#reflector.status;
  }

  /** Version that list and watch have reached; "" before. The cache's own, `indexer.resourceVersion`, follows it. */
  get lastSyncResourceVersion(): string {
    return this.#reflector.lastSyncResourceVersion;
  }

  /** Number of whole states requested so far, as pages or as a stream. Each one after the first is a relist. */
  get lists(): number {
    return this.#reflector.lists;
  }

  /** Time since the open watch last delivered an event or a bookmark, in milliseconds; undefined without a watch. */
  get silentMs(): number | undefined {
    return this.#reflector.silentMs;
  }

  /** Number of handlers, subscribers of `events$` and loops over `watchEvents()` at this moment. Readers of the cache are not counted. */
  get consumers(): number {
    return this.#distributor.consumers;
  }

  /** Number of failed calls of handlers, index functions and the transform so far. */
  get handlerErrors(): number {
    return this.#handlerErrors;
  }

  // ---- Life ----

  /** Starts to list and watch. A second call does nothing; throws Error after {@link close}. */
  start(): void {
    if (this.#phase === 'stopped') throw new Error('a stopped informer cannot be started again');
    if (this.#phase === 'started') return;
    this.#phase = 'started';
    this.#detector.start();
    this.#reflector.start({ resyncMs: this.#distributor.handlers.resyncCheckMs });
  }

  /**
   * Ends watch, timers, streams and handlers (I9); the cache stays as it is. `reason`: the error of a last status, `failed`. Resolves when
   * calls of slow handlers have ended. Idempotent.
   */
  async close(reason?: Error): Promise<void> {
    if (this.#phase !== 'stopped') {
      this.#phase = 'stopped';
      this.#fifo.close();
      this.#distributor.stop();
      this.#detector.close();
      this.#measure?.release();
      await this.#reflector.close(reason);
      this.#distributor.endObservers();
    }
    // Every caller waits for all handlers, whichever call came first.
    await this.#distributor.handlers.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- Configuration ----

  /**
   * Adds indexes; cached objects are indexed at once. Throws Error for a taken name or a stopped informer, TypeError unless given
   * functions.
   */
  addIndexers(indexers: Indexers<T>): void {
    if (this.isStopped) throw new Error('indexer was not added because it has stopped already');
    this.indexer.addIndexers(indexers);
  }

  /** Sets the transform. Throws Error once started, TypeError unless given a function. */
  setTransform(transform: Transform<T>): void {
    requireFunction(transform, 'transform');
    if (this.isStarted) throw new Error('informer has already started');
    this.#transform = transform;
  }

  // ---- Consumers ----

  /**
   * Registers a handler; the same one may be registered several times. On a running informer it first receives all cached objects, as
   * additions of the initial list. Throws Error on a stopped informer, TypeError on a bad handler or period.
   */
  addEventHandler(handler: ResourceEventHandler<T>, options: EventHandlerOptions = {}): EventHandlerRegistration {
    if (this.isStopped) {
      throw new Error('handler was not added to shared informer because it has stopped already');
    }
    requireHandler(handler);
    requireObject(options, 'options of a handler');
    requireKnownOptions(options, { resyncMs: true }, 'a handler');
    const resyncMs = options.resyncMs ?? this.#options.resyncMs ?? 0;
    requireNotNegative(resyncMs, 'resyncMs');
    const listener = this.#distributor.addHandler(handler, { resyncMs, isStarted: this.isStarted });
    const registration = registrationOf(listener, this.#distributor.handlers);
    this.#registrations.set(registration, listener);
    return registration;
  }

  /** Ends a registration of this informer; others are ignored. Running calls continue, see {@link EventHandlerRegistration.close}. */
  removeEventHandler(registration: EventHandlerRegistration): void {
    const listener = this.#registrations.get(registration);
    if (listener !== undefined) void this.#distributor.handlers.remove(listener);
  }

  /**
   * Yields the present objects, `synced`, then changes, for `for await`. At most one change waits per live object: a slow loop sees the
   * latest state, never a backlog (I5). Ends on close and when the signal aborts. Throws TypeError for an invalid signal.
   */
  watchEvents(options: { readonly signal?: AbortSignal } = {}): AsyncIterable<InformerEvent<T>> {
    requireObject(options, 'options of watchEvents()');
    requireKnownOptions(options, { signal: true }, 'watchEvents()');
    requireSignal(options.signal);
    return informerEvents((observer) => this.#distributor.observe(observer), options.signal);
  }

  // ---- Parts ----

  #createReflector(listerWatcher: ListerWatcher<T>, expected: Pick<ReflectorOptions, 'expected'>): Reflector<T> {
    const store = new FifoWriter(this.#fifo, this.#distributor.gate);
    return new Reflector(listerWatcher, store, {
      ...this.#options,
      ...expected,
      name: this.#name,
      onWatchError: this.#options.onWatchError ?? watchErrorWarning(this.#name, this.#warn),
      onWarning: this.#warn,
      shouldResync: () => this.#distributor.handlers.shouldResync(),
      onStoreError: (error) => this.#reportError(error),
    });
  }

  #reportError(error: unknown, change?: ObjectChange<T>): void {
    this.#handlerErrors++;
    const name = this.#name;
    const { onHandlerError = () => this.#warn(failureText(name, error, change), error) } = this.#options;
    guardedCall(
      () => onHandlerError(error, change, name),
      (thrown) => this.#warn(`${name}: onHandlerError failed: ${errorText(thrown)}`, thrown),
    );
  }
}

/** Names the object that a handler received; our other texts name theirs themselves. */
function failureText<T extends KubernetesObject>(name: string, error: unknown, change?: ObjectChange<T>): string {
  const where = change === undefined ? '' : `a handler failed (${change.type} ${change.key}): `;
  return `${name}: ${where}${errorText(error)}`;
}

function rethrow(error: Error): never {
  throw error;
}

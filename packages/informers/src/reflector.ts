// Keeps a store in step with a ListerWatcher: the driver of the list/watch machine of @kapstan/api. Writes to a FIFO; the client is its
// source.
import {
  type CancelTimer,
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type ListerWatcher,
  type ListOptions,
  type ListResult,
  metaNamespaceKey,
  type ObjectKey,
  systemClock,
  type WatchEvent,
  type WatchOptions,
} from '@kapstan/api';
import {
  boundCallbacks,
  createListWatchState,
  guardedCall,
  immediate,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  listWatchFailureOf,
  requireFunctions,
  stepListWatch,
} from '@kapstan/api/internal';
import { defer, type Observable, type Subscription } from 'rxjs';
import { reflectorCallbacks, requireReflector } from './informer-checks.ts';
import { requireOptionNames } from './informer-option-names.ts';
import { emitProcessWarning, errorText } from './process-warning.ts';
import { type ExpectedKind, expectedOf, requireUsable, sourceName } from './reflector-events.ts';
import type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';
import { InitialSilence } from './reflector-silence.ts';
import { type ReflectorStatus, StatusSource, watchErrorWarning } from './reflector-status.ts';
import { RoundTrace } from './reflector-trace.ts';

type Pending<T extends KubernetesObject> =
  | { readonly kind: 'input'; readonly input: ListWatchInput }
  | { readonly kind: 'event'; readonly event: WatchEvent<T>; readonly watchId: number };

const written = 'what the store writes';

/** Lists and watches until closed. It never gives up: trouble is a value on {@link Reflector.status$}. */
export class Reflector<T extends KubernetesObject> {
  readonly #listerWatcher: ListerWatcher<T>;
  readonly #store: ReflectorStore<T>;
  readonly #options: ReflectorOptions;
  readonly #name: string;
  readonly #expected: ExpectedKind | undefined;
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #onWatchError: NonNullable<ReflectorOptions['onWatchError']>;
  readonly #abort = new AbortController();
  readonly #silence: InitialSilence;
  readonly #trace: RoundTrace;

  readonly #status: StatusSource;
  #state: ListWatchState;
  #resyncMs: number;
  #staged: DeepReadonly<T>[] | Map<ObjectKey, DeepReadonly<T>> = [];
  #watch: Subscription | undefined;
  // Invariant: events carry the id of their watch; those of an earlier watch are dropped.
  #watchId = 0;
  // Invariant: nothing is delivered inside a delivery (I4); what arrives meanwhile waits here.
  #isBusy = false;
  readonly #pending: Pending<T>[] = [];
  #cancelWait: () => void = () => undefined;
  #cancelWatchdog: CancelTimer | undefined;
  #cancelResync: CancelTimer | undefined;

  /** Shared. Replays the present status. Never errors. Completes on close. Slow consumers: each change is delivered at once. */
  readonly status$: Observable<ReflectorStatus>;

  /** Throws TypeError on bad options. Does nothing until {@link start}. */
  constructor(listerWatcher: ListerWatcher<T>, store: ReflectorStore<T>, given: ReflectorOptions = {}) {
    requireReflector(listerWatcher, given);
    requireOptionNames(given, 'a reflector');
    requireFunctions(store, 'a store', ['add', 'update', 'delete', 'replace']);
    this.#listerWatcher = listerWatcher;
    this.#store = store;
    const options = boundCallbacks(given, reflectorCallbacks);
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    const { name = sourceName(listerWatcher.resource), onWarning = emitProcessWarning } = options;
    this.#name = name;
    this.#expected = options.expected ?? expectedOf(listerWatcher.resource).expected;
    this.#onWatchError = options.onWatchError ?? watchErrorWarning(name);
    const warn = (text: string): void => this.#guard(() => onWarning(text));
    this.#trace = new RoundTrace({ name, clock: this.#clock, onWarning: warn });
    // A broken stream is reported in another way.
    const warnOfStream = (text: string): unknown => this.#state.phase === 'streaming' && warn(text);
    this.#silence = new InitialSilence({ name, clock: this.#clock, onWarning: warnOfStream });
    this.#resyncMs = options.resyncMs ?? 0;
    const canStream = listerWatcher.supportsWatchList ?? true;
    const known = canStream ? options : { ...options, useWatchList: false };
    this.#state = createListWatchState(known, this.#clock.monotonicNow());
    this.#status = new StatusSource(this.#clock);
    this.status$ = this.#status.status$;
  }

  /** The newest value of {@link status$}; after {@link close} the last one. */
  get status(): ReflectorStatus {
    return this.#status.status;
  }

  /** Version up to which the store is known to be current; "" before the first list. */
  get lastSyncResourceVersion(): string {
    return this.#state.resourceVersion;
  }

  /** Starts to list and watch. A second call does nothing. `resyncMs` overrides that of the constructor. */
  start(options: { readonly resyncMs?: number } = {}): void {
    if (this.#state.phase !== 'idle') return;
    this.#resyncMs = options.resyncMs ?? this.#resyncMs;
    this.#give({ type: 'start' });
  }

  /** Ends requests, watch and timers at once (I9). `reason`: the error of a last status, `failed`. Idempotent. */
  close(reason?: Error): Promise<void> {
    if (reason !== undefined && this.#state.phase !== 'closed') this.#status.set({ phase: 'failed', error: reason });
    this.#give({ type: 'close' });
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  // ---- The machine's loop ----

  // Events take another path than inputs: one that comes alone, as nearly all do, needs neither a Pending nor a closure.

  #give(input: ListWatchInput): void {
    if (this.#isBusy) {
      this.#pending.push({ kind: 'input', input });
      return;
    }
    this.#isBusy = true;
    this.#takeInput(input);
    this.#takePending();
  }

  #giveEvent(event: WatchEvent<T>, watchId: number): void {
    if (this.#isBusy) {
      this.#pending.push({ kind: 'event', event, watchId });
      return;
    }
    this.#isBusy = true;
    this.#takeEvent(event, watchId);
    this.#takePending();
  }

  // Atomic: one input at a time; the effects of one step end before the next begins.
  #takePending(): void {
    // The array may grow during this loop.
    for (const waiting of this.#pending) {
      if (waiting.kind === 'input') this.#takeInput(waiting.input);
      else this.#takeEvent(waiting.event, waiting.watchId);
    }
    if (this.#pending.length > 0) this.#pending.length = 0;
    this.#isBusy = false;
  }

  // Invariant: this and the next method never throw, so that trouble with one input costs neither the next nor the loop.
  #takeInput(input: ListWatchInput): void {
    try {
      this.#step(input);
    } catch (error) {
      this.#reportStoreError(error);
    }
  }

  #takeEvent(event: WatchEvent<T>, watchId: number): void {
    try {
      this.#onEvent(event, watchId);
    } catch (error) {
      this.#reportStoreError(error);
    }
  }

  /** Runs foreign code; what it throws is reported. */
  #guard(section: () => unknown): void {
    guardedCall(section, (error) => this.#reportStoreError(error));
  }

  #reportStoreError(error: unknown): void {
    const { onStoreError = (lost) => emitProcessWarning(`${this.#name}: ${errorText(lost)}`, lost) } = this.#options;
    guardedCall(
      () => onStoreError(error),
      (thrown) => emitProcessWarning(`${this.#name}: onStoreError failed: ${errorText(thrown)}`, thrown),
    );
  }

  #step(input: ListWatchInput): void {
    // Events use no random number, see Moment.
    const random = input.type === 'event' || input.type === 'bookmark' ? 0 : this.#random();
    const step = stepListWatch(this.#state, input, { nowMs: this.#clock.monotonicNow(), random });
    this.#state = step.state;
    for (const effect of step.effects) if (!this.#perform(effect)) return;
  }

  /** Performs an effect. Returns false when the rest of the step no longer applies. */
  #perform(effect: ListWatchEffect): boolean {
    switch (effect.type) {
      case 'list':
        this.#list(effect);
        return true;
      case 'watch':
        this.#openWatch(effect);
        return true;
      case 'closeWatch':
        this.#dropWatch();
        return true;
      case 'replace':
        return this.#replace(effect.resourceVersion);
      case 'wait':
        this.#wait(effect);
        return true;
      case 'watchdog':
        this.#cancelWatchdog?.();
        this.#cancelWatchdog = this.#clock.setBackgroundTimer(() => this.#give({ type: 'watchdog' }), effect.delayMs);
        return true;
      case 'status':
        this.#status.set(effect);
        if (effect.error !== undefined) this.#guard(() => this.#onWatchError(effect.error, this.status));
        return true;
      case 'stop':
        this.#stop();
        return true;
    }
  }

  #wait({ delayMs, untilReachable = false }: Extract<ListWatchEffect, { type: 'wait' }>): void {
    this.#cancelWait();
    const source = this.#listerWatcher;
    let forget: () => unknown = () => undefined;
    const end = (input: ListWatchInput): void => {
      this.#cancelWait();
      this.#give(input);
    };
    const cancel = this.#clock.setTimer(() => end({ type: 'waited' }), delayMs);
    this.#cancelWait = () => {
      this.#cancelWait = () => undefined;
      cancel();
      this.#guard(forget);
    };
    if (!untilReachable || source.whenReachable === undefined) return;
    this.#guard(() => {
      forget = source.whenReachable?.(() => this.#give({ type: 'reachable' })) ?? forget;
    });
  }

  // ---- Lists ----

  #list(effect: Extract<ListWatchEffect, { type: 'list' }>): void {
    if (effect.continue === undefined) {
      this.#trace.start('ListAndWatch');
      this.#staged = [];
      this.#cancelResync?.();
    }
    const options: ListOptions = {
      ...this.#selection(),
      ...(effect.resourceVersion === '' ? {} : { resourceVersion: effect.resourceVersion }),
      ...(effect.limit === 0 ? {} : { limit: effect.limit }),
      ...(effect.continue === undefined ? {} : { continue: effect.continue }),
      signal: this.#abort.signal,
    };
    // A list that throws instead of rejecting counts as failed too.
    Promise.resolve()
      .then(() => this.#listerWatcher.list(options))
      .then((page) => this.#stagePage(page))
      .then(
        (page) => this.#give({ type: 'listed', resourceVersion: page.resourceVersion, continue: page.continue }),
        (error) => this.#give({ type: 'listFailed', failure: listWatchFailureOf(error) }),
      );
  }

  #stagePage(page: ListResult<T>): ListResult<T> {
    if (!Array.isArray(page?.items)) throw new TypeError('unable to understand list result: it has no items');
    if (Array.isArray(this.#staged)) for (const item of page.items) this.#staged.push(item);
    return page;
  }

  #replace(resourceVersion: string): boolean {
    const objects = this.#staged instanceof Map ? this.#staged.values() : this.#staged;
    try {
      this.#trace.finish(() => immediate(this.#store.replace(objects, resourceVersion), written));
    } catch (cause) {
      this.#dropWatch();
      const error = new Error(`unable to sync list result: ${(cause as Error).message}`, { cause });
      this.#pending.push({ kind: 'input', input: { type: 'watchFailed', failure: { kind: 'other', error } } });
      return false;
    } finally {
      this.#staged = [];
    }
    this.#silence.stop();
    this.#armResync();
    return true;
  }

  // ---- Watches ----

  #openWatch(effect: Extract<ListWatchEffect, { type: 'watch' }>): void {
    this.#dropWatch();
    if (effect.sendInitialEvents) {
      this.#staged = new Map();
      this.#cancelResync?.();
      this.#trace.start('WatchList');
      this.#silence.start();
    }
    const watchId = ++this.#watchId;
    const isCurrent = (): boolean => watchId === this.#watchId;
    const options: WatchOptions = {
      ...this.#selection(),
      ...(effect.resourceVersion === '' ? {} : { resourceVersion: effect.resourceVersion }),
      ...(effect.sendInitialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
      allowWatchBookmarks: true,
      timeoutSeconds: effect.timeoutMs / 1000,
      onOpen: () => isCurrent() && this.#give({ type: 'opened' }),
    };
    // defer: a watch that throws instead of erroring counts as failed too.
    this.#watch = defer(() => this.#listerWatcher.watch(options)).subscribe({
      next: (event) => this.#giveEvent(event, watchId),
      error: (error) => isCurrent() && this.#give({ type: 'watchFailed', failure: listWatchFailureOf(error) }),
      complete: () => isCurrent() && this.#give({ type: 'ended' }),
    });
  }

  #dropWatch(): void {
    this.#watchId++;
    this.#silence.stop();
    const watch = this.#watch;
    this.#watch = undefined;
    this.#guard(() => watch?.unsubscribe());
  }

  /** The hot path: store first, then the version. */
  #onEvent(event: WatchEvent<T>, watchId: number): void {
    if (watchId !== this.#watchId) return;
    const isStreaming = this.#state.phase === 'streaming';
    if (isStreaming) this.#silence.noteEvent();
    if (event.type === 'BOOKMARK') {
      const { resourceVersion, initialEventsEnd } = event;
      if (!isStreaming) this.#guard(() => immediate(this.#store.bookmark?.(resourceVersion), written));
      this.#step({ type: 'bookmark', resourceVersion, initialEventsEnd });
      return;
    }
    // The version of an unusable object does not count either. This throws to #takeEvent, which reports the error.
    requireUsable(event.object, this.#expected);
    try {
      if (isStreaming) this.#stage(event.type, event.object);
      else this.#apply(event.type, event.object);
    } catch (error) {
      this.#reportStoreError(error);
    }
    const { resourceVersion = '' } = (event.object as KubernetesObject).metadata ?? {};
    this.#step({ type: 'event', isAdded: event.type === 'ADDED', resourceVersion });
  }

  #stage(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: DeepReadonly<T>): void {
    if (!(this.#staged instanceof Map)) return;
    const key = metaNamespaceKey(object);
    if (type === 'DELETED') this.#staged.delete(key);
    else this.#staged.set(key, object);
  }

  #apply(type: 'ADDED' | 'MODIFIED' | 'DELETED', object: DeepReadonly<T>): void {
    if (type === 'ADDED') immediate(this.#store.add(object), written);
    else if (type === 'MODIFIED') immediate(this.#store.update(object), written);
    else if (type === 'DELETED') immediate(this.#store.delete(object), written);
    else throw new TypeError(`unable to understand watch event: its type is ${String(type)}`);
  }

  #selection(): Pick<ListOptions, 'labelSelector' | 'fieldSelector'> {
    const { labelSelector, fieldSelector } = this.#options;
    return {
      ...(labelSelector === undefined ? {} : { labelSelector }),
      ...(fieldSelector === undefined ? {} : { fieldSelector }),
    };
  }

  // ---- Resync, end ----

  #armResync(): void {
    this.#cancelResync?.();
    // A change that the resync caused may have closed the reflector.
    if (this.#resyncMs <= 0 || this.#state.phase === 'closed') return;
    this.#cancelResync = this.#clock.setBackgroundTimer(() => this.#resync(), this.#resyncMs);
  }

  #resync(): void {
    try {
      if (this.#options.shouldResync?.() ?? true) immediate(this.#store.resync?.(), written);
    } catch (error) {
      this.#dropWatch();
      this.#give({ type: 'watchFailed', failure: { kind: 'other', error } });
    }
    this.#armResync();
  }

  #stop(): void {
    this.#dropWatch();
    this.#abort.abort(new Error('the reflector is closed'));
    this.#cancelWait();
    this.#cancelWatchdog?.();
    this.#cancelResync?.();
    this.#staged = [];
    this.#status.complete();
  }
}

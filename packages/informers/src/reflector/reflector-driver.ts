// ReflectorDriver carries out the decisions of the list/watch machine of @kapstan/api: it lists and watches a source, and writes to a
// store. reflector.ts uses it; source-watch.ts and staged-state.ts are its parts.
import {
  type CancelTimer,
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type ListerWatcher,
  type ListOptions,
  systemClock,
  type WatchEvent,
  type WatchOptions,
} from '@kapstan/api';
import {
  type ChangeType,
  createListWatchState,
  guardedCall,
  immediate,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  listWatchFailureOf,
  stepListWatch,
} from '@kapstan/api/internal';
import { emitProcessWarning, errorText } from '../guards/process-warning.ts';
import { type ExpectedKind, expectedOf, requireUsable, sourceName } from './reflector-events.ts';
import type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';
import { InitialSilence } from './reflector-silence.ts';
import { StatusSource, watchErrorWarning } from './reflector-status.ts';
import { RoundTrace } from './reflector-trace.ts';
import { SourceWatch, type SourceWatchSink } from './source-watch.ts';
import { StagedState } from './staged-state.ts';

type Pending<T extends KubernetesObject> =
  | { readonly kind: 'input'; readonly input: ListWatchInput }
  | { readonly kind: 'event'; readonly event: WatchEvent<T>; readonly from: SourceWatch<T> };

const written = 'what the store writes';

export class ReflectorDriver<T extends KubernetesObject> implements SourceWatchSink<T> {
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

  readonly status: StatusSource;
  #state: ListWatchState;
  #resyncMs: number;
  readonly #staged = new StagedState<T>();
  // Invariant: inputs and events name their watch, and whatever names an earlier watch is dropped.
  #watch: SourceWatch<T> | undefined;
  // Invariant: nothing is delivered inside a delivery (I4); anything that arrives meanwhile waits here.
  #isBusy = false;
  readonly #pending: Pending<T>[] = [];
  #cancelWait: () => void = () => undefined;
  #cancelWatchdog: CancelTimer | undefined;
  #cancelResync: CancelTimer | undefined;
  #lists = 0;

  /** Does nothing until {@link start}. */
  constructor(listerWatcher: ListerWatcher<T>, store: ReflectorStore<T>, options: ReflectorOptions) {
    this.#listerWatcher = listerWatcher;
    this.#store = store;
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
    this.status = new StatusSource(this.#clock);
  }

  get lastSyncResourceVersion(): string {
    return this.#state.resourceVersion;
  }

  /** Number of whole states requested so far, as pages or as a stream. */
  get lists(): number {
    return this.#lists;
  }

  /** Time since the open watch last delivered an event or a bookmark, in milliseconds; undefined without a watch. */
  get silentMs(): number | undefined {
    return 'stream' in this.#state ? this.#clock.monotonicNow() - this.#state.stream.lastEventAtMs : undefined;
  }

  start(resyncMs: number | undefined): void {
    if (this.#state.phase !== 'idle') return;
    this.#resyncMs = resyncMs ?? this.#resyncMs;
    this.#give({ type: 'start' });
  }

  close(reason: Error | undefined): void {
    if (reason !== undefined && this.#state.phase !== 'closed') this.status.set({ phase: 'failed', error: reason });
    this.#give({ type: 'close' });
  }

  // ---- The machine's loop ----

  // Events take another path than inputs, because an event that arrives alone, as nearly all do, needs neither a Pending nor a closure.

  #give(input: ListWatchInput): void {
    if (this.#isBusy) {
      this.#pending.push({ kind: 'input', input });
      return;
    }
    this.#isBusy = true;
    this.#takeInput(input);
    this.#takePending();
  }

  onWatchEvent(event: WatchEvent<T>, from: SourceWatch<T>): void {
    if (this.#isBusy) {
      this.#pending.push({ kind: 'event', event, from });
      return;
    }
    this.#isBusy = true;
    this.#takeEvent(event, from);
    this.#takePending();
  }

  // Atomic: one input at a time; the effects of one step end before the next begins.
  #takePending(): void {
    // The array may grow during this loop.
    for (const waiting of this.#pending) {
      if (waiting.kind === 'input') this.#takeInput(waiting.input);
      else this.#takeEvent(waiting.event, waiting.from);
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

  #takeEvent(event: WatchEvent<T>, from: SourceWatch<T>): void {
    try {
      this.#onEvent(event, from);
    } catch (error) {
      this.#reportStoreError(error);
    }
  }

  /** Runs foreign code and reports its errors. */
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
        this.status.set(effect);
        if (effect.error !== undefined) this.#guard(() => this.#onWatchError(effect.error, this.status.status));
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
      this.#lists++;
      this.#trace.start('ListAndWatch');
      this.#staged.beginList();
      this.#cancelResync?.();
    }
    // A lister-watcher of the program may ask which members are there.
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
      .then((page) => this.#staged.addPage(page))
      .then(
        (page) => this.#give({ type: 'listed', resourceVersion: page.resourceVersion, continue: page.continue }),
        (error) => this.#give({ type: 'listFailed', failure: listWatchFailureOf(error) }),
      );
  }

  #replace(resourceVersion: string): boolean {
    try {
      this.#trace.finish(() => immediate(this.#store.replace(this.#staged.objects, resourceVersion), written));
    } catch (cause) {
      this.#dropWatch();
      const error = new Error(`unable to sync list result: ${(cause as Error).message}`, { cause });
      this.#pending.push({ kind: 'input', input: { type: 'watchFailed', failure: { kind: 'other', error } } });
      return false;
    } finally {
      this.#staged.clear();
    }
    this.#silence.stop();
    this.#armResync();
    return true;
  }

  // ---- Watches ----

  #openWatch(effect: Extract<ListWatchEffect, { type: 'watch' }>): void {
    this.#dropWatch();
    if (effect.sendInitialEvents) {
      this.#lists++;
      this.#staged.beginStream();
      this.#cancelResync?.();
      this.#trace.start('WatchList');
      this.#silence.start();
    }
    const watch = new SourceWatch<T>(this);
    this.#watch = watch;
    const options: WatchOptions = {
      ...this.#selection(),
      ...(effect.resourceVersion === '' ? {} : { resourceVersion: effect.resourceVersion }),
      ...(effect.sendInitialEvents ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {}),
      allowWatchBookmarks: true,
      timeoutSeconds: effect.timeoutMs / 1000,
      onOpen: () => this.onWatchInput({ type: 'opened' }, watch),
    };
    watch.open(this.#listerWatcher, options);
  }

  onWatchInput(input: ListWatchInput, from: SourceWatch<T>): void {
    if (from === this.#watch) this.#give(input);
  }

  #dropWatch(): void {
    this.#silence.stop();
    const watch = this.#watch;
    this.#watch = undefined;
    this.#guard(() => watch?.close());
  }

  /** The hot path: store first, then the version. */
  #onEvent(event: WatchEvent<T>, from: SourceWatch<T>): void {
    if (from !== this.#watch) return;
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
      if (isStreaming) this.#staged.apply(event.type, event.object);
      else this.#apply(event.type, event.object);
    } catch (error) {
      this.#reportStoreError(error);
    }
    const { resourceVersion = '' } = (event.object as KubernetesObject).metadata ?? {};
    this.#step({ type: 'event', isAdded: event.type === 'ADDED', resourceVersion });
  }

  #apply(type: ChangeType, object: DeepReadonly<T>): void {
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
    this.#staged.clear();
    this.status.complete();
  }
}

// DefinitionFeed holds the present CustomResourceDefinitions, which it lists and watches on their own store in this
// process. It is a driver of the list/watch machine of `api`, as the cacher's feed is. Used by the definition controller.
import {
  type CancelTimer,
  type Clock,
  compareResourceVersions,
  type DeepReadonly,
  type Logger,
  type ResourceVersion,
  type UnstructuredObject,
} from '@kapstan/api';
import {
  createListWatchState,
  formatRevision,
  type ListWatchEffect,
  type ListWatchInput,
  type ListWatchState,
  listWatchFailureOf,
  stepListWatch,
  TurnSlice,
} from '@kapstan/api/internal';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import type { CustomResourceDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import type { StorageEvent, StorageWatch, StorageWatchSink } from '@kapstan/storage';

export type Definition = DeepReadonly<CustomResourceDefinition>;

export interface DefinitionFeedOptions {
  readonly store: ResourceStore<UnstructuredObject>;
  readonly context: RequestContext;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Called after each change; `next` is undefined when the definition is gone, `last` when it is new. */
  onChange(change: { readonly next: Definition | undefined; readonly last: Definition | undefined }): void;
}

// There is one such feed in a process, so its pauses need no jitter.
const backoff = { initialMs: 1000, maxMs: 10_000, factor: 2, jitter: 0, resetAfterMs: 60_000 };

export class DefinitionFeed implements StorageWatchSink<UnstructuredObject> {
  readonly #options: DefinitionFeedOptions;
  readonly #known = new Map<string, Definition>();
  #state: ListWatchState;
  /** Names in the list in progress. */
  #listed: Set<string> = new Set();
  #listedAt = '0' as ResourceVersion;
  #watch: StorageWatch | undefined;
  #cancelWait: CancelTimer | undefined;
  /** Settles the promise of {@link start}. */
  #onFirstList: ((error?: unknown) => void) | undefined;

  constructor(options: DefinitionFeedOptions) {
    this.#options = options;
    // A store in this process cannot fall silent unnoticed.
    const machine = { useWatchList: false, idleTimeoutMs: 0, backoff };
    this.#state = createListWatchState(machine, options.clock.monotonicNow());
  }

  /** Resolves when the present definitions have been reported. Rejects when they cannot be listed. */
  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#onFirstList = (error) => (error === undefined ? resolve() : reject(error));
      this.#input({ type: 'start' });
    });
  }

  get(name: string): Definition | undefined {
    return this.#known.get(name);
  }

  all(): Iterable<Definition> {
    return this.#known.values();
  }

  /** Takes a newer state from a write's answer before the watch reports it. Older ones are ignored. */
  take(next: Definition): void {
    const name = nameOf(next);
    const last = this.#known.get(name);
    if (last !== undefined && compareResourceVersions(versionOf(next), versionOf(last)) <= 0) return;
    this.#known.set(name, next);
    this.#options.onChange({ next, last });
  }

  close(): void {
    this.#input({ type: 'close' });
  }

  #input(input: ListWatchInput): void {
    const { state, effects } = stepListWatch(this.#state, input, {
      nowMs: this.#options.clock.monotonicNow(),
      random: 0,
    });
    this.#state = state;
    for (const effect of effects) this.#perform(effect);
  }

  #perform(effect: ListWatchEffect): void {
    switch (effect.type) {
      case 'list':
        void this.#list();
        return;
      case 'watch':
        return this.#open(effect.resourceVersion);
      case 'closeWatch':
        return this.#watch?.close();
      case 'replace':
        return this.#replace();
      case 'wait':
        this.#cancelWait = this.#options.clock.setBackgroundTimer(
          () => this.#input({ type: 'waited' }),
          effect.delayMs,
        );
        return;
      case 'watchdog':
        return;
      case 'status':
        return this.#report(effect);
      case 'stop':
        return this.#stop();
    }
  }

  /** Lists all at the newest version, whatever version the machine asks for, because deleted definitions must not come back. */
  async #list(): Promise<void> {
    const { store, context } = this.#options;
    try {
      const { items, resourceVersion } = await store.list(context, {});
      // Each object is parsed on first use, and a thousand definitions of 50 KB take half a second.
      const slice = new TurnSlice({ itemsPerLook: 1 });
      this.#listed = new Set();
      for (const { object } of items) {
        if (this.#state.phase === 'closed') return;
        const definition = object as unknown as Definition;
        this.#listed.add(nameOf(definition));
        this.take(definition);
        if (slice.endsHere()) await slice.nextTurn();
      }
      this.#listedAt = resourceVersion as ResourceVersion;
      this.#input({ type: 'listed', resourceVersion });
    } catch (error) {
      if (this.#onFirstList !== undefined) return this.#failFirstList(error);
      this.#input({ type: 'listFailed', failure: listWatchFailureOf(error) });
    }
  }

  /** A server that cannot read its definitions does not start. */
  #failFirstList(error: unknown): void {
    const settle = this.#onFirstList;
    this.#onFirstList = undefined;
    this.close();
    settle?.(error);
  }

  #replace(): void {
    for (const [name, last] of this.#known) {
      // A write may have been answered while the list was read.
      const isOlder = compareResourceVersions(versionOf(last), this.#listedAt) <= 0;
      if (isOlder && !this.#listed.has(name)) this.#gone(name, last);
    }
    this.#listed = new Set();
    this.#onFirstList?.();
    this.#onFirstList = undefined;
  }

  #open(resourceVersion: string): void {
    const { store, context } = this.#options;
    try {
      this.#watch = store.watch(context, { resourceVersion, allowWatchBookmarks: true }, this);
    } catch (error) {
      // The input is deferred, because the effects of the machine's last step are still being performed.
      queueMicrotask(() => this.#input({ type: 'watchFailed', failure: listWatchFailureOf(error) }));
    }
  }

  // The store calls the next two methods.

  onEvent(event: StorageEvent<UnstructuredObject>): void {
    if (event.type === 'BOOKMARK') {
      this.#input({ type: 'bookmark', resourceVersion: formatRevision(event.revision), initialEventsEnd: false });
      return;
    }
    const definition = event.stored.object as unknown as Definition;
    if (event.type === 'DELETED') this.#deleted(definition);
    else this.take(definition);
    const resourceVersion = formatRevision(event.stored.revision);
    this.#input({ type: 'event', isAdded: event.type === 'ADDED', resourceVersion });
  }

  onEnd(error?: Error): void {
    this.#input(error === undefined ? { type: 'ended' } : { type: 'watchFailed', failure: listWatchFailureOf(error) });
  }

  #deleted(definition: Definition): void {
    const name = nameOf(definition);
    const last = this.#known.get(name);
    // The definition may have been created again, and that may be known before its deletion is reported.
    if (last !== undefined && last.metadata?.uid === definition.metadata?.uid) this.#gone(name, last);
  }

  #gone(name: string, last: Definition): void {
    this.#known.delete(name);
    this.#options.onChange({ next: undefined, last });
  }

  #report({ error }: Extract<ListWatchEffect, { type: 'status' }>): void {
    if (error === undefined) return;
    this.#options.logger.warn('custom resource definitions could not be listed or watched; trying again', {
      error: String(error),
    });
  }

  #stop(): void {
    this.#watch?.close();
    this.#cancelWait?.();
    // A caller that still waits for the start continues, and closes what it opened.
    this.#onFirstList?.();
    this.#onFirstList = undefined;
  }
}

function nameOf(definition: Definition): string {
  return definition.metadata?.name ?? '';
}

function versionOf(definition: Definition): ResourceVersion {
  return definition.metadata?.resourceVersion as ResourceVersion;
}

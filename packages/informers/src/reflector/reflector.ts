// Reflector keeps a store in step with a ListerWatcher. It checks options and shows status and version; reflector-driver.ts lists and
// watches. Writes to a FIFO; the client is its source.
import type { KubernetesObject, ListerWatcher } from '@kapstan/api';
import { boundCallbacks, requireFunctions } from '@kapstan/api/internal';
import type { Observable } from 'rxjs';
import { reflectorCallbacks, requireListerWatcher } from '../guards/informer-checks.ts';
import { requireOptionsOf } from '../guards/informer-option-tables.ts';
import { ReflectorDriver } from './reflector-driver.ts';
import type { ReflectorOptions, ReflectorStore } from './reflector-options.ts';
import type { ReflectorStatus } from './reflector-status.ts';

/** Lists and watches until closed. It never gives up: trouble is a value on {@link Reflector.status$}. */
export class Reflector<T extends KubernetesObject> {
  readonly #driver: ReflectorDriver<T>;

  /** Shared. Replays the present status. Never errors. Completes on close. Slow consumers: each change is delivered at once. */
  readonly status$: Observable<ReflectorStatus>;

  /** Throws TypeError on bad options. Does nothing until {@link start}. */
  constructor(listerWatcher: ListerWatcher<T>, store: ReflectorStore<T>, given: ReflectorOptions = {}) {
    requireListerWatcher(listerWatcher);
    requireOptionsOf<ReflectorOptions>('a reflector', given);
    requireFunctions(store, 'a store', ['add', 'update', 'delete', 'replace']);
    this.#driver = new ReflectorDriver(listerWatcher, store, boundCallbacks(given, reflectorCallbacks));
    this.status$ = this.#driver.status.status$;
  }

  /** The newest value of {@link status$}; after {@link close} the last one. */
  get status(): ReflectorStatus {
    return this.#driver.status.status;
  }

  /** Version up to which the store is known to be current; "" before the first list. */
  get lastSyncResourceVersion(): string {
    return this.#driver.lastSyncResourceVersion;
  }

  /** Number of whole states requested so far, as pages or as a stream. Each one after the first is a relist. */
  get lists(): number {
    return this.#driver.lists;
  }

  /** Time since the open watch last delivered an event or a bookmark, in milliseconds; undefined without a watch. */
  get silentMs(): number | undefined {
    return this.#driver.silentMs;
  }

  /** Starts to list and watch. A second call does nothing. `resyncMs` overrides the constructor's. */
  start(options: { readonly resyncMs?: number } = {}): void {
    this.#driver.start(options.resyncMs);
  }

  /** Ends requests, watch and timers at once (I9). `reason`: the error of a last status, `failed`. Idempotent. */
  close(reason?: Error): Promise<void> {
    this.#driver.close(reason);
    return Promise.resolve();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

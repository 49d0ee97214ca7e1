// One registered handler: calls it, isolates its failures, buffers by key while it is slow, knows when it has synced.
// Owned by a shared informer.

import type { KubernetesObject } from '@kapstan/api';
import { isPromiseLike } from '@kapstan/api/internal';
import { ConflatingQueue } from './conflating-queue.ts';
import { callHandler, type ResourceEventHandler } from './event-handler.ts';
import type { ObjectChange } from './object-change.ts';
import type { ResyncSchedule } from './resync-schedule.ts';
import { SyncSignal } from './sync-signal.ts';

export interface HandlerListenerOptions<T extends KubernetesObject> {
  readonly handler: ResourceEventHandler<T>;
  readonly resync: ResyncSchedule;
  /** Runs a section as a delivery of the informer: what it causes is processed after it. */
  readonly exclusively: (section: () => void) => void;
  readonly onError: (error: unknown, change: ObjectChange<T>) => void;
}

export class HandlerListener<T extends KubernetesObject> {
  readonly resync: ResyncSchedule;
  /** Done when upstream has synced and every addition of the initial list was delivered without an error. */
  readonly synced: SyncSignal = new SyncSignal();
  readonly #handler: ResourceEventHandler<T>;
  readonly #exclusively: (section: () => void) => void;
  readonly #onError: (error: unknown, change: ObjectChange<T>) => void;
  readonly #waiting = new ConflatingQueue<T>();
  #running: Promise<void> | undefined;
  #isRemoved = false;
  #upstreamSynced = false;
  #initialPending = 0;
  #errors = 0;

  constructor(options: HandlerListenerOptions<T>) {
    this.#handler = options.handler;
    this.resync = options.resync;
    this.#exclusively = options.exclusively;
    this.#onError = options.onError;
  }

  /** Calls that failed so far. */
  get errors(): number {
    return this.#errors;
  }

  /** Objects with a change that waits for the handler. */
  get backlog(): number {
    return this.#waiting.size;
  }

  deliver(change: ObjectChange<T>): void {
    if (this.#isRemoved) return;
    if (isInitial(change)) this.#initialPending++;
    if (this.#running === undefined) {
      this.#call(change);
      return;
    }
    const dropped = this.#waiting.push(change);
    // What is gone before the handler was told of it need not be told.
    if (dropped !== undefined) this.#delivered(dropped);
  }

  /** To be called when the informer has told everything of its first list, and after a replay. */
  noteUpstream(hasSynced: boolean): void {
    this.#upstreamSynced = hasSynced;
    this.#checkSynced();
  }

  /** No further calls; what waits is dropped. Resolves when a call under way has ended. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#waiting.clear();
    this.synced.giveUp();
    // A call that is on the stack now may turn out slow.
    await Promise.resolve();
    await this.#running;
  }

  #call(change: ObjectChange<T>): void {
    let result: void | Promise<void>;
    try {
      result = callHandler(this.#handler, change);
    } catch (error) {
      this.#fail(error, change);
      return;
    }
    if (isPromiseLike(result)) {
      // Resolved: a foreign `then` may call back at once.
      this.#running = Promise.resolve(result).then(
        () => this.#finish(change),
        (error) => {
          this.#fail(error, change);
          this.#next();
        },
      );
    } else this.#delivered(change);
  }

  #finish(change: ObjectChange<T>): void {
    this.#delivered(change);
    this.#next();
  }

  /** Invariant: here too no delivery inside a delivery (I4); what waits goes before what these calls cause. */
  #next(): void {
    this.#exclusively(() => {
      this.#running = undefined;
      for (let change = this.#waiting.shift(); change !== undefined; change = this.#waiting.shift()) {
        this.#call(change);
        // The call just made turned out slow again.
        if (this.#running !== undefined) return;
      }
    });
  }

  #delivered(change: ObjectChange<T>): void {
    if (!isInitial(change)) return;
    this.#initialPending--;
    this.#checkSynced();
  }

  /** An initial addition that failed was never delivered: this listener does not sync (as in client-go). */
  #fail(error: unknown, change: ObjectChange<T>): void {
    this.#errors++;
    this.#onError(error, change);
  }

  #checkSynced(): void {
    if (this.#upstreamSynced && this.#initialPending === 0) this.synced.finish();
  }
}

const isInitial = (change: ObjectChange<KubernetesObject>): boolean =>
  change.type === 'added' && change.isInInitialList;

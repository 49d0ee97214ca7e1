// One registered handler: calls it, isolates its failures, buffers changes by key while it is slow, and knows when it has synced.
// Owned by a shared informer.

import type { KubernetesObject } from '@kapstan/api';
import { isPromiseLike } from '@kapstan/api/internal';
import type { DeliveryGate } from '../fifo/process-loop.ts';
import { ConflatingQueue } from './conflating-queue.ts';
import { callHandler, type ResourceEventHandler } from './event-handler.ts';
import type { ObjectChange } from './object-change.ts';
import type { ResyncSchedule } from './resync-schedule.ts';
import { SyncSignal } from './sync-signal.ts';

export interface HandlerListenerOptions<T extends KubernetesObject> {
  readonly handler: ResourceEventHandler<T>;
  readonly resync: ResyncSchedule;
  /** Holds other deliveries back while waiting changes are delivered. */
  readonly gate: DeliveryGate;
  readonly onError: (error: unknown, change: ObjectChange<T>) => void;
}

export class HandlerListener<T extends KubernetesObject> {
  readonly resync: ResyncSchedule;
  /** Done when the informer has synced and every addition of the initial list was delivered without an error. */
  readonly synced: SyncSignal = new SyncSignal();
  readonly #handler: ResourceEventHandler<T>;
  readonly #gate: DeliveryGate;
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
    this.#gate = options.gate;
    this.#onError = options.onError;
  }

  /** Number of calls that failed so far. */
  get errors(): number {
    return this.#errors;
  }

  /** Number of objects with a change that waits for the handler. */
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
    // The handler never saw this object, so its deletion needs no delivery.
    if (dropped !== undefined) this.#delivered(dropped);
  }

  /** Call this when the informer has delivered its whole first list, and after a replay. */
  noteUpstream(hasSynced: boolean): void {
    this.#upstreamSynced = hasSynced;
    this.#checkSynced();
  }

  /** Stops calling the handler and drops waiting changes. Resolves when a running call has ended. */
  async remove(): Promise<void> {
    this.#isRemoved = true;
    this.#waiting.clear();
    this.synced.giveUp();
    // The call now on the stack may turn out to be slow.
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
      // The result is wrapped in a promise, because a foreign `then` may call back at once.
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

  /** Invariant: no delivery inside a delivery (I4). Waiting changes are delivered before the changes that these calls cause. */
  #next(): void {
    const isOutermost = this.#gate.hold();
    try {
      this.#running = undefined;
      for (let change = this.#waiting.shift(); change !== undefined; change = this.#waiting.shift()) {
        this.#call(change);
        // This call has turned out to be slow again.
        if (this.#running !== undefined) return;
      }
    } finally {
      if (isOutermost) this.#gate.deliver();
    }
  }

  #delivered(change: ObjectChange<T>): void {
    if (!isInitial(change)) return;
    this.#initialPending--;
    this.#checkSynced();
  }

  /** Counts a failed call. A failed initial addition was never delivered, so this listener does not sync (as in client-go). */
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

// The handlers of one shared informer: which handler gets which change, at which resync period. Source: client-go sharedProcessor.
import type { Clock, KubernetesObject } from '@kapstan/api';
import type { ResourceEventHandler } from './event-handler.ts';
import type { EventHandlerRegistration } from './event-handler-registration.ts';
import { HandlerListener, type HandlerListenerOptions } from './handler-listener.ts';
import type { ObjectChange } from './object-change.ts';
import { adjustResync, ResyncSchedule } from './resync-schedule.ts';

export class HandlerRegistry<T extends KubernetesObject> {
  // Invariant: the list is replaced, never changed, so that a handler added during a delivery does not get that change twice.
  #listeners: readonly HandlerListener<T>[] = [];
  /** Removed listeners whose last call is still running. */
  readonly #leaving = new Set<Promise<void>>();
  #resyncCheckMs: number;
  readonly #clock: Clock;
  readonly #listening: Pick<HandlerListenerOptions<T>, 'gate' | 'onError'>;
  readonly #warn: (text: string) => void;

  constructor(
    options: {
      readonly resyncCheckMs: number;
      readonly clock: Clock;
      /** Called when a handler does not get the resync period that it requests. */
      readonly warn: (text: string) => void;
    } & Pick<HandlerListenerOptions<T>, 'gate' | 'onError'>,
  ) {
    this.#resyncCheckMs = options.resyncCheckMs;
    this.#clock = options.clock;
    this.#warn = options.warn;
    this.#listening = { gate: options.gate, onError: options.onError };
  }

  get size(): number {
    return this.#listeners.length;
  }

  /** Interval at which the informer checks for due handlers, in milliseconds; 0 = never. */
  get resyncCheckMs(): number {
    return this.#resyncCheckMs;
  }

  add(
    handler: ResourceEventHandler<T>,
    options: { readonly resyncMs: number; readonly isStarted: boolean },
  ): HandlerListener<T> {
    const adjusted = adjustResync({
      requestedMs: options.resyncMs,
      checkMs: this.#resyncCheckMs,
      isStarted: options.isStarted,
    });
    this.#warnOfPeriod(options.resyncMs, adjusted);
    const nowMs = this.#clock.monotonicNow();
    if (adjusted.checkMs !== this.#resyncCheckMs) {
      this.#resyncCheckMs = adjusted.checkMs;
      for (const listener of this.#listeners) listener.resync.adjust(adjusted.checkMs, nowMs);
    }
    const resync = new ResyncSchedule({ requestedMs: adjusted.requestedMs, checkMs: adjusted.checkMs, nowMs });
    const listener = new HandlerListener<T>({ handler, resync, ...this.#listening });
    this.#listeners = [...this.#listeners, listener];
    return listener;
  }

  #warnOfPeriod(askedMs: number, { requestedMs, checkMs }: ReturnType<typeof adjustResync>): void {
    if (askedMs === 0) return;
    if (checkMs === 0)
      this.#warn(
        `a resync period of ${askedMs} ms has no effect: the informer does not resync because its own period is 0`,
      );
    else if (requestedMs !== askedMs)
      this.#warn(`a resync period of ${askedMs} ms is too short; using ${requestedMs} ms`);
  }

  /** Removes a listener; an unknown one is not an error. Resolves when a running call has ended. */
  remove(listener: HandlerListener<T>): Promise<void> {
    this.#listeners = this.#listeners.filter((other) => other !== listener);
    const ended = listener.remove().finally(() => this.#leaving.delete(ended));
    this.#leaving.add(ended);
    return ended;
  }

  /** Delivers a change; with `resync` only to handlers that are due. */
  deliver(change: ObjectChange<T>, audience: 'all' | 'resync'): void {
    for (const listener of this.#listeners)
      if (audience === 'all' || listener.resync.isSyncing) listener.deliver(change);
  }

  noteSynced(): void {
    for (const listener of this.#listeners) listener.noteUpstream(true);
  }

  /** Marks the handlers that are due now; returns true if there are any. */
  shouldResync(): boolean {
    const nowMs = this.#clock.monotonicNow();
    let isDue = false;
    // All listeners are evaluated, so that each keeps its own pace.
    for (const listener of this.#listeners) isDue = listener.resync.evaluate(nowMs) || isDue;
    return isDue;
  }

  /**
   * Removes all listeners. Resolves when all running calls have ended, including calls of listeners that were removed
   * earlier.
   */
  async close(): Promise<void> {
    for (const listener of this.#listeners) void this.remove(listener);
    await Promise.all(this.#leaving);
  }
}

/** Returns the registration that represents a listener to the informer's user. */
export function registrationOf<T extends KubernetesObject>(
  listener: HandlerListener<T>,
  registry: HandlerRegistry<T>,
): EventHandlerRegistration {
  return {
    get hasSynced() {
      return listener.synced.isDone;
    },
    get errors() {
      return listener.errors;
    },
    get backlog() {
      return listener.backlog;
    },
    whenSynced: () => listener.synced.promise,
    close: () => registry.remove(listener),
  };
}

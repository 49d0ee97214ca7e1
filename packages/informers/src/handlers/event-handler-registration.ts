// EventHandlerRegistration: a handler of an informer, from addEventHandler() until it is closed. Made by handler-registry.ts.
import type { Syncable } from './sync-signal.ts';

/** Options of `addEventHandler`. */
export interface EventHandlerOptions {
  /**
   * Resync period of this handler, in milliseconds; 0 = none. Default: the informer's. An unusable period causes a warning: one below 1000,
   * one shorter than the period of an informer that has started, and any on an informer without resyncs.
   */
  readonly resyncMs?: number;
}

/** A handler registered with an informer. */
export interface EventHandlerRegistration extends Syncable {
  /** True when the informer has synced and the handler has received the whole initial list. */
  readonly hasSynced: boolean;
  /** Number of calls that threw or rejected. */
  readonly errors: number;
  /** Number of objects with a change that waits because the handler is busy. */
  readonly backlog: number;
  /** Stops calling the handler. Resolves when a running call has ended, so do not await it inside the handler. Idempotent. */
  close(): Promise<void>;
}

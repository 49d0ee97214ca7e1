// Waiting for something to happen to objects: conditions over a stream of events, one after the other. Over retryWatch, an
// informer's events$ or a watch. Source: client-go tools/watch/until.go.

import { type Clock, type KubernetesObject, type ListerWatcher, systemClock } from '@kapstan/api';
import {
  addAbortListener,
  immediate,
  removeAbortListener,
  requireGivenFunction,
  requireNotNegative,
  requireSignal,
} from '@kapstan/api/internal';
import { filter, firstValueFrom, Observable, race, throwIfEmpty } from 'rxjs';
import type { Indexer } from './indexer.ts';
import type { InformerEvent, ObjectChange } from './object-change.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

/** Whether what is waited for has happened. What it throws ends the waiting. */
export type UntilCondition<E> = (event: E) => boolean;

export interface UntilOptions {
  /** Ends the waiting with {@link UntilInterruptedError}. */
  readonly signal?: AbortSignal;
  /** Longest time to wait, in milliseconds; then {@link UntilInterruptedError}. 0 (default) = no limit. */
  readonly timeoutMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** The time was over, the signal aborted (`cause` says which), or the stream completed, before all conditions were met. */
export class UntilInterruptedError extends Error {
  /** The last event that came; undefined when none did. */
  readonly lastEvent: unknown;

  constructor(message: string, options: { readonly lastEvent?: unknown; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UntilInterruptedError';
    this.lastEvent = options.lastEvent;
  }
}

/**
 * Resolves to the event with which the last condition is met, and unsubscribes; to undefined, at once, without conditions.
 * They are met in turn: the next one is asked about the same event first. Rejects with the stream's error, with what a
 * condition throws, with {@link UntilInterruptedError}, and with TypeError on a bad argument.
 */
export async function until<E>(
  events: Observable<E>,
  conditions: readonly UntilCondition<E>[],
  options: UntilOptions = {},
): Promise<E | undefined> {
  for (const condition of conditions) requireGivenFunction(condition, 'a condition');
  if (conditions.length === 0) return undefined;
  let lastEvent: E | undefined;
  let met = 0;
  const wanted = events.pipe(
    filter((event) => {
      lastEvent = event;
      while (met < conditions.length && immediate(conditions[met]?.(event), 'the answer of a condition')) met++;
      return met === conditions.length;
    }),
    throwIfEmpty(() => new UntilInterruptedError('watch closed before Until timeout', { lastEvent })),
  );
  return await limited(options, (signal) => {
    const interruption = new Observable<never>((subscriber) => {
      const end = (): void =>
        subscriber.error(
          new UntilInterruptedError('timed out waiting for the condition', { lastEvent, cause: signal.reason }),
        );
      if (signal.aborted) end();
      signal.addEventListener('abort', end, { once: true });
      return () => signal.removeEventListener('abort', end);
    });
    return firstValueFrom(race(interruption, wanted));
  });
}

export interface UntilWithSyncOptions<T extends KubernetesObject> extends UntilOptions {
  /** Asked once, when the cache has synced; true: it is so already, nothing is waited for. Default: the cache is not waited for. */
  readonly precondition?: (indexer: Indexer<T>) => boolean;
  /** What the informer behind it lists and watches, and how. */
  readonly informer?: SharedInformerOptions<T>;
}

/**
 * As {@link until}, over an informer of its own, which survives whatever happens to watches: what is there already comes
 * first, as additions. Resolves to undefined where the precondition holds. Rejects as {@link until} does.
 */
export async function untilWithSync<T extends KubernetesObject>(
  listerWatcher: ListerWatcher<T>,
  conditions: readonly UntilCondition<ObjectChange<T>>[],
  options: UntilWithSyncOptions<T> = {},
): Promise<ObjectChange<T> | undefined> {
  const { clock } = options;
  return await limited(options, async (signal) => {
    await using informer = new SharedInformer(listerWatcher, withClock(options.informer ?? {}, clock));
    informer.start();
    if (options.precondition !== undefined) {
      if (!(await waitForCacheSync([informer], { signal })))
        throw new UntilInterruptedError(`UntilWithSync: unable to sync caches: ${signal.reason}`, {
          cause: signal.reason,
        });
      if (options.precondition(informer.indexer)) return undefined;
    }
    return await until(informer.events$.pipe(filter(isChange<T>)), conditions, { signal });
  });
}

const isChange = <T extends KubernetesObject>(event: InformerEvent<T>): event is ObjectChange<T> =>
  event.type !== 'synced';

/** The options, whatever class they are of, with a clock unless they have one. */
function withClock<T extends KubernetesObject>(
  options: SharedInformerOptions<T>,
  clock: Clock | undefined,
): SharedInformerOptions<T> {
  return clock === undefined || options.clock !== undefined
    ? options
    : Object.assign(Object.create(options), { clock });
}

/** Runs what ends with a signal that aborts with the caller's or when the time is over. */
async function limited<R>(options: UntilOptions, work: (signal: AbortSignal) => Promise<R>): Promise<R> {
  const { signal, timeoutMs = 0, clock = systemClock } = options;
  requireSignal(signal);
  requireNotNegative(timeoutMs, 'timeoutMs');
  const timeout = new AbortController();
  const end = (): void => timeout.abort(new Error(`timed out after ${timeoutMs} ms`));
  const onAbort = (): void => timeout.abort(signal?.reason);
  if (signal?.aborted) onAbort();
  addAbortListener(signal, onAbort);
  const cancel = timeoutMs > 0 ? clock.setTimer(end, timeoutMs) : () => undefined;
  try {
    return await work(timeout.signal);
  } finally {
    cancel();
    removeAbortListener(signal, onAbort);
  }
}

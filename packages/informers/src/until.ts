// Waits for conditions on a stream of events, one after the other. Works with retryWatch, an informer's events$ or a watch.
// Source: client-go tools/watch/until.go.
import { type Clock, type KubernetesObject, type ListerWatcher, systemClock } from '@kapstan/api';
import {
  addAbortListener,
  immediate,
  removeAbortListener,
  requireGivenFunction,
  requireNotNegative,
  requireSignal,
} from '@kapstan/api/internal';
import { firstValueFrom } from 'rxjs/internal/firstValueFrom';
import { Observable } from 'rxjs/internal/Observable';
import { race } from 'rxjs/internal/observable/race';
import { filter } from 'rxjs/internal/operators/filter';
import { throwIfEmpty } from 'rxjs/internal/operators/throwIfEmpty';
import type { InformerEvent, ObjectChange } from './handlers/object-change.ts';
import { SharedInformer } from './shared-informer.ts';
import type { SharedInformerOptions } from './shared-informer-options.ts';
import type { Indexer } from './store/indexer.ts';
import { waitForCacheSync } from './wait-for-cache-sync.ts';

/** Returns whether the awaited state has been reached. An error it throws ends the wait. */
export type UntilCondition<E> = (event: E) => boolean;

/** Options of {@link until}. */
export interface UntilOptions {
  /** Ends the wait with {@link UntilInterruptedError}. */
  readonly signal?: AbortSignal;
  /** Maximum time to wait, in milliseconds; then {@link UntilInterruptedError}. 0 (default) = no limit. */
  readonly timeoutMs?: number;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * The error for a wait that ended early: the timeout passed, the signal aborted (`cause` says which), or the stream completed before all
 * conditions were met.
 */
export class UntilInterruptedError extends Error {
  /** The last event received; undefined when there was none. */
  readonly lastEvent: unknown;

  constructor(message: string, options: { readonly lastEvent?: unknown; readonly cause?: unknown } = {}) {
    super(message, { cause: options.cause });
    this.name = 'UntilInterruptedError';
    this.lastEvent = options.lastEvent;
  }
}

/**
 * Resolves to the event that met the last condition, and unsubscribes; resolves to undefined at once without conditions. Conditions are met
 * one after the other, and the next one is first tested on the same event. Rejects with the stream's error, with the error of a condition,
 * with {@link UntilInterruptedError}, and with TypeError on a bad argument.
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

/** Options of {@link untilWithSync}. */
export interface UntilWithSyncOptions<T extends KubernetesObject> extends UntilOptions {
  /** Called once, when the cache has synced; true ends the wait at once. Default: the cache is not awaited. */
  readonly precondition?: (indexer: Indexer<T>) => boolean;
  /** Options of the informer behind it. */
  readonly informer?: SharedInformerOptions<T>;
}

/**
 * Like {@link until}, over its own informer, which survives broken watches. Existing objects come first, as additions. Resolves to
 * undefined when the precondition holds. Rejects like {@link until}.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { untilWithSync } from '@kapstan/informers';
 * import { Pod } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * const pods = client.listerWatcher(Pod, { namespace: 'default' });
 * await untilWithSync<Pod>(pods, [({ object }) => object?.status?.phase === 'Running'], { timeoutMs: 60_000 });
 * ```
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

/** Returns the options, whatever their class, with this clock unless they have one. */
function withClock<T extends KubernetesObject>(
  options: SharedInformerOptions<T>,
  clock: Clock | undefined,
): SharedInformerOptions<T> {
  return clock === undefined || options.clock !== undefined
    ? options
    : Object.assign(Object.create(options), { clock });
}

/** Runs work with a signal that aborts with the caller's signal or after the timeout. */
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

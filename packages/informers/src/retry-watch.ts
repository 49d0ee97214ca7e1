// A watch that outlives its connections: it resumes from its last version until that is no longer available. It is for callers that already
// have a version and need no cache; an informer does more. It never lists, so the list/watch machine is not for it. Source: client-go
// tools/watch/retrywatcher.go.
import {
  type CancelTimer,
  type Clock,
  isExpired,
  isForbidden,
  isUnauthorized,
  type KubernetesObject,
  type ListerWatcher,
  type ObjectEvent,
  retryAfterSeconds,
  type SelectionOptions,
  systemClock,
  type WatchEvent,
} from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import { requireString } from '@kapstan/api/internal';
import type { Subscriber } from 'rxjs';
import { Observable } from 'rxjs/internal/Observable';
import { Subscription } from 'rxjs/internal/Subscription';

/** Options of {@link retryWatch}: the version after which it begins, and selectors. */
export interface RetryWatchOptions extends SelectionOptions {
  /** Version after which events are delivered, taken from a list or an object. It must not be "" or "0". */
  readonly resourceVersion: string;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/** Minimum time between two starts of the watch, in milliseconds. */
const minRestartMs = 1000;

/**
 * Delivers every change after a version, across any number of connections. Throws TypeError for the versions "" and "0", from which a watch
 * cannot resume.
 *
 * Cold: one watch at a time per subscription, restarted at most once a second, or later when the server asks for it (`retryAfterSeconds`).
 * No replay. Errors with `StatusError` when continuing makes no sense: 410 (list again), 401, 403, and 500 for an event without a version
 * or of an unknown type. Never completes. Slow consumers: delivery is synchronous.
 */
export function retryWatch<T extends KubernetesObject>(
  source: Pick<ListerWatcher<T>, 'watch'>,
  options: RetryWatchOptions,
): Observable<ObjectEvent<T>> {
  const { resourceVersion } = options;
  requireString(resourceVersion, 'resourceVersion');
  if (resourceVersion === '' || resourceVersion === '0')
    throw new TypeError(
      `initial RV ${JSON.stringify(resourceVersion)} is not supported due to issues with underlying WATCH`,
    );
  return new Observable((subscriber) => {
    const watch = new RetryingWatch(source, options, subscriber);
    watch.open();
    return () => watch.close();
  });
}

class RetryingWatch<T extends KubernetesObject> {
  readonly #source: Pick<ListerWatcher<T>, 'watch'>;
  readonly #selection: SelectionOptions;
  readonly #clock: Clock;
  readonly #subscriber: Subscriber<ObjectEvent<T>>;
  #version: string;
  #openedAtMs = 0;
  #watch = new Subscription();
  #cancel: CancelTimer | undefined;

  constructor(
    source: Pick<ListerWatcher<T>, 'watch'>,
    { clock = systemClock, resourceVersion, ...selection }: RetryWatchOptions,
    subscriber: Subscriber<ObjectEvent<T>>,
  ) {
    this.#source = source;
    this.#selection = selection;
    this.#clock = clock;
    this.#subscriber = subscriber;
    this.#version = resourceVersion;
  }

  open(): void {
    this.#openedAtMs = this.#clock.monotonicNow();
    const watch = new Subscription();
    this.#watch = watch;
    const options = { ...this.#selection, resourceVersion: this.#version, allowWatchBookmarks: true };
    try {
      watch.add(
        this.#source.watch(options).subscribe({
          next: (event) => watch.closed || this.#take(event, options.resourceVersion),
          error: (error) => watch.closed || this.#failed(error),
          complete: () => watch.closed || this.#reopen(0),
        }),
      );
    } catch (error) {
      // A watch that throws, or that is not an observable, counts as failed too.
      this.#failed(error);
    }
  }

  close(): void {
    this.#watch.unsubscribe();
    this.#cancel?.();
  }

  #take(event: WatchEvent<T>, startedAt: string): void {
    const { type } = event;
    const isBookmark = type === 'BOOKMARK';
    if (!isBookmark && type !== 'ADDED' && type !== 'MODIFIED' && type !== 'DELETED') {
      this.#subscriber.error(internalError(`failed to recognize event type ${JSON.stringify(type)}`));
      return;
    }
    const version = isBookmark ? event.resourceVersion : (event.object as KubernetesObject)?.metadata?.resourceVersion;
    if (version === undefined || version === '') {
      this.#subscriber.error(internalError('object has no resource version, so the watch could not be resumed'));
      return;
    }
    // A source that starts at the requested version repeats the event of that version.
    const isToldAlready = version === startedAt && this.#version === startedAt;
    this.#version = version;
    if (!isBookmark && !isToldAlready) this.#subscriber.next(event);
  }

  #failed(error: unknown): void {
    if (isExpired(error) || isForbidden(error) || isUnauthorized(error)) this.#subscriber.error(error);
    else this.#reopen((retryAfterSeconds(error) ?? 0) * 1000);
  }

  #reopen(retryAfterMs: number): void {
    this.#watch.unsubscribe();
    const sinceStartMs = this.#clock.monotonicNow() - this.#openedAtMs;
    const delayMs = Math.max(minRestartMs - sinceStartMs, retryAfterMs, 0);
    this.#cancel = this.#clock.setTimer(() => this.open(), delayMs);
  }
}

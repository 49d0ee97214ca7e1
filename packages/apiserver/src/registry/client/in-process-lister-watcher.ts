// InProcessListerWatcher lists and watches one resource directly on its store. The reflector uses it;
// in-process-client.ts creates it.

import type {
  Clock,
  DeepReadonly,
  KubernetesObject,
  ListerWatcher,
  ListOptions,
  ListResult,
  Resource,
  UnstructuredObject,
  WatchEvent,
  WatchOptions,
} from '@kapstan/api';
import { forbidden } from '@kapstan/api/errors';
import { callChecks, formatRevision, TurnSlice } from '@kapstan/api/internal';
import type { StorageEvent, StorageWatchSink, Stored } from '@kapstan/storage';
import { Observable, type Subscriber } from 'rxjs';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceStore, WatchRequest } from '../definition/resource-store.ts';
import { withinTime } from './call-time.ts';
import { requireValidListOptions } from './list-validation.ts';

export interface InProcessScope {
  readonly resource: Resource;
  /**
   * Returns the store. It is called for every call, because the resource may come and go. Throws StatusError when the
   * resource is not served, or not for that verb.
   */
  readonly store: (verb: 'list' | 'watch', namespace: string) => ResourceStore<UnstructuredObject>;
  /** "" = all namespaces. */
  readonly namespace: string;
  readonly contextFor: (namespace: string, signal: AbortSignal | undefined) => RequestContext;
  readonly clock: Clock;
}

/** Delivers objects of the cache, which are shared and must be treated as frozen (I6). */
export class InProcessListerWatcher<T extends KubernetesObject> implements ListerWatcher<T> {
  readonly #scope: InProcessScope;

  get resource(): Resource {
    return this.#scope.resource;
  }

  constructor(scope: InProcessScope) {
    this.#scope = scope;
  }

  async list(options: ListOptions = {}): Promise<ListResult<T>> {
    callChecks.listPage(this.resource, options);
    return await withinTime(this.#scope.clock, options, (timed) => this.#list(timed));
  }

  async #list(options: ListOptions): Promise<ListResult<T>> {
    const { store, contextFor } = this.#scope;
    const { namespace: asked, signal, timeoutMs: _timeout, ...request } = options;
    const namespace = this.#namespace(asked);
    const found = store('list', namespace);
    requireListOptions(request, 'list');
    const page = await found.list(contextFor(namespace, signal), request);
    return {
      resourceVersion: page.resourceVersion,
      ...(page.continue === '' ? {} : { continue: page.continue }),
      ...(page.remainingItemCount === undefined ? {} : { remainingItemCount: page.remainingItemCount }),
      items: (await objectsOf(page.items, signal)) as readonly unknown[] as readonly DeepReadonly<T>[],
    };
  }

  /**
   * Returns a cold observable: one watch per subscription, no replay. Errors with `StatusError`. Completes when the
   * store ends the watch or its time is over. Delivery is synchronous and nothing is buffered.
   */
  watch(options: WatchOptions = {}): Observable<WatchEvent<T>> {
    callChecks.watch(this.resource, options);
    return new Observable<WatchEvent<T>>((subscriber) => this.#open(options, subscriber));
  }

  #open(options: WatchOptions, subscriber: Subscriber<WatchEvent<T>>): () => void {
    const { store, contextFor, clock } = this.#scope;
    const { namespace: asked, signal, timeoutSeconds = 0, onOpen, ...rest } = options;
    signal?.throwIfAborted();
    const durationMs = timeoutSeconds * 1000;
    const deadline = durationMs > 0 ? { deadlineMs: clock.monotonicNow() + durationMs } : {};
    const request: WatchRequest = { ...rest, ...deadline, ...initialEvents(options) };
    const namespace = this.#namespace(asked);
    const found = store('watch', namespace);
    requireListOptions({ ...options, ...initialEvents(options) }, 'watch');
    const watch = found.watch(contextFor(namespace, undefined), request, new SubscriberSink(subscriber));
    onOpen?.();
    const cancelTimer = durationMs > 0 ? clock.setBackgroundTimer(() => subscriber.complete(), durationMs) : undefined;
    const abort = (): void => subscriber.error(signal?.reason);
    signal?.addEventListener('abort', abort, { once: true });
    return () => {
      signal?.removeEventListener('abort', abort);
      cancelTimer?.();
      watch.close();
    };
  }

  /** A client that is limited to one namespace cannot leave it. */
  #namespace(asked: string | undefined): string {
    const { namespace } = this.#scope;
    if (namespace === '' || asked === undefined || asked === '' || asked === namespace)
      return namespace || (asked ?? '');
    throw forbidden({ group: '', resource: '' }, '', `this client is limited to the namespace ${namespace}`);
  }
}

/** Objects may have to be parsed (decision 0013), so the list is converted in slices. */
async function objectsOf(
  items: readonly Stored<UnstructuredObject>[],
  signal: AbortSignal | undefined,
): Promise<readonly DeepReadonly<UnstructuredObject>[]> {
  const objects: DeepReadonly<UnstructuredObject>[] = [];
  const slice = new TurnSlice();
  for (const item of items) {
    objects.push(item.view((object) => object));
    if (!slice.endsHere()) continue;
    await slice.nextTurn();
    signal?.throwIfAborted();
  }
  return objects;
}

/** Throws 422 for options that exclude each other, as the HTTP API does. */
export function requireListOptions(options: WatchRequest, verb: 'list' | 'watch'): void {
  const { resourceVersion = '', resourceVersionMatch, sendInitialEvents } = options;
  const match = resourceVersionMatch ?? '';
  const texts = { resourceVersion, match, continue: options.continue ?? '', sendInitialEvents };
  requireValidListOptions(texts, verb);
}

/**
 * A watch that names no version streams the present state, as in the HTTP API. Source: metav1 SetListOptionsDefaults.
 */
function initialEvents(options: WatchOptions): Pick<WatchOptions, 'sendInitialEvents' | 'resourceVersionMatch'> {
  if (options.sendInitialEvents !== undefined) return { sendInitialEvents: options.sendInitialEvents };
  const version = options.resourceVersion ?? '';
  const isUnsaid = (version === '' || version === '0') && options.resourceVersionMatch === undefined;
  return isUnsaid ? { sendInitialEvents: true, resourceVersionMatch: 'NotOlderThan' } : {};
}

/** Passes a watch of the store on to a subscriber, each event in the turn in which it arrives. */
class SubscriberSink<T extends KubernetesObject> implements StorageWatchSink<UnstructuredObject> {
  readonly #subscriber: Subscriber<WatchEvent<T>>;

  constructor(subscriber: Subscriber<WatchEvent<T>>) {
    this.#subscriber = subscriber;
  }

  onEvent(event: StorageEvent<UnstructuredObject>): void {
    this.#subscriber.next(eventOf<T>(event));
  }

  onEnd(error?: Error): void {
    if (error === undefined) this.#subscriber.complete();
    else this.#subscriber.error(error);
  }
}

function eventOf<T extends KubernetesObject>(event: StorageEvent<UnstructuredObject>): WatchEvent<T> {
  if (event.type !== 'BOOKMARK') {
    return { type: event.type, object: event.stored.object as unknown as DeepReadonly<T> };
  }
  const { initialEventsEnd } = event;
  return { type: 'BOOKMARK', resourceVersion: formatRevision(event.revision), initialEventsEnd };
}

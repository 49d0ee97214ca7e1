// An in-memory source to list and watch, with faults on demand, for tests of everything that uses a ListerWatcher. Like
// client-go's FakeControllerSource, plus paging, streamed lists, half-open connections and errors.
import { Observable, type Subscriber } from 'rxjs';
import type { ListOptions, SelectionOptions, WatchOptions } from '../client/call-options.ts';
import type { ListerWatcher, ListResult } from '../client/lister-watcher.ts';
import {
  alreadyExists,
  badRequest,
  expired,
  invalid,
  notFound,
  tooLargeResourceVersion,
} from '../errors/status-error.ts';
import { deepCopy } from '../json/json.ts';
import { deepFreeze } from '../objects/deep-freeze.ts';
import type { DeepReadonly, KubernetesObject } from '../objects/kubernetes-object.ts';
import { metaNamespaceKey, type ObjectKey, type ObjectName, objectKey } from '../objects/object-key.ts';
import type { ResourceVersion } from '../objects/resource-version.ts';
import type { WatchEvent } from '../objects/watch-event.ts';
import { parseFieldSelector } from '../selectors/field-selector.ts';
import { parseLabelSelector } from '../selectors/label-selector-parser.ts';

export interface FakeListerWatcherOptions {
  /** False = a watch with `sendInitialEvents` is refused, as by servers before 1.32. Default true. */
  readonly supportsWatchList?: boolean;
  /** Version before the first change. Default 0. */
  readonly startVersion?: number;
}

/** A request to the fake. They are recorded in order. */
export type FakeRequest =
  | { readonly verb: 'list'; readonly options: ListOptions }
  | { readonly verb: 'watch'; readonly options: WatchOptions };

interface Change<T extends KubernetesObject> {
  readonly version: number;
  readonly before: DeepReadonly<T> | undefined;
  readonly after: DeepReadonly<T> | undefined;
}

interface OpenWatch<T extends KubernetesObject> {
  readonly subscriber: Subscriber<WatchEvent<T>>;
  readonly matches: (object: DeepReadonly<T>) => boolean;
  readonly wantsBookmarks: boolean;
  isHalfOpen: boolean;
}

const pods = { group: '', resource: 'objects' };
const versionOf = (version: number): ResourceVersion => String(version) as ResourceVersion;

/** Objects in memory behind the port `ListerWatcher`. Delivery is synchronous, as in process. */
export class FakeListerWatcher<T extends KubernetesObject> implements ListerWatcher<T> {
  /** All requests so far. */
  readonly requests: FakeRequest[] = [];
  readonly #supportsWatchList: boolean;
  readonly #objects = new Map<ObjectKey, DeepReadonly<T>>();
  readonly #watches = new Set<OpenWatch<T>>();
  readonly #failures: { readonly verb: 'list' | 'watch'; readonly error: unknown }[] = [];
  #history: Change<T>[] = [];
  #version: number;
  #oldestVersion: number;
  #nextUid = 1;

  constructor(options: FakeListerWatcherOptions = {}) {
    this.#supportsWatchList = options.supportsWatchList ?? true;
    this.#version = options.startVersion ?? 0;
    this.#oldestVersion = this.#version;
  }

  get resourceVersion(): string {
    return String(this.#version);
  }

  get openWatches(): number {
    return this.#watches.size;
  }

  /** Returns the requests of one verb. */
  asked(verb: 'list'): ListOptions[];
  asked(verb: 'watch'): WatchOptions[];
  asked(verb: 'list' | 'watch'): (ListOptions | WatchOptions)[] {
    return this.requests.filter((request) => request.verb === verb).map((request) => request.options);
  }

  // ---- Methods that change the objects of the source ----

  /** Stores a copy with a uid and the next version. Throws 409 when the object exists. */
  add(object: T): DeepReadonly<T> {
    const key = metaNamespaceKey(object);
    if (this.#objects.has(key)) throw alreadyExists(pods, object.metadata?.name ?? '');
    return this.#write(key, object, object.metadata?.uid ?? `uid-${this.#nextUid++}`);
  }

  /** Replaces an object and keeps its uid. Throws 404 when it does not exist. */
  modify(object: T): DeepReadonly<T> {
    const key = metaNamespaceKey(object);
    const before = this.#get(key);
    return this.#write(key, object, object.metadata?.uid ?? before.metadata?.uid ?? '');
  }

  /** Removes an object; the event has the version of the removal. Throws 404 when it does not exist. */
  delete(target: ObjectName | { readonly namespace?: string; readonly name: string }): void {
    const key = objectKey(target.namespace ?? 'default', target.name);
    const before = this.#get(key);
    this.#objects.delete(key);
    const last = deepCopy(before) as T;
    last.metadata = { ...last.metadata, resourceVersion: String(this.#version + 1) };
    this.#record(before, undefined, deepFreeze(last));
  }

  // ---- Faults ----

  /** Lets the next request of this verb fail with the error; several calls are queued. */
  failNext(verb: 'list' | 'watch', error: unknown): void {
    this.#failures.push({ verb, error });
  }

  /** Ends all open watches with an error or, as a server does at a timeout, without one. */
  resetWatches(error?: unknown): void {
    for (const watch of [...this.#watches]) {
      this.#watches.delete(watch);
      if (error === undefined) watch.subscriber.complete();
      else watch.subscriber.error(error);
    }
  }

  /** Silences the open watches without notifying them, like a connection whose other end is gone. */
  halfOpen(): void {
    for (const watch of this.#watches) watch.isHalfOpen = true;
  }

  /** Drops the history: watches from before now get 410. */
  expire(): void {
    this.#history = [];
    this.#oldestVersion = this.#version;
  }

  /**
   * Raises the version without a change, as writes to other resources do, and sends bookmarks to watches that want
   * them.
   */
  bookmark(): void {
    this.#version++;
    for (const watch of this.#watches) {
      if (watch.wantsBookmarks && !watch.isHalfOpen) watch.subscriber.next(this.#bookmark(false));
    }
  }

  // ---- ListerWatcher ----

  async list(options: ListOptions): Promise<ListResult<T>> {
    this.requests.push({ verb: 'list', options });
    options.signal?.throwIfAborted();
    this.#throwInjected('list');
    const { version, from } = this.#position(options);
    const all = this.#select(options);
    const limit = options.limit ?? 0;
    const items = limit === 0 ? all.slice(from) : all.slice(from, from + limit);
    const hasMore = from + items.length < all.length;
    return {
      resourceVersion: versionOf(version),
      items,
      ...(hasMore
        ? { continue: `${version}/${from + items.length}`, remainingItemCount: all.length - from - items.length }
        : {}),
    };
  }

  watch(options: WatchOptions): Observable<WatchEvent<T>> {
    return new Observable((subscriber) => {
      this.requests.push({ verb: 'watch', options });
      try {
        this.#throwInjected('watch');
        return this.#open(options, subscriber);
      } catch (error) {
        subscriber.error(error);
        return undefined;
      }
    });
  }

  #open(options: WatchOptions, subscriber: Subscriber<WatchEvent<T>>): () => void {
    const { resourceVersion = '', sendInitialEvents = false } = options;
    const matches = matcher<T>(options);
    if (sendInitialEvents && !this.#supportsWatchList) {
      const detail = 'sendInitialEvents is forbidden for watch unless the WatchList feature gate is enabled';
      throw invalid({ group: 'meta.k8s.io', kind: 'ListOptions' }, '', [
        { type: 'FieldValueForbidden', field: 'sendInitialEvents', detail },
      ]);
    }
    const isFromStart = resourceVersion === '' || resourceVersion === '0';
    const missed = sendInitialEvents || isFromStart ? [] : this.#since(resourceVersion);
    if (sendInitialEvents) this.#checkNotFuture(resourceVersion);
    options.onOpen?.();
    const watch: OpenWatch<T> = {
      subscriber,
      matches,
      wantsBookmarks: options.allowWatchBookmarks ?? false,
      isHalfOpen: false,
    };
    if (sendInitialEvents || isFromStart) {
      for (const object of this.#select(options)) subscriber.next({ type: 'ADDED', object });
    }
    if (sendInitialEvents) subscriber.next(this.#bookmark(true));
    for (const change of missed) deliver(watch, change);
    this.#watches.add(watch);
    return () => {
      this.#watches.delete(watch);
    };
  }

  #since(resourceVersion: string): readonly Change<T>[] {
    const version = Number(resourceVersion);
    if (version < this.#oldestVersion)
      throw expired(`too old resource version: ${resourceVersion} (${this.#oldestVersion})`);
    return this.#history.filter((change) => change.version > version);
  }

  #position(options: ListOptions): { readonly version: number; readonly from: number } {
    const { resourceVersion = '' } = options;
    if (options.continue === undefined || options.continue === '') {
      this.#checkNotFuture(resourceVersion);
      return { version: this.#version, from: 0 };
    }
    if (resourceVersion !== '') throw badRequest('specifying resource version is not allowed when using continue');
    const [version = 0, from = 0] = options.continue.split('/').map(Number);
    if (version < this.#oldestVersion) {
      throw expired('The provided continue parameter is too old to display a consistent list result.');
    }
    return { version, from };
  }

  #checkNotFuture(resourceVersion: string): void {
    if (Number(resourceVersion) > this.#version) throw tooLargeResourceVersion(resourceVersion, this.#version, 1);
  }

  #throwInjected(verb: 'list' | 'watch'): void {
    const index = this.#failures.findIndex((failure) => failure.verb === verb);
    const [failure] = index === -1 ? [] : this.#failures.splice(index, 1);
    if (failure !== undefined) throw failure.error;
  }

  #select(options: SelectionOptions): DeepReadonly<T>[] {
    const keys = [...this.#objects.keys()].sort();
    const matches = matcher<T>(options);
    return keys.map((key) => this.#get(key)).filter(matches);
  }

  #get(key: ObjectKey): DeepReadonly<T> {
    const object = this.#objects.get(key);
    if (object === undefined) throw notFound(pods, key);
    return object;
  }

  #write(key: ObjectKey, object: T, uid: string): DeepReadonly<T> {
    const before = this.#objects.get(key);
    const stored = deepCopy(object) as T;
    stored.metadata = { ...stored.metadata, uid, resourceVersion: String(this.#version + 1) };
    const frozen = deepFreeze(stored);
    this.#objects.set(key, frozen);
    this.#record(before, frozen, frozen);
    return frozen;
  }

  #record(before: DeepReadonly<T> | undefined, after: DeepReadonly<T> | undefined, last: DeepReadonly<T>): void {
    this.#version++;
    const change: Change<T> = { version: this.#version, before: after === undefined ? last : before, after };
    this.#history.push(change);
    for (const watch of [...this.#watches]) if (!watch.isHalfOpen) deliver(watch, change);
  }

  #bookmark(initialEventsEnd: boolean): WatchEvent<T> {
    return { type: 'BOOKMARK', resourceVersion: versionOf(this.#version), initialEventsEnd };
  }
}

/** Compares the object before and after with the selector, as a watch cache does. */
function deliver<T extends KubernetesObject>(
  { subscriber, matches }: OpenWatch<T>,
  { before, after, version }: Change<T>,
): void {
  const was = before !== undefined && matches(before);
  const is = after !== undefined && matches(after);
  if (is) subscriber.next({ type: was ? 'MODIFIED' : 'ADDED', object: after });
  else if (was) subscriber.next({ type: 'DELETED', object: withVersion(before, version) });
}

function withVersion<T extends KubernetesObject>(object: DeepReadonly<T>, version: number): DeepReadonly<T> {
  const metadata = { ...(object as KubernetesObject).metadata, resourceVersion: String(version) };
  return deepFreeze({ ...object, metadata }) as DeepReadonly<T>;
}

function matcher<T extends KubernetesObject>(options: SelectionOptions): (object: DeepReadonly<T>) => boolean {
  const labels = parseLabelSelector(options.labelSelector ?? '');
  const fields = parseFieldSelector(options.fieldSelector ?? '');
  return (object) => {
    const meta = (object as KubernetesObject).metadata ?? {};
    const { name = '', namespace = '' } = meta;
    if (options.namespace && options.namespace !== namespace) return false;
    return (
      labels.matches(meta.labels ?? {}) && fields.matches({ 'metadata.name': name, 'metadata.namespace': namespace })
    );
  };
}

// ObservedClient is the client of a reconcile. It checks before each write whether it may still write, and reports its
// writes, so that the controller can wait until its caches show them. It wraps any ResourceClient and is used by
// controller-runner.ts.

import {
  type ApplyOptions,
  type CallOptions,
  type DeepReadonly,
  type DeleteOptions,
  type GetOptions,
  type KubernetesObject,
  type ListerWatcher,
  type ListerWatcherScope,
  type ListOptions,
  type ListResult,
  ObjectList,
  type ObjectTarget,
  type PatchArguments,
  type Resource,
  type ResourceClient,
  type SubresourceOptions,
  type WriteObserver,
  type WriteOptions,
} from '@kapstan/api';
import {
  addAbortListener,
  checkedElsewhere,
  type OptionTable,
  removeAbortListener,
  requireFunction,
  requireObject,
  requireSignal,
} from '@kapstan/api/internal';
import { requirePartOptions } from '../guards/part-options.ts';

/** Options of an {@link ObservedClient}. */
export interface ObservedClientOptions {
  readonly client: ResourceClient;
  /** Called with each successful write whose answer was an object; not with dry runs. */
  readonly observer?: WriteObserver;
  /**
   * Called before each attempt of a write, which rejects with errors that it throws. Default: every write is allowed.
   */
  readonly admit?: () => void;
  /** Called with each object before it is created, updated, patched or applied, whatever the result. */
  readonly wanted?: (resource: Resource, target: ObjectTarget) => void;
  /** Cancels every call, in addition to the call's own signal. */
  readonly signal?: AbortSignal | undefined;
}

const table: OptionTable<ObservedClientOptions> = {
  client: checkedElsewhere,
  observer: checkedElsewhere,
  admit: requireFunction,
  wanted: requireFunction,
  signal: requireSignal,
};

/**
 * A client that can refuse writes, report them, and end them with a signal. `ctx.client` is one.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { ObservedClient } from '@kapstan/controller';
 *
 * let isAllowed = true;
 * const client = new ObservedClient({
 *   client: await connect(),
 *   admit: () => {
 *     if (!isAllowed) throw new Error('this process may not write');
 *   },
 * });
 * isAllowed = false; // from here on client refuses writes
 * console.log(client);
 * ```
 */
export class ObservedClient implements ResourceClient {
  readonly #options: ObservedClientOptions;

  /** Throws TypeError on bad options. */
  constructor(options: ObservedClientOptions) {
    requirePartOptions(options, table, 'an ObservedClient');
    this.#options = options;
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    return await this.#call(options, (limited) => this.#client.get(resource, target, limited));
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): ObjectList<T> {
    const own = this.#options.signal;
    const signals = [own, options?.signal].filter((signal) => signal !== undefined);
    const list = (signal?: AbortSignal): ObjectList<T> => this.#client.list(resource, { ...options, signal });
    return signals.length < 2 || own === options?.signal ? list(signals[0]) : new BoundList(list, signals);
  }

  async listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    return await this.#call(options, (limited) => this.#client.listPage(resource, limited));
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    this.#want(resource, object);
    const created = await this.#write(resource, options, (limited) => this.#client.create(resource, object, limited));
    // The server may have generated the name.
    this.#want(resource, created);
    return created;
  }

  async update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    this.#want(resource, object);
    return await this.#write(resource, options, (limited) => this.#client.update(resource, object, limited));
  }

  async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[patch, options]: PatchArguments
  ): Promise<T> {
    this.keep(resource, target);
    return await this.#write(resource, options, (limited) => this.#client.patch(resource, target, patch, limited));
  }

  async apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    this.#want(resource, object);
    return await this.#write(resource, options, (limited) => this.#client.apply(resource, object, limited));
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    return await this.#write(resource, options, (limited) => this.#client.delete(resource, target, limited));
  }

  async deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    // The options are checked before they are spread, because a value that is not an object would become options that
    // select everything.
    if (options !== undefined) requireObject(options, 'options, such as { namespace },');
    await this.#write(resource, options, (limited) =>
      this.#client.deleteCollection(resource, limited).then(() => undefined),
    );
  }

  async createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    return await this.#admitted(call, (limited) => this.#client.createSubresource(resource, target, limited));
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    return this.#client.listerWatcher(resource, scope);
  }

  /** Records an object as wanted although nothing is sent for it, because it is already up to date. */
  keep(resource: Resource, target: ObjectTarget): void {
    this.#options.wanted?.(resource, target);
  }

  #want(resource: Resource, object: KubernetesObject): void {
    const { namespace = '', name } = object?.metadata ?? {};
    if (name !== undefined) this.keep(resource, { namespace, name });
  }

  get #client(): ResourceClient {
    return this.#options.client;
  }

  async #write<
    O extends CallOptions & { readonly dryRun?: boolean | undefined },
    R extends KubernetesObject | undefined,
  >(resource: Resource, options: O | undefined, send: (options: O) => Promise<R>): Promise<R> {
    const written = await this.#admitted(options, send);
    const { name, namespace = '', resourceVersion } = written?.metadata ?? {};
    if (options?.dryRun !== true && name !== undefined && resourceVersion !== undefined)
      this.#options.observer?.observeWrite(resource, { namespace, name }, resourceVersion);
    return written;
  }

  /**
   * The client checks again before each attempt, because it may have to wait for it, and the process may be paused
   * meanwhile.
   */
  async #admitted<O extends CallOptions, R>(options: O | undefined, send: (options: O) => Promise<R>): Promise<R> {
    const { admit } = this.#options;
    if (admit === undefined) return await this.#call(options, send);
    admit();
    const beforeAttempt = (): void => {
      admit();
      options?.beforeAttempt?.();
    };
    return await this.#call({ ...options, beforeAttempt } as O, send);
  }

  async #call<O extends CallOptions, R>(options: O | undefined, send: (options: O) => Promise<R>): Promise<R> {
    const own = this.#options.signal;
    const given = options?.signal;
    if (own === undefined || own === given) return await send((options ?? {}) as O);
    if (given === undefined) return await send({ ...options, signal: own } as O);
    const { signal, end } = eitherOf(own, given);
    try {
      return await send({ ...options, signal } as O);
    } finally {
      end();
    }
  }
}

/** A list that two signals end, each only while it is read. */
class BoundList<T extends KubernetesObject> extends ObjectList<T> {
  readonly #list: (signal: AbortSignal) => ObjectList<T>;
  readonly #outer: readonly AbortSignal[];

  constructor(list: (signal: AbortSignal) => ObjectList<T>, outer: readonly AbortSignal[]) {
    super(() => Promise.reject(new Error('read through another list')), {});
    this.#list = list;
    this.#outer = outer;
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is awaited as a whole or iterated
  override async then<A = DeepReadonly<T>[], B = never>(
    onFulfilled?: ((items: DeepReadonly<T>[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    const { signal, end } = eitherOf(...this.#outer);
    const whole = this.#list(signal).then((items) => items);
    return await whole.finally(end).then(onFulfilled, onRejected);
  }

  override async *pages(): AsyncGenerator<ListResult<T>, void, undefined> {
    const { signal, end } = eitherOf(...this.#outer);
    try {
      yield* this.#list(signal).pages();
    } finally {
      end();
    }
  }
}

/** AbortSignal.any is not used, because on Node 20 a long-lived signal keeps memory for each signal made from it. */
function eitherOf(...outer: readonly AbortSignal[]): { readonly signal: AbortSignal; readonly end: () => void } {
  const either = new AbortController();
  const onAbort = (): void => either.abort(outer.find(({ aborted }) => aborted)?.reason);
  if (outer.some(({ aborted }) => aborted)) onAbort();
  for (const signal of outer) addAbortListener(signal, onAbort);
  const end = (): void => {
    for (const signal of outer) removeAbortListener(signal, onAbort);
  };
  return { signal: either.signal, end };
}

// ObservedClient: the client that a reconcile gets. It asks before each write whether it may still write, and reports what it
// wrote, so that caches can be kept not older. Over any ResourceClient; used by controller-runner.ts.

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
  type OptionNames,
  removeAbortListener,
  requireFunction,
  requireObject,
  requireSignal,
} from '@kapstan/api/internal';
import { requireOptionNames } from './option-names.ts';

export interface ObservedClientOptions {
  readonly client: ResourceClient;
  /** Told of each write that succeeded and whose answer was an object; not of dry runs. */
  readonly observer?: WriteObserver;
  /** Called before each write and each repetition of it; what it throws, the write rejects with. Default: every write may go. */
  readonly admit?: () => void;
  /** Told of each object that is to be created, updated, patched or applied, before that is sent and whatever comes of it. */
  readonly wanted?: (resource: Resource, target: ObjectTarget) => void;
  /** Cancels every call, beside the signal that the call may have. */
  readonly signal?: AbortSignal;
}

const optionNames: OptionNames<ObservedClientOptions> = {
  client: true,
  observer: true,
  admit: true,
  wanted: true,
  signal: true,
};

export class ObservedClient implements ResourceClient {
  readonly #options: ObservedClientOptions;

  /** Throws TypeError on bad options. */
  constructor(options: ObservedClientOptions) {
    requireOptionNames(options, optionNames, 'an ObservedClient');
    requireFunction(options.admit, 'admit');
    requireFunction(options.wanted, 'wanted');
    requireSignal(options.signal);
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
    const list = (signal?: AbortSignal): ObjectList<T> =>
      this.#client.list(resource, { ...options, ...(signal === undefined ? {} : { signal }) });
    return signals.length < 2 || own === options?.signal ? list(own) : new BoundList(list, signals);
  }

  async listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    return await this.#call(options, (limited) => this.#client.listPage(resource, limited));
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    this.#want(resource, object);
    const created = await this.#write(resource, options, (limited) => this.#client.create(resource, object, limited));
    // The server may have made the name.
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
    // Before it is spread: what is no object must not become options that select everything.
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

  /** Counts an object as wanted that is as it should be, so that nothing is sent for it. */
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

  async #write<O extends CallOptions & { readonly dryRun?: boolean }, R extends KubernetesObject | undefined>(
    resource: Resource,
    options: O | undefined,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    const written = await this.#admitted(options, send);
    const { name, namespace = '', resourceVersion } = written?.metadata ?? {};
    if (options?.dryRun !== true && name !== undefined && resourceVersion !== undefined)
      this.#options.observer?.observeWrite(resource, { namespace, name }, resourceVersion);
    return written;
  }

  /** The client is asked to look again: it may have to wait before an attempt, and the process may be paused meanwhile. */
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

/** Not AbortSignal.any: on Node 20 a signal that lives long keeps something for each one that was made of it. */
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

// ObservedClient: the client that a reconcile gets. It asks before each write whether it may still write, and reports what it
// wrote, so that caches can be kept not older. Over any ResourceClient; used by controller-runner.ts.
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  KubernetesObject,
  ListerWatcher,
  ListerWatcherScope,
  ListOptions,
  ListResult,
  ObjectList,
  ObjectTarget,
  Patch,
  Resource,
  ResourceClient,
  SubresourceOptions,
  WriteObserver,
  WriteOptions,
} from '@kapstan/api';

export interface ObservedClientOptions {
  readonly client: ResourceClient;
  /** Told of each write that succeeded and whose answer was an object; not of dry runs. */
  readonly observer?: WriteObserver;
  /** Called before each write; what it throws, the write rejects with. Default: every write may go. */
  readonly admit?: () => void;
  /** Cancels every call, beside the signal that the call may have. */
  readonly signal?: AbortSignal;
}

export class ObservedClient implements ResourceClient {
  readonly #options: ObservedClientOptions;

  constructor(options: ObservedClientOptions) {
    this.#options = options;
  }

  async get<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    return await this.#client.get(token, target, this.#limited(options));
  }

  list<T extends KubernetesObject>(token: Resource<T>, options?: ListOptions): ObjectList<T> {
    return this.#client.list(token, this.#limited(options));
  }

  async listPage<T extends KubernetesObject>(token: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    return await this.#client.listPage(token, this.#limited(options));
  }

  async create<T extends KubernetesObject>(token: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    return await this.#write(token, options, (limited) => this.#client.create(token, object, limited));
  }

  async update<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    return await this.#write(token, options, (limited) => this.#client.update(token, object, limited));
  }

  async patch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    patch: Patch & SubresourceOptions & WriteOptions,
  ): Promise<T> {
    return await this.#write(token, patch, (limited) => this.#client.patch(token, target, limited));
  }

  async apply<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    return await this.#write(token, options, (limited) => this.#client.apply(token, object, limited));
  }

  async delete<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    return await this.#write(token, options, (limited) => this.#client.delete(token, target, limited));
  }

  async deleteCollection<T extends KubernetesObject>(
    token: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    await this.#write(token, options, (limited) => this.#client.deleteCollection(token, limited).then(() => undefined));
  }

  async createSubresource<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    this.#options.admit?.();
    return await this.#client.createSubresource(token, target, this.#limited(call));
  }

  listerWatcher<T extends KubernetesObject>(token: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    return this.#client.listerWatcher(token, scope);
  }

  get #client(): ResourceClient {
    return this.#options.client;
  }

  async #write<O extends CallOptions & { readonly dryRun?: boolean }, R extends KubernetesObject | undefined>(
    token: Resource,
    options: O | undefined,
    send: (options: O) => Promise<R>,
  ): Promise<R> {
    this.#options.admit?.();
    const written = await send(this.#limited(options));
    const { name, namespace = '', resourceVersion } = written?.metadata ?? {};
    if (options?.dryRun !== true && name !== undefined && resourceVersion !== undefined)
      this.#options.observer?.observeWrite(token, { namespace, name }, resourceVersion);
    return written;
  }

  #limited<O extends CallOptions>(options: O | undefined): O {
    const own = this.#options.signal;
    const given = options?.signal;
    if (own === undefined) return (options ?? {}) as O;
    return { ...options, signal: given === undefined ? own : AbortSignal.any([own, given]) } as O;
  }
}

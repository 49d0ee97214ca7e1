// TestClient: the in-process client of a test cluster. It passes everything on to the server that currently runs, counts requests in
// progress, and lets faults act on calls and watches as if they had connections.
import {
  type ApplyOptions,
  type CallOptions,
  type Clock,
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
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from '@kapstan/api';
import { callChecks, type HookHost, type ProgramHooks } from '@kapstan/api/internal';
import { Observable, type Subscriber } from 'rxjs';
import type { Activity } from './activity.ts';
import type { Faults } from './fault.ts';
import type { HostedHooks } from './hosted-hooks.ts';
import { connectionError, InProcessConnection } from './in-process-connection.ts';

export interface TestClientOptions {
  /** Returns the client of the running server; undefined while none runs. */
  readonly target: () => ResourceClient | undefined;
  readonly faults: Faults;
  readonly activity: Activity;
  readonly clock: Clock;
  readonly hooks: HostedHooks;
}

export class TestClient implements ResourceClient, HookHost {
  readonly #options: TestClientOptions;

  constructor(options: TestClientOptions) {
    this.#options = options;
  }

  hostHooks(hooks: ProgramHooks): () => void {
    return this.#options.hooks.host(hooks);
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.get(resource, target, options);
    return await this.#call((client) => client.get(resource, target, options), options);
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    return new ObjectList((page) => this.listPage(resource, page), options);
  }

  async listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    callChecks.listPage(resource, options);
    return await this.#call((client) => client.listPage(resource, options), options);
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    callChecks.create(resource, object, options);
    return await this.#call((client) => client.create(resource, object, options), options);
  }

  async update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.update(resource, object, options);
    return await this.#call((client) => client.update(resource, object, options), options);
  }

  async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[patch, options]: PatchArguments
  ): Promise<T> {
    callChecks.patch(resource, target, patch, options);
    return await this.#call((client) => client.patch(resource, target, patch, options), options);
  }

  async apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.apply(resource, object, options);
    return await this.#call((client) => client.apply(resource, object, options), options);
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    callChecks.delete(resource, target, options);
    return await this.#call((client) => client.delete(resource, target, options), options);
  }

  async deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    callChecks.deleteCollection(resource, options);
    return await this.#call((client) => client.deleteCollection(resource, options), options);
  }

  async createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    callChecks.createSubresource(resource, target, call);
    return await this.#call((client) => client.createSubresource(resource, target, call), call);
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    callChecks.listerWatcher(resource, scope);
    const of = (client: ResourceClient): ListerWatcher<T> => client.listerWatcher(resource, scope);
    return {
      resource: resource,
      list: async (options) => {
        callChecks.listPage(resource, options);
        return await this.#call((client) => of(client).list(options), options);
      },
      watch: (options) => {
        callChecks.watch(resource, options);
        return new Observable((subscriber) => this.#watch(of, options, subscriber));
      },
    };
  }

  async #call<R>(run: (client: ResourceClient) => Promise<R>, { signal }: CallOptions = {}): Promise<R> {
    const { faults, activity, clock } = this.#options;
    const end = activity.beginRequest();
    let fail: (error: unknown) => void = () => undefined;
    const cut = new Promise<never>((_, reject) => {
      fail = reject;
    });
    const onAbort = (): void => fail(signal?.reason);
    signal?.addEventListener('abort', onAbort, { once: true });
    const connection = new InProcessConnection({ kind: 'call', clock, onCut: fail });
    const forget = faults.open(connection);
    const answer = async (): Promise<R> => {
      const target = this.#target();
      faults.refuse('call');
      const result = await run(target);
      return new Promise((resolve) => connection.deliver(() => resolve(result)));
    };
    try {
      return await Promise.race([answer(), cut]);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      connection.close();
      forget();
      end();
    }
  }

  #watch<T extends KubernetesObject>(
    of: (client: ResourceClient) => ListerWatcher<T>,
    options: WatchOptions,
    subscriber: Subscriber<WatchEvent<T>>,
  ): void {
    const { faults, activity, clock } = this.#options;
    const target = this.#target();
    faults.refuse('watch');
    const onCut = (error: Error): void => subscriber.error(error);
    const connection = new InProcessConnection({ kind: 'watch', clock, onCut });
    subscriber.add(faults.open(connection));
    subscriber.add(() => connection.close());
    const deliver = (delivery: () => void): void => {
      activity.moved();
      connection.deliver(delivery);
    };
    const { onOpen } = options;
    const opened = onOpen === undefined ? {} : { onOpen: () => deliver(onOpen) };
    const source = of(target).watch({ ...options, ...opened });
    subscriber.add(
      source.subscribe({
        next: (event) => deliver(() => subscriber.next(event)),
        error: (error) => deliver(() => subscriber.error(error)),
        complete: () => deliver(() => subscriber.complete()),
      }),
    );
  }

  #target(): ResourceClient {
    const target = this.#options.faults.isRefusing ? undefined : this.#options.target();
    if (target === undefined) throw connectionError('ECONNREFUSED', 'the server of the test cluster is not running');
    return target;
  }
}

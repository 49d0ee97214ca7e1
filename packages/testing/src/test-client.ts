// TestClient: the in-process client of a test cluster. It passes everything on to the server that currently runs, counts requests in
// progress, and lets faults act on calls and watches as if they had connections.
import {
  type ApplyOptions,
  type CallOptions,
  type Clock,
  callChecks,
  type DeleteOptions,
  type GetOptions,
  type KubernetesObject,
  type ListerWatcher,
  type ListerWatcherScope,
  type ListOptions,
  type ListResult,
  ObjectList,
  type ObjectTarget,
  type Patch,
  type Resource,
  type ResourceClient,
  type SubresourceOptions,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from '@kapstan/api';
import { Observable, type Subscriber } from 'rxjs';
import type { Activity } from './activity.ts';
import type { Faults } from './fault.ts';
import { connectionError, InProcessConnection } from './in-process-connection.ts';

export interface TestClientOptions {
  /** Returns the client of the running server; undefined while none runs. */
  readonly target: () => ResourceClient | undefined;
  readonly faults: Faults;
  readonly activity: Activity;
  readonly clock: Clock;
}

export class TestClient implements ResourceClient {
  readonly #options: TestClientOptions;

  constructor(options: TestClientOptions) {
    this.#options = options;
  }

  async get<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.get(token, target, options);
    return await this.#call((client) => client.get(token, target, options), options);
  }

  list<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    return new ObjectList((page) => this.listPage(token, page), options);
  }

  async listPage<T extends KubernetesObject>(token: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    callChecks.listPage(token, options);
    return await this.#call((client) => client.listPage(token, options), options);
  }

  async create<T extends KubernetesObject>(token: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    callChecks.create(token, object, options);
    return await this.#call((client) => client.create(token, object, options), options);
  }

  async update<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.update(token, object, options);
    return await this.#call((client) => client.update(token, object, options), options);
  }

  async patch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[patch, ...beside]: readonly [patch: Patch & SubresourceOptions & WriteOptions, ...never[]]
  ): Promise<T> {
    callChecks.patch(token, target, patch, ...beside);
    return await this.#call((client) => client.patch(token, target, patch), patch);
  }

  async apply<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.apply(token, object, options);
    return await this.#call((client) => client.apply(token, object, options), options);
  }

  async delete<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    callChecks.delete(token, target, options);
    return await this.#call((client) => client.delete(token, target, options), options);
  }

  async deleteCollection<T extends KubernetesObject>(
    token: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    callChecks.deleteCollection(token, options);
    return await this.#call((client) => client.deleteCollection(token, options), options);
  }

  async createSubresource<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    callChecks.createSubresource(token, target, call);
    return await this.#call((client) => client.createSubresource(token, target, call), call);
  }

  listerWatcher<T extends KubernetesObject>(token: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    callChecks.listerWatcher(token, scope);
    const of = (client: ResourceClient): ListerWatcher<T> => client.listerWatcher(token, scope);
    return {
      resource: token,
      list: async (options) => {
        callChecks.listPage(token, options);
        return await this.#call((client) => of(client).list(options), options);
      },
      watch: (options) => {
        callChecks.watch(token, options);
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

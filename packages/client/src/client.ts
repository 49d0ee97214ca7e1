// The Kubernetes API over HTTP: the verbs of the port ResourceClient, watches, discovery, logs. Created by connect().
import type { Duplex, Readable } from 'node:stream';
import {
  type ApplyOptions,
  type CallOptions,
  callChecks,
  type DeleteOptions,
  type GetOptions,
  groupVersionResourceOf,
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
  requireKnownOptions,
  requireObject,
  type SubresourceOptions,
  stringifyJson,
  type WatchEvent,
  type WatchOptions,
  type WriteObserver,
  type WriteOptions,
} from '@kapstan/api';
import type { Observable } from 'rxjs';
import { readList, readObject } from './answer-body.ts';
import { type AnswerForm, cacheForms, plainForm } from './answer-form.ts';
import { callOptionNames } from './call-option-names.ts';
import {
  type ClientConfig,
  type ClientOptions,
  type ResolvedClientOptions,
  requireWriteObserver,
  resolveClientOptions,
} from './client-config.ts';
import { requireConfig } from './config-checks.ts';
import { createTransport } from './create-transport.ts';
import { Discovery } from './discovery.ts';
import { MetadataReader } from './metadata-reader.ts';
import { type PodLogOptions, podLogPath } from './pod-log.ts';
import { PodStreams } from './pod-streams.ts';
import { type RawAnswer, type RawRequest, rawPath } from './raw-request.ts';
import { collectionPath, listQuery, objectPath, scoped, watchQuery, writeQuery } from './request-path.ts';
import { RestMapper } from './rest-mapper.ts';
import type { PortForward, PortForwardOptions } from './streaming/port-forward.ts';
import type { AttachOptions, ExecOptions, RemoteCommand } from './streaming/remote-command.ts';
import { limitsOf } from './subresources.ts';
import type { HttpAnswer, HttpRequest } from './transport/http-request.ts';
import { bodyText, type Transport } from './transport/transport.ts';
import { callUser } from './user-callback.ts';
import { iterateWatch, observeWatch, type WatchCall } from './watch.ts';
import { applyBody, deleteBody, metadataOf, objectBody, patchType, writeTarget } from './write-body.ts';

/**
 * A client of one cluster with one identity. Calls reject with `StatusError` when the server answers with an error, with `TransportError`
 * when there is no answer, with TypeError for a wrong call, and with the signal's reason when aborted.
 */
export class Client implements ResourceClient {
  /** Namespace of the kubeconfig's context, "default" when it has none. For the caller's use: no verb applies it. */
  readonly namespace: string;
  readonly discovery: Discovery;
  /** Finds tokens by kind or by a word from the command line: `client.get(await client.mapper.forName('deploy'), …)`. */
  readonly mapper: RestMapper;
  /** Reads metadata of objects without the rest. */
  readonly metadata: MetadataReader;
  readonly #transport: Transport;
  readonly #streams: PodStreams;
  readonly #options: ResolvedClientOptions;
  readonly #writeObservers = new Set<WriteObserver>();

  /** Opens no connection yet. Throws TypeError for a configuration that contradicts itself. */
  constructor(config: ClientConfig, options: ClientOptions = {}) {
    requireConfig(config);
    this.#options = resolveClientOptions(options);
    this.#transport = createTransport(config, this.#options);
    this.#streams = new PodStreams({ transport: this.#transport, options: this.#options });
    this.namespace = config.namespace || 'default';
    this.discovery = new Discovery({
      read: ({ path, accept, ...limits }) =>
        this.#object({ method: 'GET', path, ...(accept === undefined ? {} : { accept }) }, limits),
      wait: (work, { signal, timeoutMs = 0 }) => this.#transport.wait('discovery', { signal, timeoutMs }, work),
    });
    this.mapper = new RestMapper(this.discovery);
    this.metadata = new MetadataReader({ transport: this.#transport, options: this.#options });
    if (options.writeObserver !== undefined) this.observeWrites(options.writeObserver);
  }

  /**
   * Loads certificates and credentials now instead of with the first call. Rejects with the reason why they cannot be used. Without
   * `timeoutMs` there is no limit, because a plugin may be asking its user.
   */
  async prepare(options: CallOptions = {}): Promise<void> {
    requireObject(options, 'options, such as { signal },');
    requireKnownOptions(options, callOptionNames, 'prepare');
    const { signal, timeoutMs = 0 } = options;
    await this.#transport.prepare({ signal, timeoutMs });
  }

  async get<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: GetOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.get(token, target, options);
    const { subresource, resourceVersion } = options;
    const path = objectPath(token, target, { subresource, query: { resourceVersion } });
    return await this.#object<T>(requestOf(token, { method: 'GET', path, name: target.name }), options);
  }

  async listPage<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return await this.#page(token, options, plainForm);
  }

  /**
   * Returns all objects, as {@link ResourceClient.list}: `limit` is the page size, by default the client's `pageSize`. Use
   * {@link Client.listPage} to read only some of them.
   */
  list<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    const read = (page: ListOptions): Promise<ListResult<T>> => this.listPage(token, page);
    return new ObjectList(read, options, this.#options.pageSize);
  }

  async create<T extends KubernetesObject>(token: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    callChecks.create(token, object, options);
    const { namespace, name } = metadataOf(object);
    const path = collectionPath(token, { namespace }, writeQuery(options));
    const body = objectBody(token, object);
    return await this.#write<T>(token, requestOf(token, { method: 'POST', path, body, name }), options);
  }

  async update<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.update(token, object, options);
    const { subresource } = options;
    const target = writeTarget(object);
    const path = objectPath(token, target, { subresource, query: writeQuery(options) });
    const body = objectBody(token, object, subresource);
    return await this.#write<T>(token, requestOf(token, { method: 'PUT', path, body, name: target.name }), options);
  }

  async patch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[patch, ...beside]: readonly [patch: Patch & SubresourceOptions & WriteOptions, ...never[]]
  ): Promise<T> {
    callChecks.patch(token, target, patch, ...beside);
    const contentType = patchType(patch);
    const path = objectPath(token, target, { subresource: patch.subresource, query: writeQuery(patch) });
    const body = stringifyJson(patch.body);
    const parts = { method: 'PATCH', path, body, contentType, name: target.name } as const;
    return await this.#write<T>(token, requestOf(token, parts), patch);
  }

  /** Sends a merge patch: given members replace the present ones, null removes, lists are replaced as a whole. */
  async mergePatch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[call, ...beside]: readonly [call: { readonly body: unknown } & SubresourceOptions & WriteOptions, ...never[]]
  ): Promise<T> {
    return await this.patch(token, target, { ...call, type: 'merge' }, ...beside);
  }

  /** Sends a JSON patch, whose operations apply in order, all or none: `[{ op: 'test', path, value }, { op: 'replace', path, value }]`. */
  async jsonPatch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[call, ...beside]: readonly [
      call: { readonly body: readonly unknown[] } & SubresourceOptions & WriteOptions,
      ...never[],
    ]
  ): Promise<T> {
    return await this.patch(token, target, { ...call, type: 'json' }, ...beside);
  }

  /**
   * Sends a strategic merge patch: like a merge patch, but lists with a merge key are merged item by item. Only for built-in kinds; others
   * answer 415.
   */
  async strategicPatch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[call, ...beside]: readonly [call: { readonly body: unknown } & SubresourceOptions & WriteOptions, ...never[]]
  ): Promise<T> {
    return await this.patch(token, target, { ...call, type: 'strategic' }, ...beside);
  }

  async apply<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.apply(token, object, options);
    const body = applyBody(token, object, options);
    const { subresource } = options;
    const target = writeTarget(object);
    const path = objectPath(token, target, { subresource, query: writeQuery(options) });
    const contentType = 'application/apply-patch+yaml';
    const parts = { method: 'PATCH', path, body, contentType, name: target.name } as const;
    return await this.#write<T>(token, requestOf(token, parts), options);
  }

  async delete<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    callChecks.delete(token, target, options);
    const path = objectPath(token, target);
    const parts = { method: 'DELETE', path, body: deleteBody(options), name: target.name } as const;
    const answer = await this.#write<KubernetesObject>(token, requestOf(token, parts), options);
    return answer.kind === 'Status' ? undefined : (answer as T);
  }

  async deleteCollection<T extends KubernetesObject>(
    token: Resource<T>,
    options: ListOptions & DeleteOptions = {},
  ): Promise<void> {
    callChecks.deleteCollection(token, options);
    const path = collectionPath(token, options, listQuery(options));
    const { signal, beforeAttempt, timeoutMs = this.#options.listTimeoutMs } = options;
    const request = requestOf(token, { method: 'DELETE', path, body: deleteBody(options) });
    await this.#transport.call(request, { signal, beforeAttempt, timeoutMs }, bodyText);
  }

  async createSubresource<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    callChecks.createSubresource(token, target, call);
    const { subresource } = target;
    const path = objectPath(token, target, { subresource });
    const parts = { method: 'POST', path, body: stringifyJson(call.body), name: target.name } as const;
    return await this.#object<KubernetesObject>(requestOf(token, parts), call);
  }

  /**
   * Watches objects. Cold: one request per subscription, unsubscribing aborts it. No replay. Errors with `StatusError` (also for an ERROR
   * event and for bytes that are not an event), `TransportError`, or the signal's reason. Completes when the server ends the watch. Slow
   * consumers: delivery is synchronous, nothing is buffered here.
   */
  watch<T extends KubernetesObject>(token: Resource<T>, options: WatchOptions = {}): Observable<WatchEvent<T>> {
    return observeWatch<T>(this.#watchCall(token, options));
  }

  /**
   * Watches objects as an AsyncIterable. Events are parsed when they are requested, and the socket is paused meanwhile, so a slow consumer
   * slows the server down. Leaving the loop aborts the request.
   */
  watchEvents<T extends KubernetesObject>(
    token: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    return iterateWatch<T>(this.#watchCall(token, options));
  }

  listerWatcher<T extends KubernetesObject>(token: Resource<T>, given: ListerWatcherScope = {}): ListerWatcher<T> {
    callChecks.listerWatcher(token, given);
    const { metadataOnly = false, ...scope } = given;
    const { list, watch } = cacheForms({ metadataOnly, sharesEqualParts: this.#options.sharesEqualParts });
    return {
      resource: token,
      list: async (options) => await this.#page(token, scoped(options, scope), list),
      watch: (options) => observeWatch(this.#watchCall(token, scoped(options, scope), watch)),
      whenReachable: (listener) => this.#transport.reachability.whenReachable(listener),
    };
  }

  /** Streams a container's log. With `follow` it ends when the container does; destroying the stream aborts the request. */
  async podLog(target: ObjectTarget, options: PodLogOptions = {}): Promise<Readable> {
    return await this.rawStream({ path: podLogPath(target, options), accept: '*/*', ...limitsOf(options) });
  }

  /**
   * Runs a command in a container. Resolves when the server has accepted it; `exited` reports how it ended. Rejects with the server's
   * `StatusError`, or with `TransportError`, code EPROTONOSUPPORT, when the server speaks only SPDY.
   */
  async exec(target: ObjectTarget, options: ExecOptions): Promise<RemoteCommand> {
    return await this.#streams.exec(target, options);
  }

  /** Attaches to the main process of a container; otherwise like {@link Client.exec}. */
  async attach(target: ObjectTarget, options: AttachOptions = {}): Promise<RemoteCommand> {
    return await this.#streams.attach(target, options);
  }

  /**
   * Opens one connection to a port of a pod. The protocol cannot pass on the end of what is written: the pod sees it when the connection
   * ends, 10 s after its last answer. When nothing listens on the port, the stream fails with code ECONNABORTED.
   */
  async dialPort(target: ObjectTarget, port: number, options: CallOptions = {}): Promise<Duplex> {
    return await this.#streams.dialPort(target, port, options);
  }

  /**
   * Opens local ports that lead to ports of a pod, until `close()`. Rejects with the server's `StatusError` when the pod does not exist. A
   * missing permission to forward, or a port on which nothing listens, shows with the first connection.
   */
  async portForward(target: ObjectTarget, options: PortForwardOptions): Promise<PortForward> {
    return await this.#streams.portForward(target, options);
  }

  /**
   * Sends any other request and returns the answer as a stream of bytes; destroying the stream aborts the request. `timeoutMs` limits the
   * time to the answer's headers.
   */
  async rawStream(request: RawRequest): Promise<Readable> {
    const path = rawPath(request);
    const { method = 'GET', signal, beforeAttempt, ...rest } = request;
    const { timeoutMs = this.#options.openTimeoutMs } = request;
    const limits = { signal, beforeAttempt, timeoutMs };
    const { answer, scope } = await this.#transport.open({ ...rest, method, path }, limits);
    answer.body.once('close', () => scope.close());
    return answer.body;
  }

  /** Sends any other request and returns the answer as text. */
  async raw(request: RawRequest): Promise<RawAnswer> {
    const path = rawPath(request);
    const { method = 'GET', signal, beforeAttempt, ...rest } = request;
    const { timeoutMs = this.#options.timeoutMs } = request;
    const limits = { signal, beforeAttempt, timeoutMs };
    return await this.#transport.call({ ...rest, method, path }, limits, async (answer) => ({
      status: answer.status,
      contentType: answer.contentType,
      body: await bodyText(answer),
    }));
  }

  /** Notifies the observer of each write from now on; the returned function ends that. What the observer throws is logged. */
  observeWrites(observer: WriteObserver): () => void {
    requireWriteObserver(observer);
    this.#writeObservers.add(observer);
    return () => {
      this.#writeObservers.delete(observer);
    };
  }

  /** Ends calls, watches and streams (with errors of code ECANCELED), port-forwards and connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#streams.close(), this.#transport.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #object<T extends object>(request: HttpRequest, options: CallOptions): Promise<T> {
    const { signal, beforeAttempt, timeoutMs = this.#options.timeoutMs } = options;
    return await this.#transport.call(request, { signal, beforeAttempt, timeoutMs }, readObject<T>);
  }

  async #write<T extends KubernetesObject>(
    token: Resource,
    request: HttpRequest,
    options: CallOptions & { readonly dryRun?: boolean },
  ): Promise<T> {
    const object = await this.#object<T>(request, options);
    const { name, namespace = '', resourceVersion } = object.metadata ?? {};
    // A subresource may answer with another kind (Scale), but its version is the parent's.
    if (!options.dryRun && name !== undefined && resourceVersion !== undefined)
      for (const observer of this.#writeObservers)
        callUser(this.#options.logger, 'writeObserver', () =>
          observer.observeWrite(token, { namespace, name }, resourceVersion),
        );
    return object;
  }

  async #page<T extends KubernetesObject>(
    token: Resource<T>,
    options: ListOptions,
    { accept, parse }: AnswerForm,
  ): Promise<ListResult<T>> {
    callChecks.listPage(token, options);
    const path = collectionPath(token, options, listQuery(options));
    const { signal, beforeAttempt, timeoutMs = this.#options.listTimeoutMs } = options;
    const request = requestOf(token, { method: 'GET', path, accept });
    const read = (answer: HttpAnswer): Promise<ListResult<T>> => readList(answer, token, parse);
    return await this.#transport.call(request, { signal, beforeAttempt, timeoutMs }, read);
  }

  #watchCall(token: Resource, options: WatchOptions, { accept, parse }: AnswerForm = plainForm): WatchCall {
    callChecks.watch(token, options);
    const { openTimeoutMs, maxEventBytes } = this.#options;
    const path = collectionPath(token, options, watchQuery(options));
    const request = requestOf(token, { method: 'GET', path, accept });
    const { signal, onOpen, timeoutMs = openTimeoutMs } = options;
    return { transport: this.#transport, request, signal, onOpen, timeoutMs, maxEventBytes, parse };
  }
}

type RequestParts = Omit<HttpRequest, 'resource'>;

function requestOf(token: Resource, parts: RequestParts): HttpRequest {
  return { ...parts, resource: groupVersionResourceOf(token) };
}

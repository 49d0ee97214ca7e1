// The Kubernetes API over HTTP: the verbs of the port ResourceClient, watches, discovery, logs. Created by connect().
import type { Duplex, Readable } from 'node:stream';
import {
  type ApplyOptions,
  type CallOptions,
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
  stringifyJson,
  type WatchEvent,
  type WatchOptions,
  type WriteOptions,
} from '@kapstan/api';
import { callChecks, groupVersionResourceOf, requireObject, requireOptions } from '@kapstan/api/internal';
import type { Observable } from 'rxjs';
import { readList, readObject } from './answer-body.ts';
import { type AnswerForm, cacheForms, plainForm } from './answer-form.ts';
import { callOptionTable } from './call-option-table.ts';
import {
  type ClientConfig,
  type ClientOptions,
  type ResolvedClientOptions,
  resolveClientOptions,
} from './config/client-config.ts';
import { requireConfig } from './config/config-checks.ts';
import { createTransport } from './config/create-transport.ts';
import { Discovery } from './discovery.ts';
import { callUser } from './guards/user-callback.ts';
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
import { iterateWatch, observeWatch, type WatchCall } from './watch.ts';
import { applyBody, deleteBody, metadataOf, objectBody, patchType, writeTarget } from './write-body.ts';

/**
 * A client of one cluster with one identity. Calls reject with `StatusError` when the server answers with an error, with `TransportError`
 * when there is no answer, with TypeError for a wrong call, and with the signal's reason when aborted.
 *
 * @example
 * ```ts
 * import { Client } from '@kapstan/client';
 * import { Node } from '@kapstan/kinds/core/v1';
 *
 * await using client = new Client({ server: 'https://127.0.0.1:6443', tls: { caFile: 'ca.crt' }, tokenFile: 'token' });
 * for await (const node of client.list(Node)) console.log(node.metadata?.name);
 * ```
 */
export class Client implements ResourceClient {
  /** Namespace of the kubeconfig's context, "default" when it has none. It is for the caller's use; no verb applies it. */
  readonly namespace: string;
  readonly discovery: Discovery;
  /**
   * Finds resources by kind or by a word from the command line: `client.get(await client.mapper.forName('deploy'), …)`.
   */
  readonly mapper: RestMapper;
  /** Reads metadata of objects without the rest. */
  readonly metadata: MetadataReader;
  /** Makes spans for the attempts of a call whose options have `trace`, so layers above need not. */
  readonly tracesCalls = true;
  readonly #transport: Transport;
  readonly #streams: PodStreams;
  readonly #options: ResolvedClientOptions;

  /** Opens no connection yet. Throws TypeError for a contradictory configuration. */
  constructor(config: ClientConfig, options: ClientOptions = {}) {
    requireConfig(config);
    this.#options = resolveClientOptions(options);
    this.#transport = createTransport(config, this.#options);
    this.#streams = new PodStreams({ transport: this.#transport, options: this.#options });
    this.namespace = config.namespace || 'default';
    this.discovery = new Discovery({
      read: ({ path, accept, ...limits }) => this.#object({ method: 'GET', path, accept }, limits),
      wait: (work, { signal, timeoutMs = 0 }) => this.#transport.wait('discovery', { signal, timeoutMs }, work),
    });
    this.mapper = new RestMapper(this.discovery);
    this.metadata = new MetadataReader({ transport: this.#transport, options: this.#options });
  }

  /**
   * Loads certificates and credentials now instead of with the first call. Rejects with the reason if they cannot be used. Without
   * `timeoutMs` there is no time limit, because a plugin may be asking its user.
   */
  async prepare(options: CallOptions = {}): Promise<void> {
    requireObject(options, 'options, such as { signal },');
    requireOptions(options, callOptionTable, 'prepare');
    const { signal, timeoutMs = 0 } = options;
    await this.#transport.prepare({ signal, timeoutMs });
  }

  async get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options: GetOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.get(resource, target, options);
    const { subresource, resourceVersion } = options;
    const path = objectPath(resource, target, { subresource, query: { resourceVersion } });
    return await this.#object<T>(requestOf(resource, { method: 'GET', path, name: target.name }), options);
  }

  async listPage<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return await this.#page(resource, options, plainForm);
  }

  /**
   * Returns all objects, as {@link ResourceClient.list}: `limit` is the page size, by default the client's `pageSize`. Use
   * {@link Client.listPage} to read only some of them.
   */
  list<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    const read = (page: ListOptions): Promise<ListResult<T>> => this.listPage(resource, page);
    return new ObjectList(read, options, this.#options.pageSize);
  }

  async create<T extends KubernetesObject>(resource: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    callChecks.create(resource, object, options);
    const { namespace, name } = metadataOf(object);
    const path = collectionPath(resource, { namespace }, writeQuery(options));
    const body = objectBody(resource, object);
    return await this.#write<T>(resource, requestOf(resource, { method: 'POST', path, body, name }), options);
  }

  async update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.update(resource, object, options);
    const { subresource } = options;
    const target = writeTarget(object);
    const path = objectPath(resource, target, { subresource, query: writeQuery(options) });
    const body = objectBody(resource, object, subresource);
    return await this.#write<T>(
      resource,
      requestOf(resource, { method: 'PUT', path, body, name: target.name }),
      options,
    );
  }

  async patch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[patch, options = {}]: PatchArguments
  ): Promise<T> {
    callChecks.patch(resource, target, patch, options);
    const contentType = patchType(patch);
    const path = objectPath(resource, target, { subresource: options.subresource, query: writeQuery(options) });
    const body = stringifyJson(patch.body);
    const parts = { method: 'PATCH', path, body, contentType, name: target.name } as const;
    return await this.#write<T>(resource, requestOf(resource, parts), options);
  }

  /** Sends a merge patch: given members replace the present ones, null removes, lists are replaced as a whole. */
  async mergePatch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[body, options]: readonly [body: unknown, options?: WriteOptions & SubresourceOptions]
  ): Promise<T> {
    return await this.patch(resource, target, { type: 'merge', body }, options);
  }

  /** Sends a JSON patch, whose operations apply in order, all or none: `[{ op: 'test', path, value }, { op: 'replace', path, value }]`. */
  async jsonPatch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[body, options]: readonly [body: readonly unknown[], options?: WriteOptions & SubresourceOptions]
  ): Promise<T> {
    return await this.patch(resource, target, { type: 'json', body }, options);
  }

  /**
   * Sends a strategic merge patch: like a merge patch, but lists with a merge key are merged item by item. Only for built-in kinds; others
   * answer 415.
   */
  async strategicPatch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[body, options]: readonly [body: unknown, options?: WriteOptions & SubresourceOptions]
  ): Promise<T> {
    return await this.patch(resource, target, { type: 'strategic', body }, options);
  }

  async apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.apply(resource, object, options);
    const body = applyBody(resource, object, options);
    const { subresource } = options;
    const target = writeTarget(object);
    const path = objectPath(resource, target, { subresource, query: writeQuery(options) });
    const contentType = 'application/apply-patch+yaml';
    const parts = { method: 'PATCH', path, body, contentType, name: target.name } as const;
    return await this.#write<T>(resource, requestOf(resource, parts), options);
  }

  async delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    callChecks.delete(resource, target, options);
    const path = objectPath(resource, target);
    const parts = { method: 'DELETE', path, body: deleteBody(options), name: target.name } as const;
    const answer = await this.#write<KubernetesObject>(resource, requestOf(resource, parts), options);
    return answer.kind === 'Status' ? undefined : (answer as T);
  }

  async deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions & DeleteOptions = {},
  ): Promise<void> {
    callChecks.deleteCollection(resource, options);
    const path = collectionPath(resource, options, listQuery(options));
    const { signal, beforeAttempt, trace, timeoutMs = this.#options.listTimeoutMs } = options;
    const request = requestOf(resource, { method: 'DELETE', path, body: deleteBody(options) });
    await this.#transport.call(request, { signal, beforeAttempt, trace, timeoutMs }, bodyText);
  }

  async createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    callChecks.createSubresource(resource, target, call);
    const { subresource } = target;
    const path = objectPath(resource, target, { subresource });
    const parts = { method: 'POST', path, body: stringifyJson(call.body), name: target.name } as const;
    return await this.#object<KubernetesObject>(requestOf(resource, parts), call);
  }

  /**
   * Watches objects. Cold: one request per subscription, unsubscribing aborts it. No replay. Errors with `StatusError` (also for an ERROR
   * event and for bytes that are not an event), `TransportError`, or the signal's reason. Completes when the server ends the watch. Slow
   * consumers: delivery is synchronous, nothing is buffered here.
   */
  watch<T extends KubernetesObject>(resource: Resource<T>, options: WatchOptions = {}): Observable<WatchEvent<T>> {
    return observeWatch<T>(this.#watchCall(resource, options));
  }

  /**
   * Watches objects as an AsyncIterable. Events are parsed when they are requested, and the socket is paused meanwhile, so a slow consumer
   * slows the server down. Leaving the loop aborts the request.
   */
  watchEvents<T extends KubernetesObject>(
    resource: Resource<T>,
    options: WatchOptions = {},
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    return iterateWatch<T>(this.#watchCall(resource, options));
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, given: ListerWatcherScope = {}): ListerWatcher<T> {
    callChecks.listerWatcher(resource, given);
    const { metadataOnly = false, ...scope } = given;
    const { list, watch } = cacheForms({ metadataOnly, sharesEqualParts: this.#options.sharesEqualParts });
    return {
      resource: resource,
      list: async (options) => await this.#page(resource, scoped(options, scope), list),
      watch: (options) => observeWatch(this.#watchCall(resource, scoped(options, scope), watch)),
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
   * Opens one connection to a port of a pod. The protocol cannot pass on the end of the written data, so the pod sees it only when the
   * connection ends, 10 s after the pod's last answer. When nothing listens on the port, the stream fails with code ECONNABORTED.
   */
  async dialPort(target: ObjectTarget, port: number, options: CallOptions = {}): Promise<Duplex> {
    return await this.#streams.dialPort(target, port, options);
  }

  /**
   * Forwards local ports to ports of a pod, until `close()`. Rejects with the server's `StatusError` when the pod does not exist. A missing
   * permission to forward, or a port on which nothing listens, shows with the first connection.
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
    const { method = 'GET', signal, beforeAttempt, trace, ...rest } = request;
    const { timeoutMs = this.#options.openTimeoutMs } = request;
    const limits = { signal, beforeAttempt, trace, timeoutMs };
    const { answer, scope } = await this.#transport.open({ ...rest, method, path }, limits);
    answer.body.once('close', () => scope.close());
    return answer.body;
  }

  /** Sends any other request and returns the answer as text. */
  async raw(request: RawRequest): Promise<RawAnswer> {
    const path = rawPath(request);
    const { method = 'GET', signal, beforeAttempt, trace, ...rest } = request;
    const { timeoutMs = this.#options.timeoutMs } = request;
    const limits = { signal, beforeAttempt, trace, timeoutMs };
    return await this.#transport.call({ ...rest, method, path }, limits, async (answer) => ({
      status: answer.status,
      contentType: answer.contentType,
      body: await bodyText(answer),
    }));
  }

  /** Ends calls, watches and streams (with errors of code ECANCELED), port-forwards and connections. Idempotent. */
  async close(): Promise<void> {
    await Promise.all([this.#streams.close(), this.#transport.close()]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #object<T extends object>(request: HttpRequest, options: CallOptions): Promise<T> {
    const { signal, beforeAttempt, trace, timeoutMs = this.#options.timeoutMs } = options;
    return await this.#transport.call(request, { signal, beforeAttempt, trace, timeoutMs }, readObject<T>);
  }

  async #write<T extends KubernetesObject>(
    resource: Resource,
    request: HttpRequest,
    options: CallOptions & { readonly dryRun?: boolean | undefined },
  ): Promise<T> {
    const object = await this.#object<T>(request, options);
    const { name, namespace = '', resourceVersion } = object.metadata ?? {};
    // A subresource may answer with another kind (Scale), but its version is the parent's.
    const { writeObserver, logger } = this.#options;
    if (writeObserver !== undefined && !options.dryRun && name !== undefined && resourceVersion !== undefined)
      callUser(logger, 'writeObserver', () =>
        writeObserver.observeWrite(resource, { namespace, name }, resourceVersion),
      );
    return object;
  }

  async #page<T extends KubernetesObject>(
    resource: Resource<T>,
    options: ListOptions,
    { accept, parse }: AnswerForm,
  ): Promise<ListResult<T>> {
    callChecks.listPage(resource, options);
    const path = collectionPath(resource, options, listQuery(options));
    const { signal, beforeAttempt, trace, timeoutMs = this.#options.listTimeoutMs } = options;
    const request = requestOf(resource, { method: 'GET', path, accept });
    const read = (answer: HttpAnswer): Promise<ListResult<T>> => readList(answer, resource, parse);
    return await this.#transport.call(request, { signal, beforeAttempt, trace, timeoutMs }, read);
  }

  #watchCall(resource: Resource, options: WatchOptions, { accept, parse }: AnswerForm = plainForm): WatchCall {
    callChecks.watch(resource, options);
    const { openTimeoutMs, maxEventBytes } = this.#options;
    const path = collectionPath(resource, options, watchQuery(options));
    const request = requestOf(resource, { method: 'GET', path, accept });
    const { signal, onOpen, timeoutMs = openTimeoutMs } = options;
    return { transport: this.#transport, request, signal, onOpen, timeoutMs, maxEventBytes, parse };
  }
}

type RequestParts = Omit<HttpRequest, 'resource'>;

function requestOf(resource: Resource, parts: RequestParts): HttpRequest {
  return { ...parts, resource: groupVersionResourceOf(resource) };
}

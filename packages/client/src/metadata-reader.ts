// Reads metadata alone: the server cuts objects down before it sends them. Useful for informers of kinds with large objects, or where only
// labels and owners matter. Part of client.ts. Source: client-go metadata.
import {
  type DeepReadonly,
  type GetOptions,
  type KubernetesObject,
  type ListerWatcher,
  type ListerWatcherScope,
  type ListOptions,
  type ListResult,
  ObjectList,
  type ObjectTarget,
  type Resource,
  resource,
  type SubresourceOptions,
  type WatchEvent,
  type WatchOptions,
} from '@kapstan/api';
import { callChecks, groupVersionResourceOf } from '@kapstan/api/internal';
import type { Observable } from 'rxjs';
import { map } from 'rxjs/internal/operators/map';
import { readList, readObject } from './answer-body.ts';
import { metadataAccept } from './answer-form.ts';
import type { ResolvedClientOptions } from './config/client-config.ts';
import { collectionPath, listQuery, objectPath, watchQuery } from './request-path.ts';
import type { HttpRequest } from './transport/http-request.ts';
import type { Transport } from './transport/transport.ts';
import { observeWatch } from './watch.ts';

export interface MetadataReaderPorts {
  readonly transport: Transport;
  readonly options: ResolvedClientOptions;
}

const partial: Resource = resource({ group: 'meta.k8s.io', version: 'v1', kind: 'PartialObjectMetadata' });

/**
 * Its objects have only `metadata`, whatever the type of their resource says; pass `Pod as Resource` to tell the
 * compiler. Informers of `new SharedInformerFactory(client.metadata)` keep only metadata. Use the client to write.
 */
export class MetadataReader {
  readonly #ports: MetadataReaderPorts;

  constructor(ports: MetadataReaderPorts) {
    this.#ports = ports;
  }

  async get(
    resource: Resource,
    target: ObjectTarget,
    options: GetOptions & SubresourceOptions = {},
  ): Promise<KubernetesObject> {
    callChecks.get(resource, target, options);
    const { subresource, resourceVersion, signal, beforeAttempt, trace } = options;
    const { timeoutMs = this.#ports.options.timeoutMs } = options;
    const path = objectPath(resource, target, { subresource, query: { resourceVersion } });
    const request = { ...requestOf(resource, path, 'PartialObjectMetadata'), name: target.name };
    return cut(
      await this.#ports.transport.call(
        request,
        { signal, beforeAttempt, trace, timeoutMs },
        readObject<KubernetesObject>,
      ),
    );
  }

  async listPage<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    callChecks.listPage(resource, options);
    const { signal, beforeAttempt, trace, timeoutMs = this.#ports.options.listTimeoutMs } = options;
    const path = collectionPath(resource, options, listQuery(options));
    const request = requestOf(resource, path, 'PartialObjectMetadataList');
    const read = (answer: Parameters<typeof readObject>[0]): Promise<ListResult<T>> =>
      readList(answer, partial as Resource<T>);
    const page = await this.#ports.transport.call(request, { signal, beforeAttempt, trace, timeoutMs }, read);
    return { ...page, items: page.items.map(cut) };
  }

  /** See {@link Client.list}. */
  list<T extends KubernetesObject>(resource: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    const read = (page: ListOptions): Promise<ListResult<T>> => this.listPage(resource, page);
    return new ObjectList(read, options, this.#ports.options.pageSize);
  }

  /** See {@link Client.watch}: cold, no replay; errors, completes and delivers in the same way. */
  watch<T extends KubernetesObject>(resource: Resource<T>, options: WatchOptions = {}): Observable<WatchEvent<T>> {
    callChecks.watch(resource, options);
    const { transport, options: own } = this.#ports;
    const path = collectionPath(resource, options, watchQuery(options));
    const request = requestOf(resource, path, 'PartialObjectMetadata');
    const { signal, onOpen, timeoutMs = own.openTimeoutMs } = options;
    const { maxEventBytes } = own;
    return observeWatch<T>({ transport, request, signal, onOpen, timeoutMs, maxEventBytes }).pipe(
      map((event) => (event.type === 'BOOKMARK' ? event : { ...event, object: cut(event.object) })),
    );
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope: ListerWatcherScope = {}): ListerWatcher<T> {
    callChecks.listerWatcher(resource, scope);
    const { metadataOnly: _, ...own } = scope;
    return {
      resource: resource,
      list: (options) => this.listPage(resource, { ...options, ...own }),
      watch: (options) => this.watch(resource, { ...options, ...own }),
      whenReachable: (listener) => this.#ports.transport.reachability.whenReachable(listener),
    };
  }
}

function requestOf(
  resource: Resource,
  path: string,
  kind: 'PartialObjectMetadata' | 'PartialObjectMetadataList',
): HttpRequest {
  return { method: 'GET', path, accept: metadataAccept(kind), resource: groupVersionResourceOf(resource) };
}

/** Keeps only the metadata, because an aggregated server may send whole objects. Throws TypeError for an object without metadata. */
function cut<T extends DeepReadonly<KubernetesObject>>(object: T): T {
  const { metadata } = object;
  if (metadata === undefined)
    throw new TypeError('object does not appear to match the ObjectMeta schema: it has no metadata');
  return { kind: partial.kind, apiVersion: 'meta.k8s.io/v1', metadata } as unknown as T;
}

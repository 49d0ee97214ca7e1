// TracedClient passes the trace of a run on with each call. If the client below makes no spans itself, like one without HTTP, it makes one
// for each call. run-tracer.ts puts it under the client of a run.
import {
  type ApplyOptions,
  type CallOptions,
  type DeepReadonly,
  type DeleteOptions,
  type GetOptions,
  isStatusError,
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
  type WriteOptions,
} from '@kapstan/api';
import {
  type CallTracer,
  failSpan,
  formatGroupResource,
  isSecret,
  type TraceAttributes,
  type TraceSpan,
} from '@kapstan/api/internal';
import { traceAnnotation } from './trace-annotation.ts';

export type Target = { readonly namespace?: string | undefined; readonly name?: string | undefined } | undefined;

export interface TracedClientPorts {
  readonly tracer: CallTracer;
  /** Starts the span of a call. Undefined if the client below makes spans itself. */
  readonly startCall: ((name: string, attributes: TraceAttributes) => TraceSpan) | undefined;
  /** Called before an object is written. Undefined when the run is not sampled. */
  readonly onWrite: ((resource: Resource, target: Target) => void) | undefined;
  /** Value of the annotation on created objects; undefined = none. */
  readonly annotation: string | undefined;
}

export class TracedClient implements ResourceClient {
  readonly #client: ResourceClient;
  readonly #ports: TracedClientPorts;

  constructor(client: ResourceClient, ports: TracedClientPorts) {
    this.#client = client;
    this.#ports = ports;
  }

  get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T> {
    return this.#traced({ verb: 'get', resource, target }, () =>
      this.#client.get(resource, target, this.#with(options)),
    );
  }

  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): ObjectList<T> {
    const list = this.#client.list(resource, this.#with(options));
    if (this.#ports.startCall === undefined) return list;
    return new TracedList(list, () => this.#start({ verb: 'list', resource, target: options }));
  }

  listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>> {
    const call = { verb: 'list', resource, target: options };
    return this.#traced(call, () => this.#client.listPage(resource, this.#with(options)));
  }

  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T> {
    return this.#client.listerWatcher(resource, scope);
  }

  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T> {
    const call = { verb: 'create', isWrite: true, resource, target: object?.metadata };
    const { annotation } = this.#ports;
    const created = annotation === undefined ? object : annotated(object, annotation);
    return this.#traced(call, () => this.#client.create(resource, created, this.#with(options)));
  }

  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T> {
    const call = { verb: 'update', isWrite: true, resource, target: object?.metadata };
    return this.#traced(call, () => this.#client.update(resource, object, this.#with(options)));
  }

  patch<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    ...[patch, options]: PatchArguments
  ): Promise<T> {
    const call = { verb: 'patch', isWrite: true, resource, target };
    return this.#traced(call, () => this.#client.patch(resource, target, patch, this.#with(options)));
  }

  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    const call = { verb: 'apply', isWrite: true, resource, target: object?.metadata };
    return this.#traced(call, () => this.#client.apply(resource, object, this.#with(options)));
  }

  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined> {
    const call = { verb: 'delete', isWrite: true, resource, target };
    return this.#traced(call, () => this.#client.delete(resource, target, this.#with(options)));
  }

  deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void> {
    const call = { verb: 'deletecollection', resource, target: options };
    return this.#traced(call, () => this.#client.deleteCollection(resource, this.#with(options)));
  }

  createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    const traced = { verb: 'create', resource, target };
    return this.#traced(traced, () => this.#client.createSubresource(resource, target, this.#with(call)));
  }

  /** Options of another kind are left to the check of the client below. */
  #with<O extends CallOptions>(options: O | undefined): O {
    if (options !== undefined && (typeof options !== 'object' || options === null)) return options;
    return { trace: this.#ports.tracer, ...options } as O;
  }

  #start({ verb, resource, target }: TracedVerb): TraceSpan | undefined {
    const { group, plural } = resource ?? {};
    const { namespace = '', name = '' } = target ?? {};
    const place = formatGroupResource({ group, resource: plural });
    return this.#ports.startCall?.(`${verb} ${place}`, {
      'kapstan.verb': verb,
      'kapstan.resource': place,
      'k8s.namespace.name': namespace,
      // The names of Secrets are not revealed.
      'kapstan.object.name': isSecret(resource) ? '' : name,
    });
  }

  #traced<R>(call: TracedVerb, send: () => Promise<R>): Promise<R> {
    if (call.isWrite) this.#ports.onWrite?.(call.resource, call.target);
    return this.#ports.startCall === undefined ? send() : ended(this.#start(call), send);
  }
}

interface TracedVerb {
  readonly verb: string;
  readonly isWrite?: boolean;
  readonly resource: Resource;
  readonly target: Target;
}

async function ended<R>(span: TraceSpan | undefined, work: () => Promise<R>): Promise<R> {
  try {
    return await work();
  } catch (error) {
    if (span !== undefined) failCall(span, error);
    throw error;
  } finally {
    span?.end();
  }
}

function failCall(span: TraceSpan, error: unknown): void {
  span.setAttributes({ 'error.type': isStatusError(error) ? error.reason : ((error as Error)?.name ?? '_OTHER') });
  failSpan(span, error);
}

function annotated<T extends KubernetesObject>(object: T, annotation: string): T {
  const metadata = object?.metadata;
  if (typeof metadata !== 'object' || metadata === null) return object;
  const annotations = { [traceAnnotation]: annotation, ...metadata.annotations };
  return { ...object, metadata: { ...metadata, annotations } };
}

/** A list with a span each time it is read. */
class TracedList<T extends KubernetesObject> extends ObjectList<T> {
  readonly #list: ObjectList<T>;
  readonly #start: () => TraceSpan | undefined;

  constructor(list: ObjectList<T>, start: () => TraceSpan | undefined) {
    super(() => Promise.reject(new Error('read through another list')), {});
    this.#list = list;
    this.#start = start;
  }

  // biome-ignore lint/suspicious/noThenProperty: a list is awaited as a whole or iterated
  override then<A = DeepReadonly<T>[], B = never>(
    onFulfilled?: ((items: DeepReadonly<T>[]) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return ended(this.#start(), () => this.#list.then((items) => items)).then(onFulfilled, onRejected);
  }

  override async *pages(): AsyncGenerator<ListResult<T>, void, undefined> {
    const span = this.#start();
    try {
      yield* this.#list.pages();
    } catch (error) {
      if (span !== undefined) failCall(span, error);
      throw error;
    } finally {
      span?.end();
    }
  }
}

// The port through which controllers and control loops read and write single objects, over HTTP or in process.

import type { KubernetesObject } from '../objects/kubernetes-object.ts';
import type { ObjectName } from '../objects/object-key.ts';
import type { Resource } from '../resources/resource.ts';
import type {
  ApplyOptions,
  CallOptions,
  DeleteOptions,
  GetOptions,
  ListOptions,
  WriteOptions,
} from './call-options.ts';
import type { ListerWatcher, ListResult } from './lister-watcher.ts';
import type { ObjectList } from './object-list.ts';

/** Names an object. `namespace` is omitted for cluster-scoped resources. */
export interface ObjectTarget {
  readonly name: string;
  readonly namespace?: string;
}

/** A patch and its format. 'merge' is RFC 7386, 'json' RFC 6902, 'strategic' Kubernetes' own. */
export type Patch =
  | { readonly type: 'merge'; readonly body: unknown }
  | { readonly type: 'strategic'; readonly body: unknown }
  | { readonly type: 'json'; readonly body: readonly unknown[] };

/** The arguments of a patch besides its target: the patch, and options as for every other verb. */
export type PatchArguments = readonly [patch: Patch, options?: WriteOptions & SubresourceOptions];

/** Names a subresource, such as `status` or `scale`, that a call reads or writes instead of the object. */
export interface SubresourceOptions {
  /** For example "status" or "scale". Absent = the object itself. */
  readonly subresource?: string | undefined;
}

/** Selects the objects of a resource that are listed and watched. */
export interface ListerWatcherScope {
  /** Absent or "" = all namespaces. */
  readonly namespace?: string;
  /** True = the caller reads only the objects' metadata, so an implementation may leave out the rest. Default false. */
  readonly metadataOnly?: boolean;
}

/**
 * Verbs on single objects. Every method rejects with `StatusError` for an answer of the server and with a transport
 * error (`code: 'ECONNREFUSED'`, …) when there was none.
 */
export interface ResourceClient {
  get<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: GetOptions & SubresourceOptions,
  ): Promise<T>;
  /**
   * Lists all objects: `await client.list(Pod)` is an array, `for await (const pod of client.list(Pod))` yields them
   * page by page, `.pages()` yields pages with their versions. `limit` is the size of a page and not of the list;
   * absent = the client chooses. For some objects only, use {@link ResourceClient.listPage} or leave the loop.
   */
  list<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): ObjectList<T>;
  /** Returns one page, as the server sends it. */
  listPage<T extends KubernetesObject>(resource: Resource<T>, options?: ListOptions): Promise<ListResult<T>>;
  create<T extends KubernetesObject>(resource: Resource<T>, object: T, options?: WriteOptions): Promise<T>;
  update<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options?: WriteOptions & SubresourceOptions,
  ): Promise<T>;
  patch<T extends KubernetesObject>(resource: Resource<T>, target: ObjectTarget, ...patch: PatchArguments): Promise<T>;
  apply<T extends KubernetesObject>(
    resource: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T>;
  /**
   * Returns the deleted object, or its last state while finalizers or a grace period keep it; undefined when the server
   * answered with a bare Status.
   */
  delete<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget,
    options?: DeleteOptions,
  ): Promise<T | undefined>;
  deleteCollection<T extends KubernetesObject>(
    resource: Resource<T>,
    options?: ListOptions & DeleteOptions,
  ): Promise<void>;
  /** Returns the list and watch of one resource for an informer. */
  listerWatcher<T extends KubernetesObject>(resource: Resource<T>, scope?: ListerWatcherScope): ListerWatcher<T>;
  /** Sends a POST to a subresource: eviction, binding, token. */
  createSubresource<T extends KubernetesObject>(
    resource: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject>;
}

/** Receives each successful write, so that a reader can wait until its cache has its own writes. */
export interface WriteObserver {
  observeWrite(resource: Resource, target: ObjectName, resourceVersion: string): void;
}

// ReconcilerContext: the tools of a reconcile function besides its object. controller-runner.ts makes one for each run.

import { inspect, isDeepStrictEqual } from 'node:util';
import {
  apiVersionOf,
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  type Logger,
  type OwnerReference,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import {
  type OptionTable,
  optional,
  requireObject,
  requireOptions,
  requireResource,
  requireTarget,
} from '@kapstan/api/internal';
import { type CacheReader, controllerUidIndex, type InformerCache } from '../cache/informer-cache.ts';
import type { EventRecorder } from '../events/event-recorder.ts';
import { targetOf } from './finalizer.ts';
import { type PruneOptions, pruneChildren, type WantedObjects } from './prune-children.ts';

/** The object to apply; only the name is required. */
export type ApplyConfiguration<T extends KubernetesObject> = DeepPartial<
  Omit<T, 'apiVersion' | 'kind' | 'metadata'>
> & {
  readonly metadata: {
    readonly name: string;
    /** Default: the namespace of the reconciled object. */
    readonly namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
    readonly finalizers?: readonly string[];
    readonly ownerReferences?: readonly OwnerReference[];
  };
};

type DeepPartial<T> = T extends readonly (infer E)[]
  ? readonly DeepPartial<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: DeepPartial<T[K]> }
    : T;

/** The body of a merge patch: parts of the value, and null for fields to remove. Lists are replaced whole. */
type MergePatch<T> = T extends readonly (infer E)[]
  ? readonly DeepPartial<E>[]
  : T extends object
    ? { readonly [K in keyof T]?: MergePatch<T[K]> | (Record<never, never> extends Pick<T, K> ? null : never) }
    : T;

/** Any object if the compiler does not know the kind's fields; never for a kind without status. */
export type StatusOf<T> = string extends keyof T
  ? object
  : keyof T extends keyof KubernetesObject
    ? object
    : T extends { status?: infer S }
      ? MergePatch<NonNullable<S>>
      : never;

/** Settings of `ctx.apply`. */
export interface ApplySettings {
  /**
   * 'controller' (default): the reconciled object becomes the controlling owner, so the applied object is deleted with
   * it. 'none': no owner.
   */
  readonly owner?: 'controller' | 'none';
}

/**
 * The tools of a reconcile function: clients, caches, logger, clock, signal. A context belongs to one run; its signal and client end with that
 * run.
 */
export interface ReconcilerContext<T extends KubernetesObject> {
  /**
   * Client for all other calls. It refuses writes when this process may no longer write, and ends with the signal. The caches show its
   * writes before the object's next reconcile.
   */
  readonly client: ResourceClient;
  /** Aborts when the run should end: the grace period after a stop is over, leadership is lost, or the run takes too long. */
  readonly signal: AbortSignal;
  /** 0 on the first try, one more after each failure. */
  readonly attempt: number;
  /**
   * The clock of the manager: the real one, or the one that a test moves. Take the time from it, not from `Date`, and wait with
   * `delay(ctx.clock, ms, ctx.signal)`.
   */
  readonly clock: Clock;
  /** Each line names the controller and the object. */
  readonly log: Logger;
  /**
   * Applies an object as the controller's field manager, taking fields over from others, with the reconciled object as
   * owner. If the kind is watched, resolves when the cache shows it. Throws TypeError when the reconciled object cannot
   * own it, because it is in another namespace or cluster-scoped.
   */
  apply<C extends KubernetesObject>(
    resource: Resource<C>,
    object: ApplyConfiguration<C>,
    settings?: ApplySettings,
  ): Promise<C>;
  /**
   * Merges this into the status of the reconciled object; sends nothing if that changes nothing. Omitted fields stay,
   * null removes a field, and lists are replaced whole.
   */
  status(status: StatusOf<T>): Promise<void>;
  /**
   * Returns cached objects of a kind that the reconciled object controls. Throws Error for a kind that is not cached.
   */
  children<C extends KubernetesObject>(resource: Resource<C>): readonly DeepReadonly<C>[];
  /**
   * Deletes the children of a kind that this run did not apply, create, update or patch (or find unchanged with `createOrUpdate`), so call
   * it last. Resolves to the deleted children; `{ dryRun: true }` only lists them. A child is deleted in its cached version, so one that
   * was changed since gives 409. Throws Error for a kind that is not cached.
   */
  prune<C extends KubernetesObject>(resource: Resource<C>, options?: PruneOptions): Promise<readonly DeepReadonly<C>[]>;
  /** Returns the cache of a kind that a controller reconciles, owns, watches or indexes. Throws Error for any other. */
  cache<C extends KubernetesObject>(resource: Resource<C>): CacheReader<C>;
  /** Records an Event about the reconciled object; returns at once and never fails. */
  event(type: 'Normal' | 'Warning', reason: string, message: string): void;
}

export interface ContextParts {
  readonly controller: string;
  readonly kind: Resource;
  readonly object: DeepReadonly<KubernetesObject>;
  readonly client: ResourceClient;
  readonly cache: InformerCache;
  readonly recorder: EventRecorder;
  readonly signal: AbortSignal;
  readonly attempt: number;
  readonly clock: Clock;
  readonly log: Logger;
  /** The objects that this run wrote through the client. */
  readonly wanted: WantedObjects;
  /** Resolves when the caches show this run's writes, or that takes too long. */
  readonly shown: () => Promise<void>;
}

export function reconcilerContext(parts: ContextParts): ReconcilerContext<KubernetesObject> {
  const { client, cache, kind, recorder, signal, attempt, clock, log } = parts;
  const uid = parts.object.metadata?.uid ?? '';
  let present: DeepReadonly<KubernetesObject> = parts.object;
  return {
    client,
    signal,
    attempt,
    clock,
    log,
    apply: async (child, object, settings = {}) => {
      requireResource(child, 'apply()');
      requireConfiguration(child, object);
      const owner = ownerOf(settings);
      const config = applied(parts, child, object);
      const options = { fieldManager: parts.controller, force: true, signal };
      const result = await client.apply(
        child,
        config as never,
        owner === 'none' ? options : { ...options, owner: ownerReference(parts, child, config) },
      );
      await parts.shown();
      return result as never;
    },
    status: async (status) => {
      requireObject(status, 'a status');
      const now = (present as { readonly status?: unknown }).status;
      if (isMergedAlready(now, status)) return;
      const options = { subresource: 'status', fieldManager: parts.controller, signal };
      present = await client.patch(kind, targetOf(present), { type: 'merge', body: { status } }, options);
    },
    children: (child) => cache.reader(child).byIndex(controllerUidIndex, uid),
    prune: async (child, options = {}) => {
      const children = cache.reader(child).byIndex(controllerUidIndex, uid);
      const pruned = await pruneChildren({ client, kind: child, children, wanted: parts.wanted }, options);
      await parts.shown();
      return pruned;
    },
    cache: (other) => cache.reader(other),
    event: (type, reason, message) => {
      const object = { ...present, apiVersion: apiVersionOf(kind), kind: kind.kind } as KubernetesObject;
      recorder.record(object, { type, reason, message });
    },
  };
}

/**
 * Returns the reference with which an object becomes the controlling owner of another. Source: metav1.NewControllerRef.
 *
 * @example
 * ```ts
 * import { connect } from '@kapstan/client';
 * import { controllerReference } from '@kapstan/controller';
 * import { Deployment } from '@kapstan/kinds/apps/v1';
 * import { ConfigMap } from '@kapstan/kinds/core/v1';
 *
 * const client = await connect();
 * const owner = await client.get(Deployment, { name: 'web', namespace: 'default' });
 * const ownerReferences = [controllerReference(Deployment, owner)];
 * await client.create(ConfigMap, { metadata: { name: 'web-settings', namespace: 'default', ownerReferences } });
 * ```
 */
export function controllerReference(resource: Resource, owner: DeepReadonly<KubernetesObject>): OwnerReference {
  const { name = '', uid = '' } = owner.metadata ?? {};
  return {
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
    name,
    uid,
    controller: true,
    blockOwnerDeletion: true,
  };
}

/** Throws TypeError for an object without a name, and for one of another kind, which would be applied as this kind. */
function requireConfiguration(resource: Resource, object: unknown): void {
  requireObject(object, 'what is applied, such as { metadata: { name } },');
  const { metadata, apiVersion = apiVersionOf(resource), kind = resource.kind } = object as Partial<KubernetesObject>;
  requireObject(metadata, 'metadata of the applied object');
  requireTarget(metadata);
  if (kind !== resource.kind || apiVersion !== apiVersionOf(resource))
    throw new TypeError(
      `apply() of a ${resource.kind} of ${apiVersionOf(resource)}: the object is a ${kind} of ${apiVersion}`,
    );
}

const settingsTable: OptionTable<ApplySettings> = { owner: optional(requireOwner) };

function ownerOf(settings: ApplySettings): NonNullable<ApplySettings['owner']> {
  requireObject(settings, "settings of apply(), such as { owner: 'none' },");
  requireOptions(settings, settingsTable, 'apply()');
  return settings.owner ?? 'controller';
}

function requireOwner(owner: unknown): void {
  if (owner !== 'controller' && owner !== 'none')
    throw new TypeError(`owner must be 'controller' or 'none', not ${inspect(owner)}`);
}

function applied(
  { object: owner }: ContextParts,
  resource: Resource,
  object: { readonly metadata: { readonly name: string; readonly namespace?: string } },
): KubernetesObject {
  const namespace = object.metadata.namespace ?? owner.metadata?.namespace;
  if (resource.scope === 'Namespaced' && namespace === undefined)
    throw new TypeError(`${resource.kind} ${object.metadata.name} needs a namespace`);
  const place = resource.scope === 'Namespaced' && namespace !== undefined ? { namespace } : {};
  return {
    ...object,
    metadata: { ...object.metadata, ...place },
    apiVersion: apiVersionOf(resource),
    kind: resource.kind,
  };
}

function ownerReference(
  { kind, object }: ContextParts,
  resource: Resource,
  { metadata }: KubernetesObject,
): OwnerReference {
  const isWithin = kind.scope === 'Cluster' || metadata?.namespace === object.metadata?.namespace;
  if (!isWithin || (kind.scope === 'Namespaced' && resource.scope === 'Cluster'))
    throw new TypeError(
      `${kind.kind} ${object.metadata?.name} cannot own ${resource.kind} ${metadata?.name}: it is not in its namespace; apply it with owner: 'none'`,
    );
  return controllerReference(kind, object);
}

/** True when a merge patch would not change the value. Source: RFC 7386. */
function isMergedAlready(present: unknown, patch: unknown): boolean {
  if (!isPlainObject(patch)) return isDeepStrictEqual(present, patch);
  if (!isPlainObject(present)) return false;
  return Object.entries(patch).every(([field, value]) => {
    const now = Object.hasOwn(present, field) ? present[field] : undefined;
    return value === undefined || (value === null ? now === undefined : isMergedAlready(now, value));
  });
}

function isPlainObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

// InProcessClient implements the ResourceClient port directly on the registry, without HTTP. Its watches deliver the
// storage's own events: shared objects, no copies, no buffers. Calls for single objects return the caller's own copy.

import { randomUUID } from 'node:crypto';
import {
  type ApplyOptions,
  apiVersionOf,
  type CallOptions,
  type Clock,
  type DeepReadonly,
  type DeleteOptions,
  deepCopy,
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
  systemClock,
  type UnstructuredObject,
  type WriteObserver,
  type WriteOptions,
} from '@kapstan/api';
import { notImplemented } from '@kapstan/api/errors';
import { callChecks } from '@kapstan/api/internal';
import { runInTurns } from '@kapstan/storage';
import type { ResourceCatalog, ServedResource } from '../definition/catalog.ts';
import type { RequestContext, UserInfo } from '../definition/request-context.ts';
import type { Verb } from '../definition/resource-definition.ts';
import {
  methodNotAllowed,
  requireCollectionVerb,
  requireItemVerb,
  requireSubresource,
  resourceNotFound,
} from '../definition/route-errors.ts';
import { requireValidWriteOptions, type WriteKind } from '../definition/write-options.ts';
import { withinTime } from './call-time.ts';
import { InProcessListerWatcher, requireListOptions } from './in-process-lister-watcher.ts';
import {
  createAt,
  decodeBody,
  type ObjectPatching,
  patchAt,
  updateAt,
  type WriteAnswer,
  type WriteTarget,
} from './object-writes.ts';

/** Options of a client in the server's process. */
export interface InProcessClientOptions {
  readonly catalog: ResourceCatalog;
  /**
   * The user of all calls. Nothing is authorised here, but admission sees the user. Default: system:apiserver in
   * system:masters, with its own uid.
   */
  readonly user?: UserInfo | undefined;
  /** Field manager of calls that do not name one. Default "kapstan". */
  readonly fieldManager?: string | undefined;
  /** Absent = patches and applies are refused with 501. */
  readonly patching?: ObjectPatching | undefined;
  /** Receives every write. Default: none. */
  readonly observer?: WriteObserver | undefined;
  /** Called with every warning. Default: nothing. */
  readonly onWarning?: ((text: string) => void) | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * The user of kube-apiserver's own requests, with a separate uid for each server. Source: server.NewLoopbackClientConfig,
 * authorizeClientBearerToken.
 */
const serverUser: UserInfo = { name: 'system:apiserver', groups: ['system:authenticated', 'system:masters'] };

/**
 * Reads and writes through the registry, with the same rules and errors as over HTTP. All methods reject with
 * `StatusError`, and with TypeError for a wrong call.
 */
export class InProcessClient implements ResourceClient {
  readonly #catalog: ResourceCatalog;
  readonly #options: InProcessClientOptions;
  readonly #clock: Clock;
  readonly #user: UserInfo;

  constructor(options: InProcessClientOptions) {
    this.#catalog = options.catalog;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#user = options.user ?? { ...serverUser, uid: randomUUID() };
  }

  async get<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: GetOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.get(token, target, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const { served, part, context } = this.#item(token, target, { verb: 'get', ...timed });
      if (part?.type === 'object') {
        if (part.connect !== undefined) throw leadsElsewhere(part.name);
        if (part.get === undefined) throw methodNotAllowed();
        return (await part.get(served.store, context, target.name)) as T;
      }
      if (part?.type === 'bytes') throw notImplemented(`the subresource ${part.name} is not an object`);
      const { resourceVersion } = timed;
      return ownCopy<T>((await served.store.get(context, target.name, { resourceVersion })).object);
    });
  }

  /** Lists everything in one page unless a `limit` is given, because no data is sent over a network. */
  list<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): ObjectList<T> {
    return new ObjectList((page) => this.listPage(token, page), options);
  }

  async listPage<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return await this.listerWatcher(token).list(options);
  }

  listerWatcher<T extends KubernetesObject>(token: Resource<T>, scope: ListerWatcherScope = {}): ListerWatcher<T> {
    callChecks.listerWatcher(token, scope);
    return new InProcessListerWatcher<T>({
      resource: token,
      store: (verb, namespace) => {
        const served = this.#find(token);
        requireCollectionVerb(served, verb, namespace);
        return served.store;
      },
      namespace: scope.namespace ?? '',
      contextFor: (namespace, signal) => this.#context(this.#find(token), namespace, { signal }),
      clock: this.#clock,
    });
  }

  async create<T extends KubernetesObject>(token: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    callChecks.create(token, object, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const served = this.#find(token);
      const context = this.#context(served, object.metadata?.namespace, timed);
      requireCollectionVerb(served, 'create', context.namespace);
      requireOptions(timed, 'CreateOptions', 'other');
      const target: WriteTarget = { served, part: undefined, name: '', context };
      return this.#written<T>(
        token,
        context,
        await createAt(target, await runInTurns(decodeBody(target, jsonOf(typed(token, object)), json))),
      );
    });
  }

  async update<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    callChecks.update(token, object, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const target = this.#item(token, nameOf(object), { verb: 'update', ...timed });
      requireOptions(timed, 'UpdateOptions', 'other');
      const body = jsonOf(typed(token, object, options.subresource));
      const decoded = await runInTurns(decodeBody(target, body, json));
      return this.#written<T>(token, target.context, await updateAt(target, decoded));
    });
  }

  async patch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    ...[patch, options = {}]: PatchArguments
  ): Promise<T> {
    callChecks.patch(token, target, patch, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const { patching } = this.#options;
      if (patching === undefined) throw notImplemented('this client cannot patch: it was made without `patching`');
      const item = this.#item(token, target, { verb: 'patch', ...timed });
      requireOptions(timed, 'PatchOptions', 'other');
      const sent = { type: patch.type, body: jsonOf(patch.body), force: false };
      return this.#written<T>(token, item.context, await patchAt(item, patching, sent));
    });
  }

  async apply<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    callChecks.apply(token, object, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const { patching } = this.#options;
      if (patching === undefined) throw notImplemented('this client cannot apply: it was made without `patching`');
      const item = this.#item(token, nameOf(object), { verb: 'patch', ...timed });
      requireOptions(timed, 'PatchOptions', 'apply');
      const applied = withOwner({ apiVersion: apiVersionOf(token), kind: token.kind, ...object }, timed.owner);
      const sent = { type: 'apply', body: jsonOf(applied), force: timed.force ?? false } as const;
      return this.#written<T>(token, item.context, await patchAt(item, patching, sent));
    });
  }

  async delete<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    callChecks.delete(token, target, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const { signal, timeoutMs: _timeout, dryRun = false, ...request } = timed;
      const { served, context } = this.#item(token, target, { verb: 'delete', dryRun, signal });
      const { stored, deleted } = await served.store.delete(context, target.name, request);
      if (stored === undefined) return undefined;
      const object = this.#written<T>(token, context, { type: 'stored', stored, created: false });
      return deleted && served.definition.returnsDeletedObject !== true ? undefined : object;
    });
  }

  async deleteCollection<T extends KubernetesObject>(
    token: Resource<T>,
    options: ListOptions & DeleteOptions = {},
  ): Promise<void> {
    callChecks.deleteCollection(token, options);
    return await withinTime(this.#clock, options, async (timed) => {
      const {
        gracePeriodSeconds,
        preconditions,
        propagationPolicy,
        dryRun = false,
        signal,
        namespace,
        ...rest
      } = timed;
      const { timeoutMs: _timeout, ...select } = rest;
      const request = { gracePeriodSeconds, preconditions, propagationPolicy };
      const served = this.#find(token);
      const context = this.#context(served, namespace, { dryRun, signal });
      requireCollectionVerb(served, 'deletecollection', context.namespace);
      requireListOptions(select, 'list');
      await served.store.deleteCollection(context, request, select);
    });
  }

  async createSubresource<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    callChecks.createSubresource(token, target, call);
    return await withinTime(this.#clock, call, async (timed) => {
      const { subresource } = target;
      const item = this.#item(token, target, { verb: 'create', subresource, ...timed });
      if (item.part?.type === 'object' && item.part.connect !== undefined) throw leadsElsewhere(item.part.name);
      if (item.part?.type !== 'object') throw methodNotAllowed();
      const answer = await createAt(item, await runInTurns(decodeBody(item, jsonOf(timed.body), json)));
      return answer.type === 'object' ? answer.object : ownCopy(answer.stored.object);
    });
  }

  /** Throws 404 and 405 for calls that HTTP has no path or method for. */
  #item(
    token: Resource,
    target: ObjectTarget,
    { verb, subresource = '', ...options }: { readonly verb: Verb } & WriteOptions & SubresourceOptions,
  ): WriteTarget {
    const served = this.#find(token);
    const { name } = target;
    const context = { ...this.#context(served, target.namespace, options), verb };
    if (served.definition.namespaced && context.namespace === '') throw resourceNotFound();
    if (subresource !== '')
      return { served, name, context, part: requireSubresource(served, { name, subresource }, verb) };
    requireItemVerb(served, verb);
    return { served, name, context, part: undefined };
  }

  #written<T extends KubernetesObject>(token: Resource, context: RequestContext, answer: WriteAnswer): T {
    const object = answer.type === 'stored' ? ownCopy<T>(answer.stored.object) : (answer.object as T);
    const { name = '', namespace = '', resourceVersion } = object.metadata ?? {};
    if (!context.dryRun && resourceVersion !== undefined) {
      this.#options.observer?.observeWrite(token, { namespace, name }, resourceVersion);
    }
    return object;
  }

  #find(token: Resource): ServedResource {
    const served = this.#catalog.find(token.group, token.version, token.plural);
    if (served !== undefined) return served;
    throw resourceNotFound();
  }

  #context(served: ServedResource, namespace: string | undefined, options: WriteOptions): RequestContext {
    return {
      user: this.#user,
      namespace: served.definition.namespaced ? (namespace ?? '') : '',
      dryRun: options.dryRun ?? false,
      fieldManager: options.fieldManager ?? this.#options.fieldManager ?? 'kapstan',
      fieldValidation: options.fieldValidation ?? 'Warn',
      ...intentOf(options),
      signal: options.signal,
      warn: (text) => this.#options.onWarning?.(text),
    };
  }
}

function intentOf({ fieldManager, fieldValidation }: WriteOptions): Pick<RequestContext, 'intent'> {
  if (fieldManager === undefined && fieldValidation === undefined) return {};
  return { intent: { ...(fieldManager && { fieldManager }), ...(fieldValidation && { fieldValidation }) } };
}

const json = { mediaType: 'application/json' } as const;

/** A call in process has no connection that could be passed on to a peer. */
function leadsElsewhere(subresource: string): Error {
  return notImplemented(`the subresource ${subresource} is served over HTTP only`);
}

/**
 * Requires the object's own type, as over HTTP. The body of scale and similar subresources has another kind, which the
 * sender knows.
 */
function typed(token: Resource, object: KubernetesObject, subresource?: string): KubernetesObject {
  const isOwnKind = subresource === undefined || subresource === 'status' || subresource === 'finalize';
  if (!isOwnKind) return object;
  return { ...object, apiVersion: object.apiVersion || apiVersionOf(token), kind: object.kind || token.kind };
}

/**
 * Objects go through the decoder of the HTTP API, so that they are refused, pruned and warned about in the same way.
 */
function jsonOf(value: unknown): Uint8Array {
  return Buffer.from(stringifyJson(value));
}

function nameOf(object: KubernetesObject): ObjectTarget {
  const { name = '', namespace } = object.metadata ?? {};
  return { name, ...(namespace === undefined ? {} : { namespace }) };
}

function requireOptions(options: WriteOptions, kind: WriteKind, patch: 'apply' | 'other'): void {
  const { fieldManager = '', fieldValidation } = options;
  const texts = { fieldManager, fieldValidation: fieldValidation ?? '', dryRun: [], force: undefined };
  requireValidWriteOptions(texts, kind, patch);
}

function withOwner<T extends KubernetesObject>(object: T, owner: ApplyOptions['owner']): T {
  if (owner === undefined) return object;
  const { ownerReferences = [] } = object.metadata ?? {};
  const others = ownerReferences.filter((reference) => reference.uid !== owner.uid);
  return { ...object, metadata: { ...object.metadata, ownerReferences: [...others, owner] } };
}

/** Objects of the store are shared, so a call returns a copy that the caller may change. */
function ownCopy<T extends KubernetesObject>(object: DeepReadonly<UnstructuredObject>): T {
  return deepCopy(object) as unknown as T;
}

// InProcessClient: the ResourceClient port straight on the registry, without HTTP. Its watches are the storage's own
// events: the same shared objects, no copies, no buffers. What single-object calls return is the caller's own.
import {
  type ApplyOptions,
  type CallOptions,
  type Clock,
  type DeepReadonly,
  type DeleteOptions,
  deepCopy,
  type GetOptions,
  type GroupVersionKind,
  type KubernetesObject,
  type ListerWatcher,
  type ListOptions,
  type ListResult,
  newBadRequest,
  newNotFound,
  newNotImplemented,
  type ObjectTarget,
  type Patch,
  type Resource,
  type ResourceClient,
  StatusError,
  type SubresourceOptions,
  stringifyJson,
  systemClock,
  type UnstructuredObject,
  type WriteObserver,
  type WriteOptions,
} from '@kapstan/api';
import { decodeObject } from '../schema/decode-object.ts';
import type { SchemaNode } from '../schema/schema-node.ts';
import type { ResourceCatalog, ServedResource } from './catalog.ts';
import { InProcessListerWatcher } from './in-process-lister-watcher.ts';
import type { RequestContext, UserInfo } from './request-context.ts';
import type { ResourceDefinition, Subresource } from './resource-definition.ts';
import type { Transform, UpdateRequest } from './resource-store.ts';

export interface PatchCall {
  readonly definition: ResourceDefinition<UnstructuredObject>;
  readonly context: RequestContext;
  /** "" = the object itself. */
  readonly subresource: string;
  /** Kind and schema of what is patched: the resource's, or that of an object subresource (Scale). */
  readonly kind: GroupVersionKind;
  readonly schema: SchemaNode;
}

/** How objects are patched and applied: implemented over patch/ and fieldmanager/, which the registry does not know. */
export interface ObjectPatching {
  /** The present object with the patch; changes neither. Throws StatusError. */
  patch(present: UnstructuredObject, patch: Patch, call: PatchCall): UnstructuredObject;
  /** Server-side apply, managed fields included. `present` is undefined when the object is to be created. Throws StatusError. */
  apply(
    present: UnstructuredObject | undefined,
    applied: UnstructuredObject,
    call: PatchCall & { readonly force: boolean },
  ): UnstructuredObject;
}

export interface InProcessClientOptions {
  readonly catalog: ResourceCatalog;
  /** On whose behalf; nothing is authorised here, but admission sees it. Default: system:admin in system:masters. */
  readonly user?: UserInfo;
  /** Manager of fields where a call names none. Default "kapstan". */
  readonly fieldManager?: string;
  /** Absent: patches and applies are refused with 501. */
  readonly patching?: ObjectPatching;
  /** Told of every write. */
  readonly observer?: WriteObserver;
  /** Told of every warning. Default: nobody. */
  readonly onWarning?: (text: string) => void;
  readonly clock?: Clock;
}

const defaultUser: UserInfo = { name: 'system:admin', groups: ['system:masters', 'system:authenticated'] };

/** Reads and writes through the registry: same rules, same errors as over HTTP. All methods reject with `StatusError`. */
export class InProcessClient implements ResourceClient {
  readonly #catalog: ResourceCatalog;
  readonly #options: InProcessClientOptions;
  readonly #clock: Clock;

  constructor(options: InProcessClientOptions) {
    this.#catalog = options.catalog;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
  }

  async get<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: GetOptions & SubresourceOptions = {},
  ): Promise<T> {
    const served = this.#find(token);
    const context = this.#context(token, target.namespace, options);
    const part = subresourceOf(served, options.subresource);
    if (part?.type === 'object') {
      if (part.get === undefined) throw notAllowed();
      return (await part.get(served.store, context, target.name)) as T;
    }
    if (part?.type === 'bytes') throw newNotImplemented(`the subresource ${part.name} is no object`);
    const version = options.resourceVersion === undefined ? {} : { resourceVersion: options.resourceVersion };
    return ownCopy<T>((await served.store.get(context, target.name, version)).object);
  }

  listPage<T extends KubernetesObject>(token: Resource<T>, options: ListOptions = {}): Promise<ListResult<T>> {
    return this.listerWatcher(token).list(options);
  }

  listerWatcher<T extends KubernetesObject>(
    token: Resource<T>,
    scope: { readonly namespace?: string } = {},
  ): ListerWatcher<T> {
    return new InProcessListerWatcher<T>({
      store: () => this.#find(token).store,
      namespace: scope.namespace ?? '',
      contextFor: (namespace, signal) => this.#context(token, namespace, signal === undefined ? {} : { signal }),
      clock: this.#clock,
    });
  }

  async create<T extends KubernetesObject>(token: Resource<T>, object: T, options: WriteOptions = {}): Promise<T> {
    const served = this.#find(token);
    const context = this.#context(token, object.metadata?.namespace, options);
    const body = decoded(object, { served, context, part: undefined });
    served.definition.applyDefaults(body);
    return this.#written<T>(token, context, (await served.store.create(context, body)).object);
  }

  async update<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: WriteOptions & SubresourceOptions = {},
  ): Promise<T> {
    const served = this.#find(token);
    const { name = '', namespace, uid } = object.metadata ?? {};
    if (name === '') throw newBadRequest('name must be provided');
    const context = this.#context(token, namespace, options);
    const part = subresourceOf(served, options.subresource);
    const body = decoded(object, { served, context, part });
    if (part?.type === 'object') {
      const change = async (): Promise<UnstructuredObject> => deepCopy(body);
      return this.#updatePart<T>(token, { served, context, part, name }, change);
    }
    served.definition.applyDefaults(body);
    const preconditions = uid === undefined || uid === '' ? {} : { preconditions: { uid } };
    return this.#update<T>(
      token,
      { served, context, part, name },
      { transform: () => deepCopy(body), ...preconditions },
    );
  }

  async patch<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    patch: Patch & SubresourceOptions & WriteOptions,
  ): Promise<T> {
    const { patching } = this.#options;
    if (patching === undefined) throw newNotImplemented('this client cannot patch: it was made without `patching`');
    const call = this.#call(token, target, patch);
    const change = (present: UnstructuredObject): UnstructuredObject => patching.patch(present, patch, patchCall(call));
    if (call.part?.type === 'object') {
      return this.#updatePart<T>(token, { ...call, part: call.part }, async (present) => change(present));
    }
    const transform: Transform<UnstructuredObject> = (present) => {
      if (present === undefined) throw newNotFound(call.served.definition, target.name);
      const next = change(present);
      call.served.definition.applyDefaults(next);
      return next;
    };
    return this.#update<T>(token, call, { transform });
  }

  async apply<T extends KubernetesObject>(
    token: Resource<T>,
    object: T,
    options: ApplyOptions & SubresourceOptions,
  ): Promise<T> {
    const { patching } = this.#options;
    if (patching === undefined) throw newNotImplemented('this client cannot apply: it was made without `patching`');
    const { name = '', namespace } = object.metadata ?? {};
    if (name === '') throw newBadRequest('name must be provided');
    const call = this.#call(token, { name, ...(namespace === undefined ? {} : { namespace }) }, options);
    if (call.part?.type === 'object')
      throw newNotImplemented(`apply to the subresource ${call.part.name} is not built`);
    const applied = withOwner(deepCopy(object) as unknown as UnstructuredObject, options.owner);
    const force = options.force ?? false;
    const transform: Transform<UnstructuredObject> = (present) => {
      const next = patching.apply(present, applied, { ...patchCall(call), force });
      call.served.definition.applyDefaults(next);
      return next;
    };
    const forceAllowCreate = call.part === undefined;
    return this.#update<T>(token, call, { transform, forceAllowCreate, managedFields: 'given' });
  }

  async delete<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget,
    options: DeleteOptions = {},
  ): Promise<T | undefined> {
    const served = this.#find(token);
    const { signal, timeoutMs: _timeout, dryRun = false, ...request } = options;
    const context = this.#context(token, target.namespace, { dryRun, ...(signal === undefined ? {} : { signal }) });
    const { stored, deleted } = await served.store.delete(context, target.name, request);
    const object = this.#written<T>(token, context, stored.object);
    return deleted && served.definition.returnsDeletedObject !== true ? undefined : object;
  }

  async deleteCollection<T extends KubernetesObject>(
    token: Resource<T>,
    options: ListOptions & DeleteOptions = {},
  ): Promise<void> {
    const {
      gracePeriodSeconds,
      preconditions,
      propagationPolicy,
      dryRun = false,
      signal,
      namespace,
      ...rest
    } = options;
    const { timeoutMs: _timeout, ...select } = rest;
    const request = {
      ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
      ...(preconditions === undefined ? {} : { preconditions }),
      ...(propagationPolicy === undefined ? {} : { propagationPolicy }),
    };
    const context = this.#context(token, namespace, { dryRun, ...(signal === undefined ? {} : { signal }) });
    await this.#find(token).store.deleteCollection(context, request, select);
  }

  async createSubresource<T extends KubernetesObject>(
    token: Resource<T>,
    target: ObjectTarget & { readonly subresource: string },
    call: { readonly body: KubernetesObject } & CallOptions,
  ): Promise<KubernetesObject> {
    const served = this.#find(token);
    const part = subresourceOf(served, target.subresource);
    if (part?.type !== 'object' || part.create === undefined) throw notAllowed();
    const context = this.#context(token, target.namespace, call);
    const body = deepCopy(call.body) as UnstructuredObject;
    return part.create(served.store, context, { name: target.name, body });
  }

  #call(token: Resource, target: ObjectTarget, options: WriteOptions & SubresourceOptions): WriteCall {
    const served = this.#find(token);
    const part = subresourceOf(served, options.subresource);
    return { served, part, name: target.name, context: this.#context(token, target.namespace, options) };
  }

  async #update<T extends KubernetesObject>(
    token: Resource<T>,
    { served, context, part, name }: WriteCall,
    request: Omit<UpdateRequest<UnstructuredObject>, 'name' | 'strategy' | 'subresource'>,
  ): Promise<T> {
    const endpoint = part?.type === 'strategy' ? { strategy: part.strategy, subresource: part.name } : {};
    const { stored } = await served.store.update(context, { name, ...request, ...endpoint });
    return this.#written<T>(token, context, stored.object);
  }

  async #updatePart<T extends KubernetesObject>(
    token: Resource<T>,
    {
      served,
      context,
      part,
      name,
    }: WriteCall & { readonly part: Subresource<UnstructuredObject> & { type: 'object' } },
    change: (present: UnstructuredObject) => Promise<UnstructuredObject>,
  ): Promise<T> {
    if (part.update === undefined) throw notAllowed();
    const answer = await part.update(served.store, context, { name, change });
    this.#observe(token, context, answer);
    return answer as T;
  }

  #written<T extends KubernetesObject>(
    token: Resource<T>,
    context: RequestContext,
    object: DeepReadonly<UnstructuredObject>,
  ): T {
    this.#observe(token, context, object);
    return ownCopy<T>(object);
  }

  #observe(token: Resource, context: RequestContext, object: DeepReadonly<KubernetesObject>): void {
    const { name = '', namespace = '', resourceVersion } = object.metadata ?? {};
    if (context.dryRun || resourceVersion === undefined) return;
    this.#options.observer?.observeWrite(token, { namespace, name }, resourceVersion);
  }

  #find(token: Resource): ServedResource {
    const served = this.#catalog.find(token.group, token.version, token.plural);
    if (served !== undefined) return served;
    const message = 'the server could not find the requested resource';
    throw new StatusError({ code: 404, reason: 'NotFound', message, details: {} });
  }

  #context(token: Resource, namespace: string | undefined, options: WriteOptions): RequestContext {
    return {
      user: this.#options.user ?? defaultUser,
      namespace: token.scope === 'Namespaced' ? (namespace ?? '') : '',
      dryRun: options.dryRun ?? false,
      fieldManager: options.fieldManager ?? this.#options.fieldManager ?? 'kapstan',
      fieldValidation: options.fieldValidation ?? 'Warn',
      ...(options.signal === undefined ? {} : { signal: options.signal }),
      warn: (text) => this.#options.onWarning?.(text),
    };
  }
}

/** One write: on what, as whom. */
interface WriteCall {
  readonly served: ServedResource;
  readonly context: RequestContext;
  readonly part: Subresource<UnstructuredObject> | undefined;
  readonly name: string;
}

function subresourceOf(served: ServedResource, name: string | undefined): Subresource<UnstructuredObject> | undefined {
  if (name === undefined || name === '') return undefined;
  const found = served.definition.subresources.find((candidate) => candidate.name === name);
  if (found !== undefined) return found;
  const message = 'the server could not find the requested resource';
  throw new StatusError({ code: 404, reason: 'NotFound', message, details: {} });
}

/** What is written goes through the decoder of the HTTP API, so that it is refused, pruned and warned about alike. */
function decoded(object: KubernetesObject, call: Omit<WriteCall, 'name'>): UnstructuredObject {
  const { kind, schema } = targetOf(call);
  return decodeObject(Buffer.from(stringifyJson(object)), {
    mediaType: 'application/json',
    schema,
    gvk: kind,
    fieldValidation: call.context.fieldValidation,
    warn: (text) => call.context.warn(text),
  });
}

function targetOf({ served, part }: Pick<WriteCall, 'served' | 'part'>): Pick<PatchCall, 'kind' | 'schema'> {
  const { group, version, kind, schema } = served.definition;
  if (part?.type !== 'object') return { kind: { group, version, kind }, schema };
  return { kind: part.kind, schema: part.schema ?? { preserveUnknownFields: true } };
}

function patchCall(call: WriteCall): PatchCall {
  const { served, context, part } = call;
  return { definition: served.definition, context, subresource: part?.name ?? '', ...targetOf(call) };
}

function withOwner(object: UnstructuredObject, owner: ApplyOptions['owner']): UnstructuredObject {
  if (owner === undefined) return object;
  const { ownerReferences = [] } = object.metadata ?? {};
  const others = ownerReferences.filter((reference) => reference.uid !== owner.uid);
  object.metadata = { ...object.metadata, ownerReferences: [...others, owner] };
  return object;
}

/** Objects of the store are shared; what a call returns is the caller's to change. */
function ownCopy<T extends KubernetesObject>(object: DeepReadonly<UnstructuredObject>): T {
  return deepCopy(object) as unknown as T;
}

function notAllowed(): StatusError {
  const message = 'the server does not allow this method on the requested resource';
  return new StatusError({ code: 405, reason: 'MethodNotAllowed', message, details: {} });
}

// GenericStore implements the verbs of one resource over a Storage with the strategy of its kind, like registry.Store
// of the Go library. The flows are in create-flow.ts, update-flow.ts and delete-flow.ts; http/ and the in-process
// client call it.
import { randomUUID } from 'node:crypto';
import {
  type Clock,
  type DeepReadonly,
  type KubernetesObject,
  systemClock,
  type UnstructuredObject,
} from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import type { CallSignal } from '@kapstan/api/internal';
import {
  DryRunStorage,
  normalizePrefix,
  type Storage,
  type StorageWatch,
  type StorageWatchSink,
  type Stored,
  type StoredList,
} from '@kapstan/storage';
import { requireComplete } from '../definition/complete-definition.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import type {
  DeleteAnswer,
  DeleteRequest,
  ResourceStore,
  SelectRequest,
  SentPart,
  UpdateAnswer,
  UpdateRequest,
  WatchRequest,
} from '../definition/resource-store.ts';
import type { AdmissionControl } from './admission-control.ts';
import { AnsweringSink } from './answering-sink.ts';
import { CreateFlow } from './create-flow.ts';
import { Decorator } from './decorator.ts';
import { deleteCollection } from './delete-collection.ts';
import { DeleteFlow } from './delete-flow.ts';
import { objectKeyOf } from './key-functions.ts';
import type { LargeValidation } from './large-validation.ts';
import type { ManagedFieldsTracker } from './managed-fields-tracker.ts';
import { createPrepared } from './prepared-create.ts';
import { selectionKeys, selectionPredicate } from './selection.ts';
import { admissionAttributes, type StoreParts, signalOf, storageStatus, validatorOf } from './store-parts.ts';
import { UpdateFlow } from './update-flow.ts';

/** Parts that requests pass through besides the store. All resources of a server share them. */
export interface StoreHooks {
  /** Absent = every object is admitted as it is. */
  readonly admission?: AdmissionControl | undefined;
  /** Validates large objects. Absent = they are validated in the turn of the request, however long that takes. */
  readonly largeValidation?: LargeValidation | undefined;
  /** Absent = metadata.managedFields of stored objects are not changed. */
  readonly managedFields?: ManagedFieldsTracker | undefined;
  /** Source of timestamps. Default {@link systemClock}. */
  readonly clock?: Clock | undefined;
  /** Random numbers in [0, 1), for generated names. Default Math.random. */
  readonly random?: (() => number) | undefined;
  /** Makes uids. Default: version 4 UUIDs. */
  readonly newUid?: (() => string) | undefined;
  /** True = Orphan and Foreground leave a finalizer for the collector (`--enable-garbage-collector`). Default true. */
  readonly collectsGarbage?: boolean | undefined;
  /** Concurrent deletions of a deletecollection (`--delete-collection-workers`). Below 1 counts as 1. Default 1. */
  readonly deleteCollectionWorkers?: number | undefined;
}

export interface GenericStoreOptions<T extends KubernetesObject> extends StoreHooks {
  readonly definition: ResourceDefinition<T>;
  /** Holds objects in the definition's version. The store does not close it; its owner does. */
  readonly storage: Storage<T>;
  /** Prefix of all keys. Default "/registry". */
  readonly keyPrefix?: string | undefined;
}

/** The verbs of one resource. Its only state is the storage, which several stores may share. */
export class GenericStore<T extends KubernetesObject = UnstructuredObject> implements ResourceStore<T> {
  readonly #parts: StoreParts<T>;
  readonly #decorator: Decorator<T>;

  /** Throws TypeError when the definition is incomplete. */
  constructor(options: GenericStoreOptions<T>) {
    const { definition, storage, keyPrefix = '/registry' } = options;
    requireComplete(definition);
    this.#decorator = new Decorator(definition.decorate?.bind(definition));
    this.#parts = {
      definition,
      resource: { group: definition.group, resource: definition.resource },
      keys: {
        root: normalizePrefix(`${keyPrefix}/${definition.storagePrefix}`).slice(0, -1),
        namespaced: definition.namespaced,
      },
      storage,
      dryRunStorage: new DryRunStorage(storage, { keyPrefix: normalizePrefix(keyPrefix).slice(0, -1) }),
      clock: options.clock ?? systemClock,
      random: options.random ?? Math.random,
      newUid: options.newUid ?? randomUUID,
      admission: options.admission,
      largeValidation: options.largeValidation,
      managedFields: options.managedFields,
      collectsGarbage: options.collectsGarbage ?? true,
      deleteCollectionWorkers: Math.max(1, options.deleteCollectionWorkers ?? 1),
      store: this,
    };
  }

  async create(context: RequestContext, object: T): Promise<Stored<T>> {
    return this.#decorator.of(await new CreateFlow(this.#parts, context, { object }).run());
  }

  async createPrepared(prepared: DeepReadonly<T>): Promise<Stored<T>> {
    return this.#decorator.of(await createPrepared(this.#parts, prepared));
  }

  async get(
    context: RequestContext,
    name: string,
    options: { readonly resourceVersion?: string | undefined } = {},
  ): Promise<Stored<T>> {
    const stored = await this.#read(context, name, options);
    if (stored === undefined) throw notFound(this.#parts.resource, name);
    return this.#decorator.of(stored);
  }

  async find(
    context: RequestContext,
    name: string,
    options: { readonly resourceVersion?: string | undefined } = {},
  ): Promise<Stored<T> | undefined> {
    const stored = await this.#read(context, name, options);
    return stored && this.#decorator.of(stored);
  }

  async #read(
    context: RequestContext,
    name: string,
    options: { readonly resourceVersion?: string | undefined },
  ): Promise<Stored<T> | undefined> {
    const key = objectKeyOf(this.#parts.keys, context.namespace, name);
    try {
      return await this.#parts.storage.get(key, { ...options, ...signalOf(context) });
    } catch (error) {
      throw storageStatus(this.#parts, error, { verb: 'get', name });
    }
  }

  async list(context: RequestContext, request: SelectRequest): Promise<StoredList<T>> {
    const predicate = selectionPredicate(this.#parts.definition, request);
    const { key, recursive } = selectionKeys(this.#parts.keys, context.namespace, predicate);
    const { resourceVersion = '', resourceVersionMatch } = request;
    const options = { resourceVersion, resourceVersionMatch, predicate, recursive, ...signalOf(context) };
    let list: StoredList<T>;
    try {
      list = await this.#parts.storage.getList(key, options);
    } catch (error) {
      throw storageStatus(this.#parts, error, { verb: 'list', name: '' });
    }
    const items = await this.#decorator.ofAll(list.items);
    return items === list.items ? list : { ...list, items };
  }

  /** Starts a watch. Throws StatusError for an invalid selection; later errors come through `sink.onEnd`. */
  watch(context: RequestContext, request: WatchRequest, sink: StorageWatchSink<T>): StorageWatch {
    const predicate = selectionPredicate(this.#parts.definition, request);
    const { key, recursive } = selectionKeys(this.#parts.keys, context.namespace, predicate);
    const { resourceVersion = '', sendInitialEvents, marksInitialEventsEnd = false, deadlineMs } = request;
    const options = {
      resourceVersion,
      predicate,
      recursive,
      marksInitialEventsEnd,
      sendInitialEvents,
      deadlineMs,
      auditId: context.auditId,
      span: context.span?.recorded,
    };
    try {
      const watch = this.#parts.storage.watch(key, options, new AnsweringSink(sink, this.#parts, this.#decorator));
      return endedBy(watch, context.signal);
    } catch (error) {
      throw storageStatus(this.#parts, error, { verb: 'watch', name: '' });
    }
  }

  async update(context: RequestContext, request: UpdateRequest<T>): Promise<UpdateAnswer<T>> {
    const { stored, created } = await new UpdateFlow(this.#parts, context, request).run();
    return { stored: this.#decorator.of(stored), created };
  }

  async admitPart(context: RequestContext, { kind, object, oldObject, phase, ...part }: SentPart): Promise<void> {
    const { admission } = this.#parts;
    if (admission === undefined) return;
    const old = oldObject as unknown as DeepReadonly<T> | undefined;
    const call = { ...part, oldObject: old, context, object: object as unknown as T };
    const attributes = { ...admissionAttributes(this.#parts, call), kind };
    if (phase !== 'validate') await admission.admit(attributes);
    if (phase !== 'admit') await validatorOf(this.#parts)?.validate(attributes);
  }

  async delete(context: RequestContext, name: string, request: DeleteRequest): Promise<DeleteAnswer<T>> {
    const answer = await new DeleteFlow(this.#parts, context, { name, request }).run();
    return answer.stored === undefined ? answer : { ...answer, stored: this.#decorator.of(answer.stored) };
  }

  deleteCollection(context: RequestContext, request: DeleteRequest, select: SelectRequest): Promise<StoredList<T>> {
    return deleteCollection(this, context, { request, select, workers: this.#parts.deleteCollectionWorkers });
  }
}

/** Closes the watch when the request is cancelled. */
function endedBy(watch: StorageWatch, signal: CallSignal | undefined): StorageWatch {
  if (signal === undefined) return watch;
  const close = (): void => {
    signal.removeEventListener('abort', close);
    watch.close();
  };
  if (signal.aborted) watch.close();
  else signal.addEventListener('abort', close, { once: true });
  return { close, begun: watch.begun };
}

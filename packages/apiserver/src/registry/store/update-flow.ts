// UpdateFlow handles PUT, PATCH, apply and status alike, in one compare-and-set loop. Called by generic-store.ts.
// Source: apiserver registry/generic/registry/store.go (Update).

import {
  type DeepReadonly,
  deepCopy,
  isNotFound,
  type KubernetesObject,
  type ObjectMeta,
  type Revision,
  type UnstructuredObject,
} from '@kapstan/api';
import { conflict, invalid, invalidField, notFound } from '@kapstan/api/errors';
import {
  copyInSlices,
  formatRevision,
  type ManagedFieldsEntry,
  type Preconditions,
  type SlicedWork,
} from '@kapstan/api/internal';
import { checkPreconditions, type ResponseMeta, runInTurns, Stored, type UpdateResult } from '@kapstan/storage';
import type { RequestContext } from '../definition/request-context.ts';
import type { FinishReservation, ResourceDefinition } from '../definition/resource-definition.ts';
import type { TrackFields, UpdateAnswer, UpdateRequest } from '../definition/resource-store.ts';
import type { ResourceStrategy } from '../definition/strategy.ts';
import { jsonEqualInSlices, membersEqual } from '../meta/json-equality.ts';
import { dropEmptyMetadata, ensureNamespace, keepSystemMetadata, metaOf } from '../meta/object-meta.ts';
import { CreateFlow, requestNamespace } from './create-flow.ts';
import { objectKeyOf } from './key-functions.ts';
import { type FieldsCall, partDefinition } from './managed-fields-tracker.ts';
import {
  admissionAttributes,
  afterAdmission,
  dedupeOwners,
  requireValid,
  type StoreParts,
  sentRevision,
  signalOf,
  storageFor,
  storageStatus,
  ttlOf,
  validatorOf,
} from './store-parts.ts';

/** Text of the 409 for a stale resourceVersion. Source: registry.OptimisticLockErrorMsg. */
const optimisticLockText =
  'the object has been modified; please apply your changes to the latest version and try again';

/**
 * Thrown when the last finalizer of an object that is being deleted was removed: the object is deleted instead of
 * written.
 */
class EmptiedFinalizers<T extends KubernetesObject> extends Error {
  readonly object: T;
  readonly revision: Revision;

  constructor(object: T, revision: Revision) {
    super('delete instead of update');
    this.object = object;
    this.revision = revision;
  }
}

/** One update with all attempts of its compare-and-set loop. */
export class UpdateFlow<T extends KubernetesObject> {
  readonly #parts: StoreParts<T>;
  readonly #context: RequestContext;
  readonly #request: UpdateRequest<T>;
  readonly #strategy: ResourceStrategy<T>;
  readonly #subresource: string;
  readonly #key: string;
  #created = false;
  #finish: FinishReservation | undefined;
  /** Functions of validating admission that are called when the write of this attempt has ended. */
  #finishers: FinishReservation[] = [];

  constructor(parts: StoreParts<T>, context: RequestContext, request: UpdateRequest<T>) {
    this.#parts = parts;
    this.#context = context;
    this.#request = request;
    this.#strategy = request.strategy ?? parts.definition.strategy;
    this.#subresource = request.subresource ?? '';
    this.#key = objectKeyOf(parts.keys, context.namespace, request.name);
  }

  async run(): Promise<UpdateAnswer<T>> {
    let committed = false;
    try {
      const stored = await storageFor(this.#parts, this.#context).guaranteedUpdate(
        this.#key,
        (existing, meta) => this.#attempt(existing, meta),
        {
          ignoreNotFound: this.#mayCreate,
          preconditions: this.#request.preconditions,
          ...signalOf(this.#context),
        },
      );
      committed = !this.#context.dryRun;
      return { stored, created: this.#created };
    } catch (error) {
      if (error instanceof EmptiedFinalizers) {
        const answer = await this.#deleteInstead(error);
        committed = !this.#context.dryRun;
        return answer;
      }
      throw storageStatus(this.#parts, error, { verb: this.#created ? 'create' : 'update', name: this.#request.name });
    } finally {
      await this.#finishAttempt(committed);
    }
  }

  async #finishAttempt(committed: boolean): Promise<void> {
    const [finish, finishers] = [this.#finish, this.#finishers];
    this.#finish = undefined;
    this.#finishers = [];
    await finish?.(committed);
    for (const tell of finishers) await tell(committed);
  }

  get #mayCreate(): boolean {
    return this.#strategy.allowCreateOnUpdate || this.#request.forceAllowCreate === true;
  }

  async #attempt(existing: T | undefined, response: ResponseMeta): Promise<UpdateResult<T>> {
    await this.#finishAttempt(false);
    this.#created = false;
    if (existing === undefined) {
      if (!this.#mayCreate) throw notFound(this.#parts.resource, this.#request.name);
      // A missing object has neither uid nor version. Source: etcd3, which checks its zero object.
      checkPreconditions(this.#key, this.#request.preconditions, {});
      this.#created = true;
      return this.#createInstead();
    }
    const old = existing as DeepReadonly<T>;
    const isLarge = response.isLarge === true || this.#context.nextTurn !== undefined;
    const copy = isLarge ? await runInTurns(copyInSlices(existing), this.#context.signal) : deepCopy(existing);
    const next = await this.#request.transform(copy as T, this.#trackPart);
    metaOf(next).name ??= this.#request.name;
    await this.#context.nextTurn?.();
    await this.#admit(next, old);
    await this.#context.nextTurn?.();
    this.#takeVersion(next, response.revision);
    this.#finish = await this.#reserve(next, old);
    const preparing = this.#prepare(next, old, isLarge);
    if (preparing !== undefined) await preparing;
    const storing = isLarge ? this.#strategy.canonicalizeInSlices?.(next) : undefined;
    if (storing === undefined) this.#strategy.canonicalize?.(next);
    else await runInTurns(storing, this.#context.signal);
    await this.#context.nextTurn?.();
    const isKept = isLarge
      ? await runInTurns(timesOnlyInSlices(next, existing), this.#context.signal)
      : changesOnlyTimes(next, existing);
    if (isKept) metaOf(next).managedFields = await this.#entriesOf(existing, isLarge);
    await this.#validate(next, old);
    if (this.#emptiesFinalizers(next, old)) throw new EmptiedFinalizers(next, response.revision);
    return { object: next, isLarge, ...ttlOf(this.#strategy.ttlSeconds?.(next as DeepReadonly<T>, true)) };
  }

  #entriesOf(existing: T, isLarge: boolean): ManagedFieldsEntry[] | Promise<ManagedFieldsEntry[]> {
    const { managedFields = [] } = metaOf(existing);
    return isLarge ? runInTurns(copyInSlices(managedFields)) : deepCopy(managedFields);
  }

  /** Updates of a subresource reserve nothing. Source: the status stores, which have no BeginUpdate. */
  async #reserve(next: T, old: DeepReadonly<T>): Promise<FinishReservation | undefined> {
    if (this.#subresource !== '') return undefined;
    return this.#parts.definition.allocation?.update(this.#parts.store, this.#context, { next, old });
  }

  /** Tracks fields, then runs mutating admission, like the transformers of the handlers. */
  async #admit(next: T, old: DeepReadonly<T>): Promise<void> {
    const { managedFields, admission } = this.#parts;
    if (this.#request.managedFields !== 'given') {
      if (managedFields === undefined) await runInTurns(keepManagedFields(metaOf(next), old.metadata));
      else {
        const tracking = managedFields.onUpdate(next, old, this.#fieldsCall);
        if (tracking !== undefined) await tracking;
      }
    }
    if (admission !== undefined && this.#request.isAdmitted !== true) {
      const entries = next.metadata?.managedFields;
      await admission.admit(this.#attributes(next, old));
      const checking = managedFields?.afterAdmission(next, entries, this.#context);
      if (checking !== undefined) await checking;
    }
    dedupeOwners(next, this.#context, afterAdmission);
    await this.#context.whenAdmitted?.(
      next as DeepReadonly<UnstructuredObject>,
      old as DeepReadonly<UnstructuredObject>,
    );
  }

  get #fieldsCall(): FieldsCall {
    const definition = this.#parts.definition as unknown as ResourceDefinition;
    return { context: this.#context, definition, subresource: this.#subresource };
  }

  get #trackPart(): TrackFields | undefined {
    const { managedFields } = this.#parts;
    if (managedFields === undefined) return undefined;
    const call = this.#fieldsCall;
    return (next, old, part) =>
      managedFields.onUpdate(next, old, { ...call, definition: partDefinition(call.definition, part) });
  }

  async #validate(next: T, old: DeepReadonly<T>): Promise<void> {
    if (this.#request.isAdmitted === true) await this.#request.validateAdmitted?.(next as DeepReadonly<T>, old);
    else await validatorOf(this.#parts)?.validate(this.#attributes(next, old));
  }

  #attributes(object: T, oldObject: DeepReadonly<T>): ReturnType<typeof admissionAttributes> {
    const { name } = this.#request;
    const call = { context: this.#context, operation: 'UPDATE', subresource: this.#subresource, name } as const;
    return admissionAttributes(this.#parts, { ...call, object, oldObject, finishers: this.#finishers });
  }

  /**
   * Sets the version that is updated: the object's, or the present one if the kind allows updates without a version.
   */
  #takeVersion(next: T, present: Revision): void {
    const { resource } = this.#parts;
    const { name } = this.#request;
    const sent = sentRevision(next);
    if (sent === 0 && !this.#strategy.allowUnconditionalUpdate) {
      const error = invalidField('metadata.resourceVersion', 0, 'must be specified for an update');
      throw invalid({ group: resource.group, kind: resource.resource }, name, [error]);
    }
    if (sent !== 0 && sent !== present) throw conflict(resource, name, optimisticLockText);
    metaOf(next).resourceVersion = formatRevision(present);
  }

  /**
   * Prepares and validates the object. Returns undefined if the object turns out valid at once. Source:
   * rest.BeforeUpdate.
   */
  #prepare(next: T, old: DeepReadonly<T>, isLarge: boolean): Promise<void> | undefined {
    const oldMeta = old.metadata ?? {};
    ensureNamespace(metaOf(next), requestNamespace(this.#parts, this.#context));
    keepSystemMetadata(metaOf(next), oldMeta);
    const slices = isLarge ? this.#strategy.prepareForUpdateInSlices?.(next, old, this.#context) : undefined;
    if (slices !== undefined) return this.#prepareLarge(next, old, slices);
    this.#strategy.prepareForUpdate(next, old, this.#context);
    return this.#requireValid(next, old, isLarge);
  }

  async #prepareLarge(next: T, old: DeepReadonly<T>, slices: SlicedWork<void>): Promise<void> {
    await runInTurns(slices, this.#context.signal);
    await this.#requireValid(next, old, true);
  }

  #requireValid(next: T, old: DeepReadonly<T>, isLarge: boolean): Promise<void> | undefined {
    dropEmptyMetadata(metaOf(next));
    const call = { strategy: this.#strategy, context: this.#context, object: next as DeepReadonly<T>, old, isLarge };
    return requireValid(this.#parts, call, this.#subresource);
  }

  /** Source: registry.ShouldDeleteDuringUpdate. */
  #emptiesFinalizers(next: T, old: DeepReadonly<T>): boolean {
    const oldMeta = old.metadata ?? {};
    if (oldMeta.deletionTimestamp === undefined || (oldMeta.deletionGracePeriodSeconds ?? 0) !== 0) return false;
    if ((next.metadata?.finalizers ?? []).length > 0) return false;
    return this.#parts.definition.strategy.holdsDeletion?.(next as DeepReadonly<T>) !== true;
  }

  /**
   * Deletes the object without admission and answers with the object of the request. If it is gone already, that is a
   * success.
   */
  async #deleteInstead({ object, revision }: EmptiedFinalizers<T>): Promise<UpdateAnswer<T>> {
    const uid = object.metadata?.uid;
    const preconditions: Preconditions = { ...(uid === undefined ? {} : { uid }), ...this.#request.preconditions };
    try {
      const options = { preconditions, ...signalOf(this.#context) };
      await storageFor(this.#parts, this.#context).delete(this.#key, options);
    } catch (error) {
      const status = storageStatus(this.#parts, error, { verb: 'delete', name: this.#request.name });
      if (!isNotFound(status)) throw status;
    }
    const view = object as DeepReadonly<T>;
    if (!this.#context.dryRun) await this.#parts.definition.allocation?.release(view);
    return { stored: new Stored<T>(this.#key, revision, view), created: false };
  }

  async #createInstead(): Promise<UpdateResult<T>> {
    const object = await this.#request.transform(undefined, this.#trackPart);
    metaOf(object).name ??= this.#request.name;
    const managedFields = this.#request.managedFields ?? 'tracked';
    const create = new CreateFlow(this.#parts, this.#context, {
      object,
      subresource: this.#subresource,
      managedFields,
    });
    await create.admit();
    sentRevision(object);
    this.#finish = await create.reserve(object);
    try {
      await create.prepare(object);
    } finally {
      this.#finishers.push(...create.takeFinishers());
    }
    // Validating admission sees the object as the writer sent it.
    delete metaOf(object).resourceVersion;
    const isLarge = this.#context.nextTurn !== undefined;
    return {
      object,
      isLarge,
      ...ttlOf(this.#parts.definition.strategy.ttlSeconds?.(object as DeepReadonly<T>, false)),
    };
  }
}

/** Without a tracker, an update by a client neither sets nor drops managed fields. */
function* keepManagedFields(meta: ObjectMeta, old: DeepReadonly<ObjectMeta> | undefined): SlicedWork<void> {
  if (old?.managedFields === undefined) delete meta.managedFields;
  else meta.managedFields = (yield* copyInSlices(old.managedFields)) as ManagedFieldsEntry[];
}

/**
 * True when only times in the managed fields differ, which does not count as a change. Source:
 * IgnoreManagedFieldsTimestampsTransformer.
 */
function changesOnlyTimes<T extends KubernetesObject>(next: T, existing: T): boolean {
  const [nextMeta, meta] = [next.metadata ?? {}, existing.metadata ?? {}];
  const { managedFields: nextEntries = [] } = nextMeta;
  const { managedFields: entries = [] } = meta;
  if (nextEntries.length === 0 || nextEntries.length !== entries.length) return false;
  return (
    membersEqual(next as Members, existing as Members, 'metadata') &&
    membersEqual(nextMeta as Members, meta as Members, 'managedFields') &&
    nextEntries.every((entry, index) => membersEqual(entry as Members, entries[index] as Members, 'time'))
  );
}

/** Does what {@link changesOnlyTimes} does, for objects of any size. */
function* timesOnlyInSlices<T extends KubernetesObject>(next: T, existing: T): SlicedWork<boolean> {
  const [{ managedFields: nextEntries = [], ...nextMeta }, { managedFields: entries = [], ...meta }] = [
    next.metadata ?? {},
    existing.metadata ?? {},
  ];
  if (nextEntries.length === 0 || nextEntries.length !== entries.length) return false;
  if (!(yield* jsonEqualInSlices({ ...next, metadata: nextMeta }, { ...existing, metadata: meta }))) return false;
  for (const [index, { time: _, ...entry }] of nextEntries.entries()) {
    const { time: __, ...was } = entries[index] ?? {};
    if (!(yield* jsonEqualInSlices(entry, was))) return false;
  }
  return true;
}

type Members = Readonly<Record<string, unknown>>;

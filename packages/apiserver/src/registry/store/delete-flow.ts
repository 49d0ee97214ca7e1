// DeleteFlow removes an object gracefully, after its finalizers, or at once. Called by generic-store.ts. Source:
// apiserver registry/generic/registry/store.go (Delete).

import { type DeepReadonly, formatTime, isNotFound, type KubernetesObject } from '@kapstan/api';
import { conflict, notFound } from '@kapstan/api/errors';
import { copyInSlices, type Preconditions } from '@kapstan/api/internal';
import { runInTurns, type Stored } from '@kapstan/storage';
import type { RequestContext } from '../definition/request-context.ts';
import type { DeleteAnswer, DeleteRequest } from '../definition/resource-store.ts';
import { metaOf } from '../meta/object-meta.ts';
import { beforeDelete, type GraceDecision, markAsDeleting } from './before-delete.ts';
import { finalizersForDeletion, requireValidDeleteRequest } from './delete-request.ts';
import { objectKeyOf } from './key-functions.ts';
import {
  admissionAttributes,
  type StoreParts,
  signalOf,
  storageFor,
  storageStatus,
  validatorOf,
} from './store-parts.ts';

export interface DeleteCall {
  readonly name: string;
  readonly request: DeleteRequest;
}

type NextStep = 'delete' | 'pending' | 'again';

/** Thrown out of the storage's update loop when the live object needs another action than the loop's update. */
class LeaveLoop extends Error {
  readonly next: NextStep;

  constructor(next: NextStep) {
    super(next);
    this.next = next;
  }
}

/** One deletion from its first read to its answer. */
export class DeleteFlow<T extends KubernetesObject> {
  readonly #parts: StoreParts<T>;
  readonly #context: RequestContext;
  readonly #name: string;
  readonly #request: DeleteRequest;
  /** Grace that the kind decided on when the deletion began. */
  #graceSeconds: number | undefined;
  readonly #key: string;

  constructor(parts: StoreParts<T>, context: RequestContext, call: DeleteCall) {
    this.#parts = parts;
    this.#context = context;
    this.#name = call.name;
    this.#request = call.request;
    this.#key = objectKeyOf(parts.keys, context.namespace, call.name);
  }

  async run(): Promise<DeleteAnswer<T>> {
    requireValidDeleteRequest(this.#request);
    const { orphanDependents, propagationPolicy } = this.#request;
    const warning = this.#parts.definition.strategy.deletionWarning;
    if (warning !== undefined && orphanDependents === undefined && propagationPolicy === undefined)
      this.#context.warn(warning);
    if (this.#request.ignoreStoreReadErrorWithClusterBreakingPotential === true) return this.#removeUnreadable();
    for (;;) {
      try {
        return await this.#attempt();
      } catch (error) {
        if (!isAgain(error)) throw error;
      }
    }
  }

  async #attempt(): Promise<DeleteAnswer<T>> {
    const stored = await this.#read();
    const { strategy } = this.#parts.definition;
    if (strategy.holdsDeletion?.(stored.object) === true) return this.#hold(stored);
    const object = (await runInTurns(copyInSlices(stored.object), this.#context.signal)) as T;
    const decision = this.#decide(object);
    if (decision.type === 'pending') return { stored, deleted: false };
    const isImmediate =
      decision.type === 'now' && !this.#hasFinalizers(stored.object) && !this.#changesFinalizers(object);
    if (isImmediate) return this.#remove(this.#request.preconditions, undefined);
    return this.#begin(stored);
  }

  async #read(): Promise<Stored<T>> {
    const failed = (error: unknown): never => {
      throw storageStatus(this.#parts, error, { verb: 'delete', name: this.#name });
    };
    const stored = await this.#parts.storage.get(this.#key, signalOf(this.#context)).catch(failed);
    if (stored === undefined) throw notFound(this.#parts.resource, this.#name);
    return stored;
  }

  #decide(object: T): GraceDecision {
    const { strategy, invalidKind } = this.#parts.definition;
    const { group, kind } = invalidKind ?? this.#parts.definition;
    const nowMs = this.#parts.clock.now();
    return beforeDelete(object, { strategy, request: this.#request, groupKind: { group, resource: kind }, nowMs });
  }

  #hasFinalizers(object: DeepReadonly<T>): boolean {
    return (object.metadata?.finalizers ?? []).length > 0;
  }

  #changesFinalizers(object: T): boolean {
    return this.#finalizers(object) !== (object.metadata?.finalizers ?? noFinalizers);
  }

  #finalizers(object: T): readonly string[] {
    const present = object.metadata?.finalizers ?? noFinalizers;
    if (!this.#parts.collectsGarbage) return present;
    const policy = this.#parts.definition.strategy.defaultGarbageCollection;
    const next = finalizersForDeletion(object as DeepReadonly<T>, this.#request, policy);
    return next.length === 0 && present.length === 0 ? present : next;
  }

  /** Marks the live object, which then stays (finalizers, grace) or is removed. */
  async #begin(first: Stored<T>): Promise<DeleteAnswer<T>> {
    let graceSeconds = 0;
    let isHeld = false;
    try {
      const stored = await this.#update(async (object) => {
        await this.#admit(object as DeepReadonly<T>);
        const decision = this.#decide(object);
        if (decision.type === 'pending') throw new LeaveLoop('pending');
        this.#writeFinalizers(object);
        isHeld = this.#hasFinalizers(object as DeepReadonly<T>);
        if (decision.type === 'graceful') graceSeconds = decision.graceSeconds;
        else if (isHeld) markAsDeleting(metaOf(object), this.#parts.clock.now());
        else throw new LeaveLoop('delete');
        return object;
      });
      if (isHeld || graceSeconds > 0) return { stored, deleted: false };
      if (this.#context.dryRun) return { stored, deleted: true };
      // The update has changed the version in the caller's preconditions.
      const { resourceVersion, ...rest } = this.#request.preconditions ?? {};
      const moved = stored.object.metadata?.resourceVersion;
      const preconditions =
        resourceVersion === undefined || moved === undefined ? rest : { ...rest, resourceVersion: moved };
      return await this.#remove(preconditions, stored);
    } catch (error) {
      if (!(error instanceof LeaveLoop) || isAgain(error)) throw error;
      if (error.next === 'pending') return { stored: first, deleted: false };
      return this.#remove(this.#request.preconditions, undefined);
    }
  }

  #writeFinalizers(object: T): void {
    const meta = metaOf(object);
    const finalizers = this.#finalizers(object);
    if (finalizers === meta.finalizers) return;
    if (finalizers.length === 0) delete meta.finalizers;
    else meta.finalizers = [...finalizers];
  }

  async #update(change: (object: T) => Promise<T>, preconditions?: Preconditions): Promise<Stored<T>> {
    const asked = preconditions ?? this.#request.preconditions;
    try {
      return await storageFor(this.#parts, this.#context).guaranteedUpdate(
        this.#key,
        async (existing) => ({ object: await change(existing as T) }),
        { preconditions: asked, ...signalOf(this.#context) },
      );
    } catch (error) {
      throw storageStatus(this.#parts, error, { verb: 'update', name: this.#name });
    }
  }

  /** A finalizer that was added since the object was read holds it, so the object must be marked and not removed. */
  async #validateRemoval(latest: DeepReadonly<T> | undefined): Promise<void> {
    if (latest !== undefined && this.#finalizers(latest as T).length > 0) throw new LeaveLoop('again');
    await this.#admit(latest);
  }

  /** Removes the object. `last` is the state just written. A concurrent removal by another request is fine. */
  async #remove(preconditions: Preconditions | undefined, last: Stored<T> | undefined): Promise<DeleteAnswer<T>> {
    try {
      const stored = await storageFor(this.#parts, this.#context).delete(this.#key, {
        validateDeletion: (object) => this.#validateRemoval(object),
        preconditions,
        ...signalOf(this.#context),
      });
      await this.#release(stored);
      return { stored, deleted: true };
    } catch (error) {
      const status = storageStatus(this.#parts, error, { verb: 'delete', name: this.#name });
      if (last === undefined || !isNotFound(status)) throw status;
      await this.#release(last);
      return { stored: last, deleted: true };
    }
  }

  async #release(stored: Stored<T>): Promise<void> {
    if (!this.#context.dryRun) await this.#parts.definition.allocation?.release(stored.object);
  }

  /**
   * Returns the options as admission sees them: with the grace that the kind decides on, unless a collection is deleted.
   * Source: rest.BeforeDelete, registry.Store.DeleteCollection, which works on copies of the options.
   */
  #asAdmitted(object: DeepReadonly<T>, preconditions: Preconditions | undefined): DeleteRequest {
    if (this.#request.isOfCollection === true) return this.#request;
    const graceful = this.#withGrace(object);
    return preconditions === undefined ? graceful : { ...graceful, preconditions };
  }

  #withGrace(object: DeepReadonly<T>): DeleteRequest {
    const { strategy } = this.#parts.definition;
    if (object.metadata?.deletionTimestamp === undefined) {
      this.#graceSeconds = strategy.gracePeriodSeconds?.(object, this.#request.gracePeriodSeconds);
    }
    const gracePeriodSeconds = this.#graceSeconds;
    return gracePeriodSeconds === undefined ? this.#request : { ...this.#request, gracePeriodSeconds };
  }

  async #admit(oldObject: DeepReadonly<T> | undefined, preconditions = this.#request.preconditions): Promise<void> {
    const { admission } = this.#parts;
    if (admission === undefined || oldObject === undefined || this.#request.isAdmitted === true) return;
    const deletion = this.#asAdmitted(oldObject, preconditions);
    const name = deletion.isOfCollection === true ? '' : this.#name;
    const call = { context: this.#context, operation: 'DELETE', subresource: '', name, deletion } as const;
    const copy = (await runInTurns(copyInSlices(oldObject), this.#context.signal)) as DeepReadonly<T>;
    const attributes = admissionAttributes(this.#parts, { ...call, oldObject: copy });
    await admission.admit(attributes);
    await validatorOf(this.#parts)?.validate(attributes);
  }

  /**
   * Deletes an object that stays until its contents are gone: the first deletion marks it, later ones change nothing.
   * Source: the Delete of namespaces and of custom resource definitions.
   */
  async #hold(stored: Stored<T>): Promise<DeleteAnswer<T>> {
    this.#requireHeldPreconditions(stored);
    if (stored.object.metadata?.deletionTimestamp !== undefined) return { stored, deleted: false };
    const uid = stored.object.metadata?.uid;
    const preconditions = { ...(uid === undefined ? {} : { uid }), ...this.#request.preconditions };
    const begun = await this.#update(async (object) => {
      await this.#admit(object as DeepReadonly<T>, preconditions);
      const meta = metaOf(object);
      meta.deletionTimestamp ??= formatTime(this.#parts.clock.now());
      const { strategy } = this.#parts.definition;
      strategy.prepareForDeletion?.(object);
      if (strategy.heldIgnoresPropagation !== true) this.#writeFinalizers(object);
      return object;
    }, preconditions);
    return { stored: begun, deleted: false };
  }

  #requireHeldPreconditions(stored: Stored<T>): void {
    const { uid, resourceVersion } = this.#request.preconditions ?? {};
    const meta = stored.object.metadata ?? {};
    const conflictError = (what: string, want: string, have: string | undefined): Error =>
      conflict(
        this.#parts.resource,
        this.#name,
        `Precondition failed: ${what} in precondition: ${want}, ${what} in object meta: ${have ?? ''}`,
      );
    if (uid !== undefined && uid !== meta.uid) throw conflictError('UID', uid, meta.uid);
    if (resourceVersion !== undefined && resourceVersion !== meta.resourceVersion) {
      throw conflictError('ResourceVersion', resourceVersion, meta.resourceVersion);
    }
  }

  /** Removes a value that cannot be decoded, without any hooks; refused for an object that can be read. */
  async #removeUnreadable(): Promise<DeleteAnswer<T>> {
    try {
      await storageFor(this.#parts, this.#context).deleteUnreadable(this.#key, signalOf(this.#context));
      return { deleted: true };
    } catch (error) {
      throw storageStatus(this.#parts, error, { verb: 'delete', name: this.#name });
    }
  }
}

function isAgain(error: unknown): boolean {
  return error instanceof LeaveLoop && error.next === 'again';
}

const noFinalizers: readonly string[] = [];

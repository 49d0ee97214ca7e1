// CreateFlow turns a decoded object into a stored one. Called by generic-store.ts, and by update-flow.ts for an update
// that creates. Source: apiserver registry/generic/registry/store.go (Create) and endpoints/handlers/create.go.

import {
  type DeepReadonly,
  deepCopy,
  isAlreadyExists,
  type KubernetesObject,
  StatusError,
  type UnstructuredObject,
} from '@kapstan/api';
import { copyInSlices, parseRevision } from '@kapstan/api/internal';
import { isStorageError, runInTurns, type Stored } from '@kapstan/storage';
import { carryEmpties } from '../../schema/go/decoded-empties.ts';
import type { RequestContext } from '../definition/request-context.ts';
import type { FinishReservation, ResourceDefinition } from '../definition/resource-definition.ts';
import { generateName, maxNameAttempts } from '../meta/name-generator.ts';
import {
  dropEmptyMetadata,
  ensureNamespace,
  fillSystemMetadata,
  metaOf,
  wipeSystemMetadata,
} from '../meta/object-meta.ts';
import type { AdmissionAttributes } from './admission-control.ts';
import { objectKeyOf } from './key-functions.ts';
import {
  admissionAttributes,
  afterAdmission,
  dedupeOwners,
  requireValid,
  type StoreParts,
  signalOf,
  storageFor,
  storageStatus,
  ttlOf,
  validatorOf,
} from './store-parts.ts';

export interface CreateRequest<T extends KubernetesObject> {
  /** The new object, which the flow takes over and changes. */
  readonly object: T;
  /** Name of the subresource that creates the object. Default: none. */
  readonly subresource?: string;
  /** 'given': the object already has its managedFields. Default 'tracked'. */
  readonly managedFields?: 'tracked' | 'given';
}

/** One create with all its attempts to find a name. */
export class CreateFlow<T extends KubernetesObject> {
  readonly #parts: StoreParts<T>;
  readonly #context: RequestContext;
  readonly #object: T;
  readonly #subresource: string;
  /** The requested name, whatever admission makes of it; "" when it is to be generated. */
  readonly #name: string;
  readonly #managedFields: 'tracked' | 'given';
  /** Functions of validating admission that are called when the write has ended. */
  #finishers: FinishReservation[] = [];

  constructor(parts: StoreParts<T>, context: RequestContext, request: CreateRequest<T>) {
    this.#parts = parts;
    this.#context = context;
    this.#object = request.object;
    this.#name = request.object.metadata?.name ?? '';
    this.#subresource = request.subresource ?? '';
    this.#managedFields = request.managedFields ?? 'tracked';
  }

  async run(): Promise<Stored<T>> {
    const object = this.#object;
    wipeSystemMetadata(metaOf(object));
    ensureNamespace(metaOf(object), requestNamespace(this.#parts, this.#context));
    dedupeOwners(object, this.#context, '');
    await this.admit();
    try {
      return await this.#createNamed();
    } catch (error) {
      // The managed fields may be the part that makes the object too large, so it is tried without them. Source: the
      // create handler.
      if (!isTooLarge(error) || metaOf(object).managedFields === undefined) throw this.#answer(error);
      delete metaOf(object).managedFields;
      return await this.#createNamed().catch((again: unknown) => {
        throw this.#answer(again);
      });
    }
  }

  /**
   * Does the handler's work before the store sees the object: tracks fields, runs mutating admission, dedupes owners.
   */
  async admit(): Promise<void> {
    const [parts, context, object] = [this.#parts, this.#context, this.#object];
    if (this.#managedFields === 'tracked') {
      const definition = parts.definition as unknown as ResourceDefinition<UnstructuredObject>;
      const tracking = parts.managedFields?.onCreate(object, { context, definition, subresource: this.#subresource });
      if (tracking !== undefined) await tracking;
    }
    await context.nextTurn?.();
    if (parts.admission !== undefined) {
      const { managedFields: entries } = object.metadata ?? {};
      await parts.admission.admit(this.#attributes(object));
      const checking = parts.managedFields?.afterAdmission(object, entries, context);
      if (checking !== undefined) await checking;
    }
    dedupeOwners(object, context, afterAdmission);
    await context.whenAdmitted?.(object as DeepReadonly<UnstructuredObject>, undefined);
  }

  /** Tries up to eight names if the name is generated. */
  async #createNamed(): Promise<Stored<T>> {
    const meta = metaOf(this.#object);
    if (meta.name || !meta.generateName) return this.#createOnce(this.#object);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#createOnce(await copyFor(this.#context, this.#object));
      } catch (error) {
        if (!isAlreadyExists(error) || attempt >= maxNameAttempts) throw error;
      }
    }
  }

  async #createOnce(object: T): Promise<Stored<T>> {
    const finish = await this.reserve(object);
    let committed = false;
    try {
      await this.prepare(object);
      const stored = await this.#write(object);
      committed = !this.#context.dryRun;
      return stored;
    } finally {
      await finish?.(committed);
      for (const tell of this.takeFinishers()) await tell(committed);
    }
  }

  /** Returns each function once. */
  takeFinishers(): readonly FinishReservation[] {
    const finishers = this.#finishers;
    this.#finishers = [];
    return finishers;
  }

  /** Reserves values for the named object before other steps change it. Source: registry.Store BeginCreate. */
  async reserve(object: T): Promise<FinishReservation | undefined> {
    this.#fillNames(object);
    return this.#parts.definition.allocation?.create(this.#parts.store, this.#context, object);
  }

  #fillNames(object: T): void {
    const { newUid, clock, random } = this.#parts;
    const meta = metaOf(object);
    fillSystemMetadata(meta, { uid: newUid(), nowMs: clock.now() });
    if (!meta.name && meta.generateName) meta.name = generateName(meta.generateName, random);
  }

  /** Runs strategy, validation, warnings, canonical form and validating admission. Source: rest.BeforeCreate. */
  async prepare(object: T): Promise<void> {
    const [parts, context] = [this.#parts, this.#context];
    const { strategy } = parts.definition;
    ensureNamespace(metaOf(object), requestNamespace(parts, context));
    const slices = context.nextTurn === undefined ? undefined : strategy.prepareForCreateInSlices?.(object, context);
    if (slices === undefined) strategy.prepareForCreate(object, context);
    else await runInTurns(slices, context.signal);
    const meta = metaOf(object);
    dropEmptyMetadata(meta);
    const view = object as DeepReadonly<T>;
    const validating = requireValid(parts, { strategy, context, object: view }, '');
    if (validating !== undefined) await validating;
    if (validating !== undefined || context.nextTurn !== undefined) await this.#requireCreatable(object);
    const storing = context.nextTurn === undefined ? undefined : strategy.canonicalizeInSlices?.(object);
    if (storing === undefined) strategy.canonicalize?.(object);
    else await runInTurns(storing, context.signal);
    await context.nextTurn?.();
    await context.authorizeCreate?.();
    const validator = validatorOf(parts);
    if (validator !== undefined) await validator.validate(this.#attributes(object));
  }

  /**
   * Validating a large object may take seconds after its admission: its namespace or definition may have gone meanwhile.
   */
  async #requireCreatable(object: T): Promise<void> {
    this.#parts.definition.strategy.requireCreatable?.(object as DeepReadonly<T>);
    await this.#parts.admission?.recheck?.(this.#attributes(object));
  }

  #attributes(object: T): AdmissionAttributes {
    const requestName = this.#name;
    const name = requestName || (object.metadata?.name ?? '');
    const [context, subresource, finishers] = [this.#context, this.#subresource, this.#finishers];
    const call = { context, operation: 'CREATE', subresource, name, requestName, object, finishers } as const;
    return admissionAttributes(this.#parts, call);
  }

  async #write(object: T): Promise<Stored<T>> {
    const [parts, context] = [this.#parts, this.#context];
    const name = object.metadata?.name ?? '';
    const key = objectKeyOf(parts.keys, context.namespace, name);
    forgiveVersion(object, context);
    const ttl = ttlOf(parts.definition.strategy.ttlSeconds?.(object as DeepReadonly<T>, false));
    const hints = { ...ttl, ...signalOf(context), isLarge: context.nextTurn !== undefined };
    try {
      return await storageFor(parts, context).create(key, object, hints);
    } catch (error) {
      if (isTooLarge(error)) throw error;
      const status = storageStatus(parts, error, { verb: 'create', name });
      throw isAlreadyExists(status) ? await existsAnswer(parts, { key, object, status }) : status;
    }
  }

  #answer(error: unknown): Error {
    return storageStatus(this.#parts, error, { verb: 'create', name: metaOf(this.#object).name ?? '' });
  }
}

/** Returns a copy that may be changed; a large object is copied in several turns. */
export async function copyFor<T extends object>(context: RequestContext, object: T): Promise<T> {
  const isSmall = context.nextTurn === undefined;
  const copy = isSmall ? deepCopy(object) : await runInTurns(copyInSlices(object), context.signal);
  carryEmpties(object, copy);
  return copy as T;
}

/** Returns the namespace of the object of this request. Source: rest.ExpectedNamespaceForResource. */
export function requestNamespace<T extends KubernetesObject>(parts: StoreParts<T>, context: RequestContext): string {
  return parts.definition.namespaced ? context.namespace : '';
}

/** Kubernetes accepts a version that is not a number, and any version in a dry run, so both are dropped. */
function forgiveVersion(object: KubernetesObject, context: RequestContext): void {
  const { metadata } = object;
  if (metadata?.resourceVersion === undefined) return;
  if (context.dryRun || !parseRevision(metadata.resourceVersion)) delete metadata.resourceVersion;
}

/** Returns the 409 with Kubernetes' additions for a generated name and for an object that is being deleted. */
async function existsAnswer<T extends KubernetesObject>(
  parts: StoreParts<T>,
  failure: { readonly key: string; readonly object: T; readonly status: StatusError },
): Promise<StatusError> {
  const { status } = failure.status;
  const isGenerated = Boolean(failure.object.metadata?.generateName);
  let message = status.message ?? '';
  if (isGenerated) message += ', the server was not able to generate a unique name for the object';
  // The read affects only the text, so the text stays as it is when the read fails. Source: registry.Store.Create.
  const existing = await parts.storage.get(failure.key).catch(() => undefined);
  if (existing?.object.metadata?.deletionTimestamp !== undefined) message = `object is being deleted: ${message}`;
  const details = { ...status.details, ...(isGenerated ? { retryAfterSeconds: 1 } : {}) };
  return new StatusError({ code: 409, reason: 'AlreadyExists', message, details }, { cause: failure.status });
}

function isTooLarge(error: unknown): boolean {
  return isStorageError(error, 'TooLarge');
}

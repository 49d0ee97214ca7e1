// Create leads from a decoded object to the stored one. Source: apiserver registry/generic/registry/store.go (Create)
// and endpoints/handlers/create.go.

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
import { objectKeyOf } from './key-functions.ts';
import {
  admissionAttributes,
  afterAdmission,
  dedupeOwners,
  requireValid,
  type StoreParts,
  signalOf,
  statusOf,
  storageFor,
  ttlOf,
  validatorOf,
} from './store-parts.ts';

/** Creates the object, which it takes over and changes. */
export async function createObject<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  object: T,
): Promise<Stored<T>> {
  wipeSystemMetadata(metaOf(object));
  ensureNamespace(metaOf(object), requestNamespace(parts, context));
  dedupeOwners(object, context, '');
  await admitCreate(parts, context, { object, subresource: '', managedFields: 'tracked' });
  try {
    return await createNamed(parts, context, object);
  } catch (error) {
    // Managed fields may be what makes the object too large, so it is tried without them. Source: the create handler.
    if (!isTooLarge(error) || metaOf(object).managedFields === undefined) throw answer(error);
    delete metaOf(object).managedFields;
    return await createNamed(parts, context, object).catch((again: unknown) => {
      throw answer(again);
    });
  }

  function answer(error: unknown): Error {
    return statusOf(parts, error, { verb: 'create', name: metaOf(object).name ?? '' });
  }
}

export interface CreateAdmission<T extends KubernetesObject> {
  readonly object: T;
  readonly subresource: string;
  readonly managedFields: 'tracked' | 'given';
}

/**
 * Does what the handler does before the store sees the object: tracks fields, runs mutating admission, dedupes owners.
 */
export async function admitCreate<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  { object, subresource, managedFields }: CreateAdmission<T>,
): Promise<void> {
  if (managedFields === 'tracked') {
    const definition = parts.definition as unknown as ResourceDefinition<UnstructuredObject>;
    const tracking = parts.managedFields?.onCreate(object, { context, definition, subresource });
    if (tracking !== undefined) await tracking;
  }
  await context.nextTurn?.();
  if (parts.admission !== undefined) {
    const { name = '', managedFields: entries } = object.metadata ?? {};
    const attributes = admissionAttributes(parts, { context, operation: 'CREATE', subresource, name, object });
    await parts.admission.admit(attributes);
    const checking = parts.managedFields?.afterAdmission(object, entries, context);
    if (checking !== undefined) await checking;
  }
  dedupeOwners(object, context, afterAdmission);
}

/** Tries up to eight names if the name is generated. */
async function createNamed<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  object: T,
): Promise<Stored<T>> {
  const meta = metaOf(object);
  if (meta.name || !meta.generateName) return createOnce(parts, context, object);
  for (let attempt = 1; ; attempt++) {
    try {
      return await createOnce(parts, context, await copyFor(context, object));
    } catch (error) {
      if (!isAlreadyExists(error) || attempt >= maxNameAttempts) throw error;
    }
  }
}

/** Returns a copy that may be changed; a large object is copied in several turns. */
export async function copyFor<T extends object>(context: RequestContext, object: T): Promise<T> {
  return (
    context.nextTurn === undefined ? deepCopy(object) : await runInTurns(copyInSlices(object), context.signal)
  ) as T;
}

async function createOnce<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  object: T,
): Promise<Stored<T>> {
  const finish = await reserveForCreate(parts, context, object);
  let committed = false;
  try {
    await prepareCreate(parts, context, { object, subresource: '' });
    const stored = await write(parts, context, object);
    committed = !context.dryRun;
    return stored;
  } finally {
    await finish?.(committed);
  }
}

/** Reserves values for the named object, before anything else happens to it. Source: registry.Store BeginCreate. */
export async function reserveForCreate<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  object: T,
): Promise<FinishReservation | undefined> {
  fillNames(parts, object);
  return parts.definition.allocation?.create(parts.store, context, object);
}

function fillNames<T extends KubernetesObject>(parts: StoreParts<T>, object: T): void {
  const meta = metaOf(object);
  fillSystemMetadata(meta, { uid: parts.newUid(), nowMs: parts.clock.now() });
  if (!meta.name && meta.generateName) meta.name = generateName(meta.generateName, parts.random);
}

/** Runs strategy, validation, warnings, canonical form and validating admission. Source: rest.BeforeCreate. */
export async function prepareCreate<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  { object, subresource }: { readonly object: T; readonly subresource: string },
): Promise<void> {
  const { strategy } = parts.definition;
  ensureNamespace(metaOf(object), requestNamespace(parts, context));
  const slices = context.nextTurn === undefined ? undefined : strategy.prepareForCreateInSlices?.(object, context);
  if (slices === undefined) strategy.prepareForCreate(object, context);
  else await runInTurns(slices, context.signal);
  const meta = metaOf(object);
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  dropEmptyMetadata(meta);
  const view = object as DeepReadonly<T>;
  const validating = requireValid(parts, { strategy, context, object: view }, '');
  if (validating !== undefined) await validating;
  if (validating !== undefined || context.nextTurn !== undefined) {
    await requireCreatable(parts, context, { object, subresource });
  }
  strategy.canonicalize?.(object);
  await context.nextTurn?.();
  await context.authorizeCreate?.();
  const validator = validatorOf(parts);
  if (validator === undefined) return;
  const name = meta.name ?? '';
  const call = { context, operation: 'CREATE', subresource, name, object } as const;
  await validator.validate(admissionAttributes(parts, call));
}

/**
 * Validating a large object may take seconds after its admission: its namespace or definition may have gone meanwhile.
 */
async function requireCreatable<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  { object, subresource }: { readonly object: T; readonly subresource: string },
): Promise<void> {
  parts.definition.strategy.requireCreatable?.(object as DeepReadonly<T>);
  const name = object.metadata?.name ?? '';
  const call = { context, operation: 'CREATE', subresource, name, object } as const;
  await parts.admission?.recheck?.(admissionAttributes(parts, call));
}

/** Returns the namespace of the object of this request. Source: rest.ExpectedNamespaceForResource. */
export function requestNamespace<T extends KubernetesObject>(parts: StoreParts<T>, context: RequestContext): string {
  return parts.definition.namespaced ? context.namespace : '';
}

async function write<T extends KubernetesObject>(
  parts: StoreParts<T>,
  context: RequestContext,
  object: T,
): Promise<Stored<T>> {
  const name = object.metadata?.name ?? '';
  const key = objectKeyOf(parts.keys, context.namespace, name);
  forgiveVersion(object, context);
  const ttl = ttlOf(parts.definition.strategy.ttlSeconds?.(object as DeepReadonly<T>, false));
  const hints = { ...ttl, ...signalOf(context), isLarge: context.nextTurn !== undefined };
  try {
    return await storageFor(parts, context).create(key, object, hints);
  } catch (error) {
    if (isTooLarge(error)) throw error;
    const status = statusOf(parts, error, { verb: 'create', name });
    throw isAlreadyExists(status) ? await existsAnswer(parts, { key, object, status }) : status;
  }
}

/** Kubernetes accepts a version that is no number, and any version in a dry run, so both are dropped. */
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

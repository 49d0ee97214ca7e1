// StoreParts: the parts that the flows of one GenericStore share, and their small common steps.

import {
  type Clock,
  type DeepReadonly,
  type GroupResource,
  type KubernetesObject,
  type Revision,
  StatusError,
} from '@kapstan/api';
import {
  type AdmissionOperation,
  invalidTold,
  parseRevision,
  type ToldErrors,
  tellFieldErrors,
} from '@kapstan/api/internal';
import { runInTurns, type Storage, type StorageCallOptions, type StorageVerb, toStatus } from '@kapstan/storage';
import type { RequestContext } from '../definition/request-context.ts';
import type { ResourceDefinition } from '../definition/resource-definition.ts';
import type { DeleteRequest, ResourceStore } from '../definition/resource-store.ts';
import { dedupeOwnerReferences, metaOf } from '../meta/object-meta.ts';
import type { AdmissionAttributes, AdmissionControl } from './admission-control.ts';
import type { KeyScope } from './key-functions.ts';
import { type LargeValidation, type LargeValidationCall, largeCallOf } from './large-validation.ts';
import type { ManagedFieldsTracker } from './managed-fields-tracker.ts';
import { type Findings, findingsOf, slicedFindingsOf, type ValidationCall } from './validation-run.ts';

export interface StoreParts<T extends KubernetesObject> {
  readonly definition: ResourceDefinition<T>;
  readonly resource: GroupResource;
  readonly keys: KeyScope;
  readonly storage: Storage<T>;
  readonly dryRunStorage: Storage<T>;
  readonly clock: Clock;
  readonly random: () => number;
  readonly newUid: () => string;
  readonly admission: AdmissionControl | undefined;
  readonly largeValidation: LargeValidation | undefined;
  readonly managedFields: ManagedFieldsTracker | undefined;
  readonly collectsGarbage: boolean;
  readonly deleteCollectionWorkers: number;
  /** The store itself, for allocations. */
  readonly store: ResourceStore<T>;
}

/** Returns the storage for a request's write: the real one, or for a dry run one that only checks. */
export function storageFor<T extends KubernetesObject>(parts: StoreParts<T>, context: RequestContext): Storage<T> {
  return context.dryRun ? parts.dryRunStorage : parts.storage;
}

/** Returns the call options that pass a request's signal, id and trace to storage. */
export function signalOf({ signal, auditId, span, baggage }: RequestContext): StorageCallOptions {
  return { signal, auditId, span: span?.recorded, baggage };
}

/** Returns the answer to a failed storage call: StatusErrors pass, StorageErrors are translated. */
export function storageStatus<T extends KubernetesObject>(
  parts: StoreParts<T>,
  error: unknown,
  call: { readonly verb: StorageVerb; readonly name: string },
): Error {
  const status = toStatus(error, { ...call, resource: parts.resource });
  return status instanceof Error ? status : new Error(String(status));
}

/** Returns an error that the Go library leaves untyped: 500 with its own text and no reason. */
function plainError(message: string): StatusError {
  return new StatusError({ code: 500, reason: '', message });
}

/** Returns the version in a client's object; 0 when it has none. Throws kube-apiserver's 500 for other text. */
export function sentRevision(object: KubernetesObject): Revision {
  const text = object.metadata?.resourceVersion ?? '';
  const revision = parseRevision(text);
  if (revision !== undefined) return revision;
  const why = /^[0-9]+$/.test(text) ? 'value out of range' : 'invalid syntax';
  throw plainError(`strconv.ParseUint: parsing ${JSON.stringify(text)}: ${why}`);
}

/**
 * Throws 422 when there are errors, and sends the warnings. Returns undefined when it is done at once, as for all
 * objects except large ones and those with slow rules. Source: errors.NewInvalid with the kind of the object.
 */
export function requireValid<T extends KubernetesObject>(
  parts: StoreParts<T>,
  call: Omit<ValidationCall<T>, 'definition'>,
  subresource: string,
): Promise<void> | undefined {
  const whole = { ...call, definition: parts.definition };
  if (call.strategy.permitAlways !== undefined) return validatePermitted(parts, whole, subresource);
  const validating = validateOnce(parts, whole, subresource);
  return call.strategy.permit === undefined ? validating : requirePermitted(parts, call, validating);
}

function validateOnce<T extends KubernetesObject>(
  parts: StoreParts<T>,
  call: ValidationCall<T>,
  subresource: string,
): Promise<void> | undefined {
  const large = parts.largeValidation === undefined ? undefined : largeCallOf(call, subresource);
  if (large !== undefined) return requireLargeValid(parts, call, large);
  const slices = slicedFindingsOf(call);
  const found = slices === undefined ? findingsOf(call) : runInTurns(slices, call.context.signal);
  if (found instanceof Promise) return found.then((later) => tellFindings(parts, call, later));
  tellFindings(parts, call, found);
  return undefined;
}

async function requirePermitted<T extends KubernetesObject>(
  parts: StoreParts<T>,
  { strategy, context, object, old }: Omit<ValidationCall<T>, 'definition'>,
  validating: Promise<void> | undefined,
): Promise<void> {
  await validating;
  const errors = (await strategy.permit?.(object, old, context)) ?? [];
  if (errors.length > 0) throw invalid(parts, object, tellFieldErrors(errors));
}

/**
 * A write without permission is checked here even if it is large, because its errors come after the permission's errors.
 */
async function validatePermitted<T extends KubernetesObject>(
  parts: StoreParts<T>,
  call: ValidationCall<T>,
  subresource: string,
): Promise<void> {
  const { strategy, object, old, context } = call;
  const forbidden = (await strategy.permitAlways?.(object, old, context)) ?? [];
  if (forbidden.length === 0) return await validateOnce(parts, call, subresource);
  const slices = slicedFindingsOf(call);
  const { errors } = slices === undefined ? findingsOf(call) : await runInTurns(slices, context.signal);
  throw invalid(parts, object, tellFieldErrors([...forbidden, ...errors]));
}

function tellFindings<T extends KubernetesObject>(
  parts: StoreParts<T>,
  { context, object }: Omit<ValidationCall<T>, 'definition'>,
  { errors, warnings }: Findings,
): void {
  if (errors.length > 0) throw invalid(parts, object, tellFieldErrors(errors));
  for (const text of warnings) context.warn(text);
}

async function requireLargeValid<T extends KubernetesObject>(
  parts: StoreParts<T>,
  { context, strategy, object, old }: Omit<ValidationCall<T>, 'definition'>,
  large: LargeValidationCall,
): Promise<void> {
  const found = await parts.largeValidation?.validate(large, context.signal);
  for (const text of found?.warnings ?? []) context.warn(text);
  if (found?.errors !== undefined) throw invalid(parts, object, found.errors);
  const errors = strategy.rulesOfProgram?.(object, old) ?? [];
  if (errors.length > 0) throw invalid(parts, object, tellFieldErrors(errors));
}

function invalid<T extends KubernetesObject>(
  { definition: { group, kind, invalidKind, isCustom } }: StoreParts<T>,
  object: DeepReadonly<T>,
  told: ToldErrors,
): StatusError {
  const shown = isCustom === true ? saidKind(object, kind) : (invalidKind ?? { group, kind });
  return invalidTold(shown, object.metadata?.name ?? '', told);
}

/** The kind that a custom resource names, which may be a wrong one. */
function saidKind(
  { apiVersion = '', kind }: DeepReadonly<KubernetesObject>,
  otherwise: string,
): { group: string; kind: string } {
  return {
    group: apiVersion.includes('/') ? apiVersion.slice(0, apiVersion.indexOf('/')) : '',
    kind: kind ?? otherwise,
  };
}

/** Returns the admission if it validates objects of this resource. */
export function validatorOf<T extends KubernetesObject>(parts: StoreParts<T>): AdmissionControl | undefined {
  return parts.admission?.validates(parts.definition) === true ? parts.admission : undefined;
}

export interface AdmissionCall<T extends KubernetesObject> {
  readonly context: RequestContext;
  readonly operation: AdmissionOperation;
  readonly subresource: string;
  readonly name: string;
  /**
   * Name in the request; absent = the object's. A create without a name in its path has "", so that admission does not
   * take the generated name for a namespace.
   */
  readonly requestName?: string | undefined;
  readonly object?: T;
  readonly oldObject?: DeepReadonly<T> | undefined;
  readonly deletion?: DeleteRequest | undefined;
  readonly finishers?: AdmissionAttributes['finishers'];
}

export function admissionAttributes<T extends KubernetesObject>(
  parts: StoreParts<T>,
  call: AdmissionCall<T>,
): AdmissionAttributes {
  const { group, version, resource, kind, namespaced, isOwnNamespace = false } = parts.definition;
  return {
    operation: call.operation,
    resource: { group, version, resource },
    subresource: call.subresource,
    kind: { group, version, kind },
    name: call.name,
    namespace: namespaced ? call.context.namespace : isOwnNamespace ? (call.requestName ?? call.name) : '',
    object: call.object,
    oldObject: call.oldObject,
    context: call.context,
    deletion: call.deletion,
    finishers: call.finishers,
  };
}

/**
 * Removes duplicate owner references with a warning. `when` is "" or " after mutating admission happens". Source:
 * handlers.dedupOwnerReferencesAndAddWarning.
 */
export function dedupeOwners(object: KubernetesObject, context: RequestContext, when: string): void {
  const uids = dedupeOwnerReferences(metaOf(object));
  if (uids.length === 0) return;
  context.warn(
    `.metadata.ownerReferences contains duplicate entries${when}; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: ${uids.join(', ')}`,
  );
}
export const afterAdmission = ' after mutating admission happens';

/** A negative time to live counts as one second. Source: registry.Store.calculateTTL. */
export function ttlOf(seconds: number | undefined): { readonly ttlSeconds?: number } {
  if (seconds === undefined || seconds === 0) return {};
  return { ttlSeconds: seconds < 0 ? 1 : seconds };
}

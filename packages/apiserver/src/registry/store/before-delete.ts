// BeforeDelete checks preconditions and computes grace periods. Source: apiserver registry/rest/delete.go.
import {
  type DeepReadonly,
  formatTime,
  type GroupResource,
  type KubernetesObject,
  type ObjectMeta,
  parseTime,
} from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import type { DeleteRequest } from '../definition/resource-store.ts';
import type { ResourceStrategy } from '../definition/strategy.ts';
import { metaOf } from '../meta/object-meta.ts';

/**
 * now: this kind or state has no grace; graceful: the object has `graceSeconds` (or less than before) to go; pending:
 * it is being deleted already and this request changes nothing.
 */
export type GraceDecision =
  | { readonly type: 'now' }
  | { readonly type: 'graceful'; readonly graceSeconds: number }
  | { readonly type: 'pending' };

export interface BeforeDeleteCall<T extends KubernetesObject> {
  readonly strategy: ResourceStrategy<T>;
  readonly request: DeleteRequest;
  /** Group and kind (not resource) of the object, as Kubernetes names it in these conflicts. */
  readonly groupKind: GroupResource;
  readonly nowMs: number;
}

/**
 * Decides how the object is deleted, and changes it in place if that happens gracefully. Throws 409 when a precondition
 * fails.
 */
export function beforeDelete<T extends KubernetesObject>(object: T, call: BeforeDeleteCall<T>): GraceDecision {
  const meta = metaOf(object);
  requirePreconditions(meta, call);
  const asked = atLeastOneWhenNegative(call.request.gracePeriodSeconds);
  if (meta.deletionGracePeriodSeconds !== undefined && meta.deletionGracePeriodSeconds < 0) {
    meta.deletionGracePeriodSeconds = 1;
  }
  if (call.strategy.gracePeriodSeconds === undefined) return { type: 'now' };
  if (meta.deletionTimestamp !== undefined) return shorten(meta, asked, call.nowMs);
  const graceSeconds = call.strategy.gracePeriodSeconds(object as DeepReadonly<T>, asked);
  if (graceSeconds === undefined) return { type: 'now' };
  meta.deletionTimestamp = formatTime(call.nowMs + graceSeconds * 1000);
  meta.deletionGracePeriodSeconds = graceSeconds;
  // A raised generation tells controllers that there is work, as after a change of the spec.
  if (meta.generation !== undefined && meta.generation > 0) meta.generation++;
  return { type: 'graceful', graceSeconds };
}

/** The grace of an object that is being deleted can only be shortened. */
function shorten(meta: ObjectMeta, asked: number | undefined, nowMs: number): GraceDecision {
  const present = meta.deletionGracePeriodSeconds ?? 0;
  // A crash between the update to zero grace and the removal leaves this state; the removal continues.
  if (present === 0) return { type: 'now' };
  if (asked === undefined || asked >= present) return { type: 'pending' };
  const startedMs = parseTime(meta.deletionTimestamp ?? '') - present * 1000;
  const wantedMs = startedMs + asked * 1000;
  const isPast = wantedMs < nowMs;
  // The new deadline is in the past, so the object gets one second of grace, which is over.
  const graceSeconds = isPast && asked !== 0 ? 1 : asked;
  meta.deletionTimestamp = formatTime(isPast ? nowMs : wantedMs);
  meta.deletionGracePeriodSeconds = graceSeconds;
  return { type: 'graceful', graceSeconds };
}

/** Throws 409 when a precondition does not match the object. */
export function requirePreconditions(
  meta: DeepReadonly<ObjectMeta>,
  call: Pick<BeforeDeleteCall<KubernetesObject>, 'request' | 'groupKind'>,
): void {
  const { uid, resourceVersion } = call.request.preconditions ?? {};
  const name = meta.name ?? '';
  if (uid !== undefined && uid !== meta.uid) {
    const why = `the UID in the precondition (${uid}) does not match the UID in record (${meta.uid ?? ''}). The object might have been deleted and then recreated`;
    throw conflict(call.groupKind, name, why);
  }
  if (resourceVersion !== undefined && resourceVersion !== meta.resourceVersion) {
    const why = `the ResourceVersion in the precondition (${resourceVersion}) does not match the ResourceVersion in record (${meta.resourceVersion ?? ''}). The object might have been modified`;
    throw conflict(call.groupKind, name, why);
  }
}

function atLeastOneWhenNegative(seconds: number | undefined): number | undefined {
  return seconds !== undefined && seconds < 0 ? 1 : seconds;
}

/**
 * Marks an object that stays because of its finalizers as deleted now, without grace. Source: registry.markAsDeleting.
 */
export function markAsDeleting(meta: ObjectMeta, nowMs: number): void {
  if (meta.deletionTimestamp === undefined && meta.generation !== undefined && meta.generation > 0) meta.generation++;
  if (meta.deletionTimestamp === undefined || parseTime(meta.deletionTimestamp) > nowMs) {
    meta.deletionTimestamp = formatTime(nowMs);
  }
  meta.deletionGracePeriodSeconds = 0;
}

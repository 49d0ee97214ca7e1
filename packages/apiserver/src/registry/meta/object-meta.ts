// System metadata of objects, which the server wipes, fills in and carries over in creates and updates. Source:
// apiserver registry/rest/meta.go, create.go (BeforeCreate) and update.go (BeforeUpdate).

import {
  type DeepReadonly,
  formatTime,
  type KubernetesObject,
  type ObjectMeta,
  type OwnerReference,
} from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { knownSize } from '@kapstan/api/internal';

/** Returns the object's metadata; makes it when absent. */
export function metaOf(object: KubernetesObject): ObjectMeta {
  object.metadata ??= {};
  return object.metadata;
}

/** Removes fields that only the server may set. Source: rest.WipeObjectMetaSystemFields. */
export function wipeSystemMetadata(meta: ObjectMeta): void {
  delete meta.uid;
  delete meta.creationTimestamp;
  delete meta.deletionTimestamp;
  delete meta.deletionGracePeriodSeconds;
  delete meta.selfLink;
}

/** Source: rest.FillObjectMetaSystemFields. */
export function fillSystemMetadata(meta: ObjectMeta, values: { readonly uid: string; readonly nowMs: number }): void {
  meta.uid = values.uid;
  meta.creationTimestamp = formatTime(values.nowMs);
}

/**
 * Drops members that Go's JSON omits from metadata: empty lists, maps and texts, nulls. Otherwise `finalizers: []`
 * would be a change, which it is not in Kubernetes.
 */
export function dropEmptyMetadata(meta: ObjectMeta): void {
  const fields = meta as Record<string, unknown>;
  for (const key of Object.keys(fields)) if (isEmpty(fields[key], key)) delete fields[key];
}

function isEmpty(value: unknown, key: string): boolean {
  if (value === undefined || value === null || value === '') return true;
  if (value === 0) return key === 'generation';
  if (typeof value !== 'object') return false;
  return Array.isArray(value) ? value.length === 0 : knownSize(value) === 0 && Object.keys(value).length === 0;
}

/**
 * Sets the object's namespace to the request's (`""` = cluster-scoped). Throws 400 when it names another one. Source:
 * rest.EnsureObjectNamespaceMatchesRequestNamespace.
 */
export function ensureNamespace(meta: ObjectMeta, requested: string): void {
  const present = meta.namespace ?? '';
  if (present !== '' && requested !== '' && present !== requested) {
    throw badRequest('the namespace of the provided object does not match the namespace sent on the request');
  }
  if (requested === '') delete meta.namespace;
  else meta.namespace = requested;
}

/** Carries over fields that an update cannot change. Source: rest.BeforeUpdate. */
export function keepSystemMetadata(next: ObjectMeta, old: DeepReadonly<ObjectMeta>): void {
  if (old.generation === undefined) delete next.generation;
  else next.generation = old.generation;
  if (!next.uid && old.uid !== undefined) next.uid = old.uid;
  if (old.creationTimestamp != null) next.creationTimestamp = old.creationTimestamp;
  if (old.deletionTimestamp !== undefined) next.deletionTimestamp = old.deletionTimestamp;
  if (old.deletionGracePeriodSeconds !== undefined && next.deletionGracePeriodSeconds == null) {
    next.deletionGracePeriodSeconds = old.deletionGracePeriodSeconds;
  }
}

/**
 * Removes owner references equal to an earlier one; returns the uids that occurred twice, sorted. Source:
 * dedupOwnerReferences.
 */
export function dedupeOwnerReferences(meta: ObjectMeta): readonly string[] {
  const references = meta.ownerReferences;
  if (references === undefined || references.length < 2) return [];
  // Equal references have the same uid, so only references that share one are compared as texts.
  const uids = new Map<string, number>();
  for (const { uid } of references) uids.set(uid, (uids.get(uid) ?? 0) + 1);
  if (uids.size === references.length) return [];
  const seen = new Set<string>();
  const duplicates = new Set<string>();
  const kept = references.filter((reference) => {
    if (uids.get(reference.uid) === 1) return true;
    const identity = identityOf(reference);
    const isNew = !seen.has(identity);
    if (isNew) seen.add(identity);
    else duplicates.add(reference.uid);
    return isNew;
  });
  if (duplicates.size > 0) meta.ownerReferences = kept;
  return [...duplicates].sort();
}

/** Returns the same text for equal references and for no others. */
function identityOf({
  apiVersion = '',
  kind = '',
  name = '',
  uid,
  controller,
  blockOwnerDeletion,
}: OwnerReference): string {
  const lengths = `${apiVersion.length} ${kind.length} ${name.length} ${controller ?? ''} ${blockOwnerDeletion ?? ''}`;
  return `${lengths} ${apiVersion}${kind}${name}${uid}`;
}

/** Returns the reference with its members in the order of the Go struct, for messages that show it. */
export function goOwnerReference(reference: DeepReadonly<OwnerReference>): OwnerReference {
  const { apiVersion = '', kind = '', name = '', uid = '', controller, blockOwnerDeletion } = reference;
  return {
    apiVersion,
    kind,
    name,
    uid,
    ...(controller == null ? {} : { controller }),
    ...(blockOwnerDeletion == null ? {} : { blockOwnerDeletion }),
  };
}

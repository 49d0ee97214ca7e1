// The identity of an object: as owner references state it, and as it was observed. The two may differ, because users write references. Used
// by dependency-graph.ts. Source: pkg/controller/garbagecollector objectReference and its helpers.
import type { DeepReadonly, OwnerReference } from '@kapstan/api';

/** The identity of the owner as an owner reference states it. */
export interface OwnerCoordinates {
  readonly apiVersion: string;
  readonly kind: string;
  readonly name: string;
  readonly uid: string;
}

/** Coordinates with a namespace; "" for a cluster-scoped object. */
export interface ObjectIdentity extends OwnerCoordinates {
  readonly namespace: string;
}

export type References = DeepReadonly<OwnerReference[]>;

/** Returns the identity that the referenced owner would have in this namespace. */
export function ownerIdentity(reference: OwnerCoordinates, namespace: string): ObjectIdentity {
  const { apiVersion, kind, name, uid } = reference;
  return { apiVersion, kind, name, uid, namespace };
}

export function hasCoordinates(reference: OwnerCoordinates, owner: OwnerCoordinates): boolean {
  const { apiVersion, kind, name, uid } = reference;
  return owner.uid === uid && owner.name === name && owner.kind === kind && owner.apiVersion === apiVersion;
}

/** Returns a string that is equal for equal identities; it also orders them. */
export function identityKey({ apiVersion, kind, name, uid, namespace }: ObjectIdentity): string {
  return JSON.stringify([apiVersion, kind, namespace, name, uid]);
}

/** Formats an identity for logs and events. Source: objectReference.String. */
export function formatIdentity({ apiVersion, kind, name, uid, namespace }: ObjectIdentity): string {
  return `[${apiVersion}/${kind}, namespace: ${namespace}, name: ${name}, uid: ${uid}]`;
}

/** An object that has owners. */
export interface Dependent {
  readonly identity: ObjectIdentity;
  readonly owners: References;
}

/**
 * Returns whether a dependent refers to this owner, to another owner with the same uid, or (through two references) to both.
 */
export function meansOwner(
  { identity, owners }: Dependent,
  owner: ObjectIdentity,
): { readonly matches: boolean; readonly differs: boolean } {
  if (owner.namespace !== '' && owner.namespace !== identity.namespace) return { matches: false, differs: true };
  const references = owners.filter(({ uid }) => uid === owner.uid);
  const matches = references.some((reference) => hasCoordinates(reference, owner));
  return { matches, differs: references.some((reference) => !hasCoordinates(reference, owner)) };
}

/**
 * Returns the next identity that dependents give an owner which does not exist as `absent`. The identities are tried in a round, so that
 * each gets its turn. Returns undefined when there is no other.
 */
export function alternateIdentity(
  dependents: readonly Dependent[],
  absent: ObjectIdentity,
): ObjectIdentity | undefined {
  const alternates = new Map<string, ObjectIdentity>();
  for (const { identity, owners } of dependents) {
    for (const reference of owners) {
      if (reference.uid !== absent.uid) continue;
      const isClusterScoped = absent.namespace === '' && hasCoordinates(reference, absent);
      const alternate = ownerIdentity(reference, isClusterScoped ? '' : identity.namespace);
      alternates.set(identityKey(alternate), alternate);
    }
  }
  alternates.delete(identityKey(absent));
  const keys = [...alternates.keys()].sort();
  const next = keys.find((key) => key > identityKey(absent)) ?? keys[0];
  return next === undefined ? undefined : alternates.get(next);
}

// LiveObjects asks the server for the newest state of an identity and changes it: deletion, owner references, finalizers. It sits between
// garbage-collector.ts and the client.

import { isDeepStrictEqual } from 'node:util';
import {
  deepCopy,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type ObjectMeta,
  type ObjectTarget,
  type OwnerReference,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import type { PropagationPolicy } from '@kapstan/api/internal';
import { formatIdentity, type ObjectIdentity } from './object-identity.ts';
import type { ServedKinds } from './served-kinds.ts';

/**
 * absent: no such object exists. unknown-kind: the kind is not served, so it is unknown. misplaced: a cluster-scoped object names a
 * namespaced owner.
 */
export type Lookup =
  | { readonly type: 'found'; readonly object: KubernetesObject }
  | { readonly type: 'absent' | 'unknown-kind' | 'misplaced' };

/** Returns the fields to patch; undefined = nothing to change. */
type MetadataChange = (meta: ObjectMeta) => object | undefined;

export class LiveObjects {
  readonly #client: ResourceClient;
  readonly #kinds: ServedKinds;
  readonly #signal: AbortSignal;

  constructor(client: ResourceClient, kinds: ServedKinds, signal: AbortSignal) {
    this.#client = client;
    this.#kinds = kinds;
    this.#signal = signal;
  }

  /** Returns the object with this name and uid. Rejects when the server cannot tell. */
  async find(identity: ObjectIdentity): Promise<Lookup> {
    const token = this.#kinds.find(identity.apiVersion, identity.kind);
    if (token === undefined) return { type: 'unknown-kind' };
    if (token.scope === 'Namespaced' && identity.namespace === '') return { type: 'misplaced' };
    const object = await this.#get(token, targetOf(token, identity));
    return object?.metadata?.uid === identity.uid ? { type: 'found', object } : { type: 'absent' };
  }

  /** Deletes the object. Rejects with a conflict when its owners have changed since `seen`; does nothing when the object is gone. */
  async delete(identity: ObjectIdentity, seen: KubernetesObject, propagationPolicy: PropagationPolicy): Promise<void> {
    const attempt = (resourceVersion: string | undefined): Promise<unknown> => {
      const token = this.#tokenOf(identity);
      const preconditions = { uid: identity.uid, ...(resourceVersion === undefined ? {} : { resourceVersion }) };
      const options = { preconditions, propagationPolicy, signal: this.#signal };
      return this.#client.delete(token, targetOf(token, identity), options);
    };
    try {
      await attempt(seen.metadata?.resourceVersion);
    } catch (error) {
      if (isNotFound(error)) return;
      if (!isConflict(error)) throw error;
      const now = await this.find(identity);
      if (now.type !== 'found') return;
      const { resourceVersion, ownerReferences } = now.object.metadata ?? {};
      if (!isDeepStrictEqual(ownerReferences, seen.metadata?.ownerReferences)) throw error;
      await attempt(resourceVersion);
    }
  }

  /** Removes the references to these owners. Does nothing when the object is gone or has none of them. */
  async dropOwners(identity: ObjectIdentity, uids: ReadonlySet<string>): Promise<void> {
    await this.#change(identity, ({ ownerReferences = [] }) => {
      const left = ownerReferences.filter(({ uid }) => !uids.has(uid));
      return left.length === ownerReferences.length ? undefined : { ownerReferences: orNull(left) };
    });
  }

  /** Clears blockOwnerDeletion, so that the object's owners no longer wait for it. */
  async unblockOwners(identity: ObjectIdentity): Promise<void> {
    await this.#change(identity, ({ ownerReferences = [] }) => {
      if (!ownerReferences.some(({ blockOwnerDeletion }) => blockOwnerDeletion === true)) return undefined;
      const unblocked: OwnerReference[] = deepCopy(ownerReferences);
      for (const reference of unblocked)
        if (reference.blockOwnerDeletion === true) reference.blockOwnerDeletion = false;
      return { ownerReferences: unblocked };
    });
  }

  async removeFinalizer(identity: ObjectIdentity, finalizer: string): Promise<void> {
    await this.#change(identity, ({ finalizers = [] }) => {
      const left = finalizers.filter((present) => present !== finalizer);
      return left.length === finalizers.length ? undefined : { finalizers: orNull(left) };
    });
  }

  /** Patches the newest state, and retries after a conflict. Does nothing when the object is gone or needs no change. */
  async #change(identity: ObjectIdentity, changeOf: MetadataChange): Promise<void> {
    for (;;) {
      this.#signal.throwIfAborted();
      const present = await this.find(identity);
      if (present.type === 'unknown-kind') throw unknownKind(identity);
      if (present.type !== 'found') return;
      const meta = present.object.metadata ?? {};
      const change = changeOf(meta);
      if (change === undefined) return;
      // The resourceVersion makes the patch fail if the object has changed since it was read.
      const body = { metadata: { resourceVersion: meta.resourceVersion, ...change } };
      if ((await this.#patch(identity, body)) !== 'conflict') return;
    }
  }

  async #patch(identity: ObjectIdentity, body: object): Promise<'written' | 'gone' | 'conflict'> {
    const token = this.#tokenOf(identity);
    try {
      await this.#client.patch(token, targetOf(token, identity), { type: 'merge', body }, { signal: this.#signal });
      return 'written';
    } catch (error) {
      if (isNotFound(error)) return 'gone';
      if (isConflict(error)) return 'conflict';
      throw error;
    }
  }

  async #get(token: Resource, target: ObjectTarget): Promise<KubernetesObject | undefined> {
    try {
      return await this.#client.get(token, target, { signal: this.#signal });
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  #tokenOf(identity: ObjectIdentity): Resource {
    const token = this.#kinds.find(identity.apiVersion, identity.kind);
    if (token === undefined) throw unknownKind(identity);
    return token;
  }
}

function targetOf(token: Resource, { namespace, name }: ObjectIdentity): ObjectTarget {
  return token.scope === 'Namespaced' ? { namespace, name } : { name };
}

function orNull<T>(list: readonly T[]): readonly T[] | null {
  return list.length === 0 ? null : list;
}

function unknownKind(identity: ObjectIdentity): Error {
  return new Error(`unable to get REST mapping for ${formatIdentity(identity)}: the kind is not served`);
}

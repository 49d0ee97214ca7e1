// DependencyGraph records which object owns which, as the informers see it, and reports the nodes that a change affects. It is plain
// synchronous state: the garbage collector reads it and asks the server. Source: garbagecollector graph_builder.
import type { DeepReadonly, ObjectMeta } from '@kapstan/api';
import { AbsentOwners } from './absent-owners.ts';
import {
  alternateIdentity,
  hasCoordinates,
  meansOwner,
  type ObjectIdentity,
  ownerIdentity,
  type References,
} from './object-identity.ts';

/** An object, or a virtual node: an owner that references name but no informer has seen. */
export interface GraphNode {
  /** A number that is never reused within one graph. */
  readonly id: number;
  readonly identity: ObjectIdentity;
  readonly owners: References;
  readonly dependents: ReadonlySet<GraphNode>;
  readonly isVirtual: boolean;
  readonly isBeingDeleted: boolean;
  /** True during a foreground deletion: the object waits until its dependents are gone. */
  readonly isDeletingDependents: boolean;
  /** True while it is being deleted and its dependents are to stay. */
  readonly isOrphaning: boolean;
}

type Mutable = { -readonly [K in Exclude<keyof GraphNode, 'dependents'>]: GraphNode[K] } & {
  readonly dependents: Set<Mutable>;
};

export interface DependencyGraphOptions {
  /** Requests processing of the node: it may have to be deleted, orphaned or removed from the graph. */
  readonly onAttempt: (node: GraphNode) => void;
  /** Like onAttempt, but with growing delays. */
  readonly onRetry: (node: GraphNode) => void;
  /** Called when the dependent names an owner that lives in another namespace. */
  readonly onInvalidOwner: (dependent: ObjectIdentity, owner: ObjectIdentity) => void;
}

const foregroundFinalizer = 'foregroundDeletion';
const orphanFinalizer = 'orphan';

export class DependencyGraph {
  readonly absentOwners: AbsentOwners = new AbsentOwners();
  readonly #options: DependencyGraphOptions;
  readonly #byUid = new Map<string, Mutable>();
  readonly #byId = new Map<number, Mutable>();
  #lastId = 0;

  constructor(options: DependencyGraphOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#byId.size;
  }

  /** Returns undefined when the node is gone. */
  find(id: number): GraphNode | undefined {
    return this.#byId.get(id);
  }

  findByUid(uid: string): GraphNode | undefined {
    return this.#byUid.get(uid);
  }

  /** Returns the dependents whose references make the owner wait for them (blockOwnerDeletion). */
  blockingDependents(owner: GraphNode): GraphNode[] {
    const { uid } = owner.identity;
    const blocks = ({ owners }: GraphNode): boolean =>
      owners.some((reference) => reference.uid === uid && reference.blockOwnerDeletion === true);
    return [...owner.dependents].filter(blocks);
  }

  /** Records an object that an informer saw, new or changed. Atomic. */
  observe(identity: ObjectIdentity, meta: DeepReadonly<ObjectMeta>): void {
    const known = this.#byUid.get(identity.uid);
    const node = known ?? this.#insert(identity, false);
    if (known !== undefined) this.#confirm(known, identity);
    this.#setOwners(node, meta.ownerReferences ?? []);
    this.#setDeletion(node, meta);
  }

  /** Removes an object whose deletion an informer reported. Atomic. */
  remove(identity: ObjectIdentity): void {
    const node = this.#byUid.get(identity.uid);
    if (node !== undefined) this.#remove(node, identity);
  }

  /** Handles the server's answer that no such object exists. Atomic. */
  confirmAbsent(identity: ObjectIdentity): void {
    const node = this.#byUid.get(identity.uid);
    if (node === undefined) return;
    if (node.isVirtual) return this.#confirmVirtualAbsent(node, identity);
    if (isSame(node.identity, identity)) return this.#remove(node, identity);
    // An object with this uid exists, but it is not the one that these dependents name.
    this.#disown(identity, this.#partition(node, identity).matching);
  }

  // ---- Nodes ----

  #insert(identity: ObjectIdentity, isVirtual: boolean): Mutable {
    const state = { isBeingDeleted: false, isDeletingDependents: false, isOrphaning: false };
    const node: Mutable = { id: ++this.#lastId, identity, owners: [], dependents: new Set(), isVirtual, ...state };
    this.#byUid.set(identity.uid, node);
    this.#byId.set(node.id, node);
    return node;
  }

  /** Handles the first sight of an owner known only from references, which may turn out to have another identity. */
  #confirm(node: Mutable, identity: ObjectIdentity): void {
    const isDifferent = !isSame(node.identity, identity);
    node.identity = identity;
    if (!node.isVirtual) return;
    node.isVirtual = false;
    if (!isDifferent) return;
    for (const dependent of this.#partition(node, identity).differing) {
      const isElsewhere = identity.namespace !== '' && identity.namespace !== dependent.identity.namespace;
      if (isElsewhere) this.#reportInvalidOwner(dependent, identity.uid);
      this.#options.onAttempt(dependent);
    }
  }

  #remove(node: Mutable, identity: ObjectIdentity): void {
    this.#byUid.delete(node.identity.uid);
    this.#byId.delete(node.id);
    for (const { uid } of node.owners) this.#byUid.get(uid)?.dependents.delete(node);
    this.#disown(identity, [...node.dependents]);
    // Owners that wait for their dependents may have waited for this object.
    for (const { uid } of node.owners) {
      const owner = this.#byUid.get(uid);
      if (owner?.isDeletingDependents) this.#options.onAttempt(owner);
    }
  }

  #disown(owner: ObjectIdentity, dependents: readonly Mutable[]): void {
    if (dependents.length > 0) this.absentOwners.add(owner);
    for (const dependent of dependents) this.#options.onAttempt(dependent);
  }

  /** Handles a virtual node that the server does not have. Its dependents may name different identities; each of them is tried in turn. */
  #confirmVirtualAbsent(node: Mutable, identity: ObjectIdentity): void {
    const { matching, differing } = this.#partition(node, identity);
    if (differing.length === 0) return this.#remove(node, identity);
    this.#disown(identity, matching);
    if (!isSame(node.identity, identity)) return;
    const alternate = alternateIdentity(differing, identity);
    if (alternate === undefined) return;
    node.identity = alternate;
    this.#options.onRetry(node);
  }

  #partition(node: Mutable, owner: ObjectIdentity): { readonly matching: Mutable[]; readonly differing: Mutable[] } {
    const dependents = [...node.dependents];
    return {
      matching: dependents.filter((dependent) => meansOwner(dependent, owner).matches),
      differing: dependents.filter((dependent) => meansOwner(dependent, owner).differs),
    };
  }

  // ---- Deletion ----

  #setDeletion(node: Mutable, meta: DeepReadonly<ObjectMeta>): void {
    const { isDeletingDependents: wasDeletingDependents, isOrphaning: wasOrphaning } = node;
    const finalizers = meta.finalizers ?? [];
    node.isBeingDeleted = meta.deletionTimestamp !== undefined;
    node.isOrphaning = node.isBeingDeleted && finalizers.includes(orphanFinalizer);
    node.isDeletingDependents = node.isBeingDeleted && finalizers.includes(foregroundFinalizer);
    if (node.isOrphaning && !wasOrphaning) return this.#options.onAttempt(node);
    if (!node.isDeletingDependents || wasDeletingDependents) return;
    for (const dependent of node.dependents) this.#options.onAttempt(dependent);
    this.#options.onAttempt(node);
  }

  // ---- Owners ----

  #setOwners(node: Mutable, next: References): void {
    // A shortcut, because most objects have no owners.
    if (node.owners.length === 0 && next.length === 0) return;
    const before = byUid(node.owners);
    const after = byUid(next);
    node.owners = next;
    for (const [uid, old] of before) {
      const now = after.get(uid);
      const owner = this.#byUid.get(uid);
      if (now === undefined) owner?.dependents.delete(node);
      const isUnblocked = old.blockOwnerDeletion === true && now?.blockOwnerDeletion !== true;
      if (isUnblocked && owner !== undefined) this.#options.onAttempt(owner);
    }
    let isDoubtful = false;
    for (const [uid, reference] of after) {
      if (!before.has(uid) && this.#addTo(reference, node) === 'doubtful') isDoubtful = true;
    }
    if (isDoubtful) this.#options.onAttempt(node);
  }

  /** Returns "doubtful" when the reference may not mean the owner that has its uid; then the server has to be asked. */
  #addTo(reference: References[number], node: Mutable): 'certain' | 'doubtful' {
    const { namespace } = node.identity;
    const known = this.#byUid.get(reference.uid);
    const owner = known ?? this.#insert(ownerIdentity(reference, namespace), true);
    owner.dependents.add(node);
    if (known === undefined) {
      this.#options.onAttempt(owner);
      return 'certain';
    }
    const isElsewhere = owner.identity.namespace !== namespace;
    const isNamespaced = owner.identity.namespace !== '';
    if (isNamespaced && isElsewhere) {
      if (!owner.isVirtual) this.#reportInvalidOwner(node, reference.uid);
      return 'doubtful';
    }
    if (!hasCoordinates(reference, owner.identity)) return 'doubtful';
    return isElsewhere && owner.isVirtual ? 'doubtful' : 'certain';
  }

  #reportInvalidOwner({ identity, owners }: Mutable, uid: string): void {
    const reference = owners.find((candidate) => candidate.uid === uid);
    if (reference !== undefined) this.#options.onInvalidOwner(identity, ownerIdentity(reference, identity.namespace));
  }
}

function byUid(references: References): Map<string, References[number]> {
  return new Map(references.map((reference) => [reference.uid, reference]));
}

function isSame(a: ObjectIdentity, b: ObjectIdentity): boolean {
  return a.namespace === b.namespace && hasCoordinates(a, b);
}

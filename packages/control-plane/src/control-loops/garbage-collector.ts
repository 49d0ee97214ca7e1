// GarbageCollector decides about one node of the graph from the newest state of the object and its owners: delete it, drop references
// to absent owners, or leave it. Between garbage-collector-controller.ts, the graph and the server.
import type { KubernetesObject, OwnerReference } from '@kapstan/api';
import type { PropagationPolicy } from '@kapstan/api/internal';
import type { DependencyGraph, GraphNode } from './dependency-graph.ts';
import type { LiveObjects, Lookup } from './live-objects.ts';
import { formatIdentity, type ObjectIdentity, ownerIdentity } from './object-identity.ts';

/**
 * done: nothing to do until something changes. retry: undecided; try again with growing delays. unknown-kind: like retry, and also as soon
 * as a new kind is served.
 */
export type Verdict = 'done' | 'retry' | 'unknown-kind';

export interface GarbageCollectorOptions {
  readonly graph: DependencyGraph;
  readonly objects: LiveObjects;
  /** Queues another node. */
  readonly enqueue: (node: GraphNode) => void;
}

const foregroundFinalizer = 'foregroundDeletion';
const orphanFinalizer = 'orphan';
/** Number of dependents that are patched in parallel. */
const parallelPatches = 20;

interface Owners {
  readonly solid: OwnerReference[];
  readonly dangling: OwnerReference[];
  /** Owners that are being deleted in the foreground and wait for their dependents. */
  readonly waiting: OwnerReference[];
}

/** Holds no state except the graph. Methods may run for several nodes at the same time, but only once for each node. */
export class GarbageCollector {
  readonly #graph: DependencyGraph;
  readonly #objects: LiveObjects;
  readonly #enqueue: (node: GraphNode) => void;

  constructor({ graph, objects, enqueue }: GarbageCollectorOptions) {
    this.#graph = graph;
    this.#objects = objects;
    this.#enqueue = enqueue;
  }

  /** Rejects with the server's error. Source: attemptToDeleteItem, attemptToOrphanWorker. */
  async process(node: GraphNode): Promise<Verdict> {
    if (node.isOrphaning) return this.#orphan(node);
    if (node.isBeingDeleted && !node.isDeletingDependents) return 'done';
    const hasNothingToAsk = !node.isVirtual && !node.isDeletingDependents && node.owners.length === 0;
    if (hasNothingToAsk) return 'done';
    // The identity is kept here, because the node may be given another identity meanwhile.
    const { identity } = node;
    const live = await this.#objects.find(identity);
    switch (live.type) {
      case 'found':
        return this.#processFound(node, live.object);
      case 'absent':
        this.#graph.confirmAbsent(identity);
        return 'done';
      case 'misplaced':
        return 'done';
      case 'unknown-kind':
        return 'unknown-kind';
    }
  }

  async #processFound(node: GraphNode, object: KubernetesObject): Promise<Verdict> {
    const verdict = node.isDeletingDependents ? await this.#waitForDependents(node) : await this.#decide(node, object);
    // A virtual node is retried, because an object that came and went while its watch was reopening would otherwise stay in the graph
    // forever.
    return node.isVirtual && verdict === 'done' ? 'retry' : verdict;
  }

  /** Removes the foreground finalizer once no dependent blocks the deletion any more. */
  async #waitForDependents(node: GraphNode): Promise<Verdict> {
    const blocking = this.#graph.blockingDependents(node);
    if (blocking.length === 0) await this.#objects.removeFinalizer(node.identity, foregroundFinalizer);
    for (const dependent of blocking) if (!dependent.isDeletingDependents) this.#enqueue(dependent);
    return 'done';
  }

  async #decide(node: GraphNode, object: KubernetesObject): Promise<Verdict> {
    const { identity } = node;
    const references = object.metadata?.ownerReferences ?? [];
    if (references.length === 0) return 'done';
    const owners = await this.#classify(identity, references);
    if (typeof owners === 'string') return owners;
    const { solid, dangling, waiting } = owners;
    if (solid.length > 0) {
      const gone = new Set([...dangling, ...waiting].map(({ uid }) => uid));
      if (gone.size > 0) await this.#objects.dropOwners(identity, gone);
    } else if (waiting.length > 0 && node.dependents.size > 0) {
      // Two objects that wait for each other would wait forever.
      const isCircle = [...node.dependents].some((dependent) => dependent.isDeletingDependents);
      if (isCircle) await this.#objects.unblockOwners(identity);
      const seen = isCircle ? await this.#objects.find(identity) : ({ type: 'found', object } as const);
      if (seen.type === 'found') await this.#objects.delete(identity, seen.object, 'Foreground');
    } else await this.#objects.delete(identity, object, policyOf(object));
    return 'done';
  }

  /** Sorts the owners by their present state; returns a verdict when that cannot be determined. */
  async #classify(dependent: ObjectIdentity, references: readonly OwnerReference[]): Promise<Owners | Verdict> {
    const owners: Owners = { solid: [], dangling: [], waiting: [] };
    for (const reference of references) {
      const found = await this.#findOwner(dependent, reference);
      if (found.type === 'found') owners[isWaiting(found.object) ? 'waiting' : 'solid'].push(reference);
      else if (found.type === 'absent') owners.dangling.push(reference);
      else return found.type === 'misplaced' ? 'done' : 'unknown-kind';
    }
    return owners;
  }

  async #findOwner(dependent: ObjectIdentity, reference: OwnerReference): Promise<Lookup> {
    const { absentOwners } = this.#graph;
    const clusterScoped = ownerIdentity(reference, '');
    const namespaced = ownerIdentity(reference, dependent.namespace);
    if (absentOwners.has(clusterScoped) || absentOwners.has(namespaced)) return { type: 'absent' };
    const found = await this.#objects.find(namespaced);
    if (found.type === 'absent') absentOwners.add(namespaced);
    return found;
  }

  async #orphan(node: GraphNode): Promise<Verdict> {
    const owner = new Set([node.identity.uid]);
    const dependents = [...node.dependents];
    const failures: unknown[] = [];
    for (let from = 0; from < dependents.length; from += parallelPatches) {
      const slice = dependents.slice(from, from + parallelPatches);
      const patches = slice.map(({ identity }) => this.#objects.dropOwners(identity, owner));
      for (const outcome of await Promise.allSettled(patches)) {
        if (outcome.status === 'rejected') failures.push(outcome.reason);
      }
    }
    if (failures.length > 0) {
      const texts = failures.map(String).join(', ');
      const message = `failed to orphan dependents of owner ${formatIdentity(node.identity)}, got errors: ${texts}`;
      throw new AggregateError(failures, message);
    }
    await this.#objects.removeFinalizer(node.identity, orphanFinalizer);
    return 'done';
  }
}

function isWaiting({ metadata }: KubernetesObject): boolean {
  return metadata?.deletionTimestamp !== undefined && (metadata.finalizers ?? []).includes(foregroundFinalizer);
}

/** Keeps the policy that an earlier deletion request set through a finalizer. */
function policyOf({ metadata }: KubernetesObject): PropagationPolicy {
  const finalizers = metadata?.finalizers ?? [];
  if (finalizers.includes(orphanFinalizer)) return 'Orphan';
  return finalizers.includes(foregroundFinalizer) ? 'Foreground' : 'Background';
}

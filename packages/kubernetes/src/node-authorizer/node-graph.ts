// NodeGraph knows the objects that are related to each node: a node runs pods, a pod refers to secrets, claims and others, and a volume
// belongs to a claim. It is plain synchronous state, filled by node-graph-feed.ts and used by node-authorizer.ts for every request of a
// kubelet. It counts references by node instead of keeping edges, so that an answer needs no search, however many pods refer to an object.
// Source: plugin/pkg/auth/authorizer/node/graph.go.
import { NodeUses } from './node-uses.ts';

/** Kinds of objects to which a node may be related. */
export type VertexType =
  | 'configmap'
  | 'resourceslice'
  | 'pod'
  | 'pvc'
  | 'pv'
  | 'resourceclaim'
  | 'secret'
  | 'volumeattachment'
  | 'serviceAccount';

export interface Vertex {
  readonly type: VertexType;
  /** "" = it has no namespace. */
  readonly namespace: string;
  readonly name: string;
}

/** An object with a node, and the objects that the node may therefore see. */
interface Holder {
  readonly node: string;
  readonly keys: readonly string[];
}

interface BoundVolume {
  readonly claim: string;
  readonly secrets: readonly string[];
}

/** Knows the objects that each node needs because of its pods; the Node authorizer allows access to these. */
export class NodeGraph {
  readonly #uses = new Map<string, NodeUses>();
  readonly #holders = new Map<string, Holder>();
  readonly #volumes = new Map<string, BoundVolume>();
  /** Volumes by the secrets that they need. */
  readonly #volumesOfSecret = new Map<string, Set<string>>();

  /** Returns whether the object is related to the node. */
  isRelated(node: string, vertex: Vertex): boolean {
    const key = keyOf(vertex);
    if (vertex.type === 'pv') return this.#isVolumeOn(node, vertex.name);
    if (this.#uses.get(key)?.has(node) === true) return true;
    if (vertex.type !== 'secret') return false;
    for (const volume of this.#volumesOfSecret.get(key) ?? []) if (this.#isVolumeOn(node, volume)) return true;
    return false;
  }

  /** Sets the node of an object, and the objects that the node may see because of it. */
  setHolder(holder: Vertex, node: string, related: readonly Vertex[]): void {
    this.deleteHolder(holder);
    const own = keyOf(holder);
    const keys = [own, ...related.map(keyOf)];
    this.#holders.set(own, { node, keys });
    for (const key of keys) this.#usesOf(key).add(node);
  }

  deleteHolder(holder: Vertex): void {
    const own = keyOf(holder);
    const known = this.#holders.get(own);
    if (known === undefined) return;
    this.#holders.delete(own);
    for (const key of known.keys) {
      const uses = this.#usesOf(key);
      uses.remove(known.node);
      if (uses.isEmpty) this.#uses.delete(key);
    }
  }

  /** Sets the claim of a volume, and the secrets that kubelets need for it. */
  setVolume(name: string, claim: Vertex, secrets: readonly Vertex[]): void {
    this.deleteVolume(name);
    const keys = secrets.map(keyOf);
    this.#volumes.set(name, { claim: keyOf(claim), secrets: keys });
    for (const key of keys) {
      const volumes = this.#volumesOfSecret.get(key) ?? new Set();
      volumes.add(name);
      this.#volumesOfSecret.set(key, volumes);
    }
  }

  deleteVolume(name: string): void {
    for (const key of this.#volumes.get(name)?.secrets ?? []) {
      const volumes = this.#volumesOfSecret.get(key);
      volumes?.delete(name);
      if (volumes?.size === 0) this.#volumesOfSecret.delete(key);
    }
    this.#volumes.delete(name);
  }

  /** Number of objects that are kept, for tests of leaks. */
  get size(): number {
    return this.#uses.size + this.#holders.size + this.#volumes.size + this.#volumesOfSecret.size;
  }

  #isVolumeOn(node: string, volume: string): boolean {
    const claim = this.#volumes.get(volume)?.claim;
    return claim !== undefined && this.#uses.get(claim)?.has(node) === true;
  }

  #usesOf(key: string): NodeUses {
    const known = this.#uses.get(key);
    if (known !== undefined) return known;
    const uses = new NodeUses();
    this.#uses.set(key, uses);
    return uses;
  }
}

/** The length marks the end of the namespace, because names in a review may contain any character. */
function keyOf({ type, namespace, name }: Vertex): string {
  return `${type} ${namespace.length} ${namespace} ${name}`;
}

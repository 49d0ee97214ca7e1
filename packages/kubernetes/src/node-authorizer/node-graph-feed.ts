// NodeGraphFeed keeps a NodeGraph in step with stored objects. A whole list is taken over in slices, because a cluster may have more pods
// than fit into one turn; changes that arrive meanwhile wait, one for each object. Until the first lists have been taken over, nodes are
// refused access to objects that are not known yet, as in Kubernetes. Source: plugin/pkg/auth/authorizer/node/graph_populator.go.
import { type DeepReadonly, type KubernetesObject, type Logger, silentLogger } from '@kapstan/api';
import { TurnSlice } from '@kapstan/api/internal';
import type { PersistentVolume, Pod } from '@kapstan/kinds/core/v1';
import type { ResourceSlice } from '@kapstan/kinds/resource.k8s.io/v1';
import type { VolumeAttachment } from '@kapstan/kinds/storage.k8s.io/v1';
import type { NodeGraph, Vertex } from './node-graph.ts';
import { changeMarkOf, relatedOfPod, secretsOfVolume } from './related-objects.ts';

/** The kinds that a {@link NodeGraphFeed} follows. */
export type NodeGraphKind = 'Pod' | 'PersistentVolume' | 'VolumeAttachment' | 'ResourceSlice';

type Stored = DeepReadonly<KubernetesObject>;

/** A change that waits until a list has been taken over. Undefined = the object was deleted. */
type Waiting = Map<string, Stored | undefined>;

/** Follows the objects of a {@link NodeGraph}. */
export class NodeGraphFeed {
  readonly #graph: NodeGraph;
  readonly #logger: Logger;
  /** The last entries in the graph, by kind and key: the mark of a pod, "" for others. */
  readonly #marks: Readonly<Record<NodeGraphKind, Map<string, string>>> = {
    Pod: new Map(),
    PersistentVolume: new Map(),
    VolumeAttachment: new Map(),
    ResourceSlice: new Map(),
  };
  readonly #waiting = new Map<NodeGraphKind, Waiting>();
  #lists: Promise<unknown> = Promise.resolve();

  constructor(graph: NodeGraph, logger: Logger = silentLogger) {
    this.#graph = graph;
    this.#logger = logger;
  }

  set(kind: NodeGraphKind, object: Stored): void {
    const waiting = this.#waiting.get(kind);
    if (waiting === undefined) this.#put(kind, object);
    else waiting.set(objectKeyOf(object), object);
  }

  delete(kind: NodeGraphKind, object: Stored): void {
    const key = objectKeyOf(object);
    const waiting = this.#waiting.get(kind);
    if (waiting === undefined) this.#remove(kind, key);
    else waiting.set(key, undefined);
  }

  /** Takes over a list. A later list of the kind replaces one that is still being taken over. */
  replace(kind: NodeGraphKind, objects: Iterable<Stored>): void {
    const waiting: Waiting = new Map();
    this.#waiting.set(kind, waiting);
    this.#lists = Promise.all([this.#lists, this.#takeOver(kind, [...objects], waiting)]);
  }

  /** Resolves when all lists received so far have been taken over. */
  async whenSettled(): Promise<void> {
    await this.#lists;
  }

  async #takeOver(kind: NodeGraphKind, objects: readonly Stored[], waiting: Waiting): Promise<void> {
    const present = new Set<string>();
    const put = (object: Stored): void => {
      present.add(objectKeyOf(object));
      this.#put(kind, object);
    };
    const removeMissing = (key: string): void => {
      if (!present.has(key)) this.#remove(kind, key);
    };
    const isCurrent = (): boolean => this.#waiting.get(kind) === waiting;
    await inSlices(objects, put, isCurrent);
    await inSlices([...this.#marks[kind].keys()], removeMissing, isCurrent);
    if (!isCurrent()) return;
    this.#waiting.delete(kind);
    for (const [key, object] of waiting) {
      if (object === undefined) this.#remove(kind, key);
      else this.#put(kind, object);
    }
  }

  /** An object that cannot be read gives nodes no access; others are not affected. */
  #put(kind: NodeGraphKind, object: Stored): void {
    const key = objectKeyOf(object);
    try {
      this.#putReadable(kind, key, object);
    } catch (error) {
      this.#logger.error('an object could not be read; nodes do not have access by it', {
        kind,
        object: key,
        error: String(error),
      });
      this.#remove(kind, key);
    }
  }

  #putReadable(kind: NodeGraphKind, key: string, object: Stored): void {
    const marks = this.#marks[kind];
    const mark = kind === 'Pod' ? changeMarkOf(object as DeepReadonly<Pod>) : '';
    // Most changes of pods are reports of kubelets, which change nothing here.
    if (kind === 'Pod' && marks.get(key) === mark) return;
    if (this.#addToGraph(kind, object)) marks.set(key, mark);
    else this.#remove(kind, key);
  }

  /** Returns false for an object that concerns no node. */
  #addToGraph(kind: NodeGraphKind, object: Stored): boolean {
    const { namespace = '', name = '' } = object.metadata ?? {};
    if (kind === 'PersistentVolume') return this.#addVolume(name, object as DeepReadonly<PersistentVolume>);
    const node = nodeOf(kind, object);
    if (node === '') return false;
    const related = kind === 'Pod' ? relatedOfPod(object as DeepReadonly<Pod>) : [];
    this.#graph.setHolder(holderOf(kind, namespace, name), node, related);
    return true;
  }

  #addVolume(name: string, { spec }: DeepReadonly<PersistentVolume>): boolean {
    const claim = spec?.claimRef;
    if (spec === undefined || claim === undefined) return false;
    const vertex: Vertex = { type: 'pvc', namespace: claim.namespace ?? '', name: claim.name ?? '' };
    this.#graph.setVolume(name, vertex, secretsOfVolume(spec));
    return true;
  }

  #remove(kind: NodeGraphKind, key: string): void {
    if (!this.#marks[kind].delete(key)) return;
    const [namespace = '', name = ''] = key.split('/');
    if (kind === 'PersistentVolume') this.#graph.deleteVolume(name);
    else this.#graph.deleteHolder(holderOf(kind, namespace, name));
  }
}

/** Ends early when a later list has arrived. */
async function inSlices<T>(items: readonly T[], visit: (item: T) => void, isCurrent: () => boolean): Promise<void> {
  const slice = new TurnSlice();
  for (const item of items) {
    if (!isCurrent()) return;
    visit(item);
    if (slice.endsHere()) await slice.nextTurn();
  }
}

function objectKeyOf({ metadata }: Stored): string {
  return `${metadata?.namespace ?? ''}/${metadata?.name ?? ''}`;
}

function holderOf(kind: Exclude<NodeGraphKind, 'PersistentVolume'>, namespace: string, name: string): Vertex {
  switch (kind) {
    case 'Pod':
      return { type: 'pod', namespace, name };
    case 'VolumeAttachment':
      return { type: 'volumeattachment', namespace, name };
    case 'ResourceSlice':
      return { type: 'resourceslice', namespace, name };
  }
}

function nodeOf(kind: Exclude<NodeGraphKind, 'PersistentVolume'>, object: Stored): string {
  switch (kind) {
    case 'Pod':
      return (object as DeepReadonly<Pod>).spec?.nodeName ?? '';
    case 'VolumeAttachment':
      return (object as DeepReadonly<VolumeAttachment>).spec.nodeName;
    case 'ResourceSlice':
      return (object as DeepReadonly<ResourceSlice>).spec.nodeName ?? '';
  }
}

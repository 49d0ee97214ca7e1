// QuotaStore holds the stored quotas of all namespaces in this process, and the names of device classes. A feed of the control plane keeps
// it in step; this server's own writes are added at once. Read by quota-admission.ts and quota-records.ts.
import type { DeepReadonly, KubernetesObject } from '@kapstan/api';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { DeviceClassNames } from '../../quota/device-class-names.ts';
import { QuotaState } from './quota-state.ts';

/** The kinds that the plug-in ResourceQuota follows. */
export type QuotaFeedKind = 'ResourceQuota' | 'DeviceClass';

type Stored = DeepReadonly<KubernetesObject>;
type Quotas = Map<string, QuotaState>;

/** The quotas of a cluster, as the plug-in sees them. */
export class QuotaStore {
  readonly deviceClasses: DeviceClassNames = new DeviceClassNames();
  #namespaces = new Map<string, Quotas>();
  #hasSynced = false;

  /** False until the feed has delivered all quotas once. */
  get hasSynced(): boolean {
    return this.#hasSynced;
  }

  /** True while no namespace has a quota. */
  get isEmpty(): boolean {
    return this.#namespaces.size === 0;
  }

  /** Returns true for a namespace that may have quotas. */
  mayHave(namespace: string): boolean {
    return !this.#hasSynced || this.#namespaces.has(namespace);
  }

  /** Returns the quotas of a namespace in the order of their names. */
  quotasIn(namespace: string): readonly QuotaState[] {
    const quotas = [...(this.#namespaces.get(namespace)?.values() ?? [])];
    return quotas.sort((a, b) => (a.name < b.name ? -1 : 1));
  }

  set(kind: QuotaFeedKind, object: Stored): void {
    if (kind === 'DeviceClass') this.deviceClasses.set(object);
    else put(this.#namespaces, newer(new QuotaState(object as DeepReadonly<ResourceQuota>), this.#find(object)));
  }

  delete(kind: QuotaFeedKind, object: Stored): void {
    if (kind === 'DeviceClass') return this.deviceClasses.delete(object);
    const { namespace = '', name = '' } = object.metadata ?? {};
    const quotas = this.#namespaces.get(namespace);
    quotas?.delete(name);
    if (quotas?.size === 0) this.#namespaces.delete(namespace);
  }

  // Atomic: readers see the quotas before or after.
  replace(kind: QuotaFeedKind, objects: Iterable<Stored>): void {
    if (kind === 'DeviceClass') return this.deviceClasses.replace(objects);
    const next = new Map<string, Quotas>();
    for (const object of objects)
      put(next, newer(new QuotaState(object as DeepReadonly<ResourceQuota>), this.#find(object)));
    this.#namespaces = next;
    this.#hasSynced = true;
  }

  /** Takes a state that this server wrote or read itself and the feed has yet to deliver. A deleted quota stays deleted. */
  advance(state: QuotaState): void {
    const known = this.#namespaces.get(state.namespace)?.get(state.name);
    if (known !== undefined) put(this.#namespaces, newer(state, known));
  }

  #find({ metadata }: Stored): QuotaState | undefined {
    return this.#namespaces.get(metadata?.namespace ?? '')?.get(metadata?.name ?? '');
  }
}

function put(namespaces: Map<string, Quotas>, state: QuotaState): void {
  const quotas = namespaces.get(state.namespace);
  if (quotas === undefined) namespaces.set(state.namespace, new Map([[state.name, state]]));
  else quotas.set(state.name, state);
}

function newer(state: QuotaState, known: QuotaState | undefined): QuotaState {
  return known !== undefined && known.uid === state.uid && known.revision > state.revision ? known : state;
}

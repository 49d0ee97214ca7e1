// QuotaRecords reads the quotas of a namespace and writes their usage. It sits between quota-charger.ts and the store of quotas. Source:
// apiserver pkg/admission/plugin/resourcequota quotaAccessor.
import { type DeepReadonly, isNotFound, type UnstructuredObject } from '@kapstan/api';
import { formatRevision } from '@kapstan/api/internal';
import type { RequestContext, ResourceCatalog, ResourceStore } from '@kapstan/apiserver';
import { serverContext } from '@kapstan/apiserver/internal';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import { formatUsage } from '../../quota/amounts.ts';
import type { RunningQuota } from './quota-check.ts';
import { QuotaState } from './quota-state.ts';
import type { QuotaStore } from './quota-store.ts';

export class QuotaRecords {
  readonly #catalog: ResourceCatalog;
  readonly #known: QuotaStore;

  constructor(catalog: ResourceCatalog, known: QuotaStore) {
    this.#catalog = catalog;
    this.#known = known;
  }

  /** False on a server without quotas. */
  get areServed(): boolean {
    return this.#store() !== undefined;
  }

  /** Returns the known quotas, or the stored ones while not all are known. */
  async quotasIn(namespace: string): Promise<readonly QuotaState[]> {
    if (this.#known.hasSynced) return this.#known.quotasIn(namespace);
    const listed = await this.#store()?.list(contextFor(namespace), {});
    return (listed?.items ?? []).map((stored) => stateOf(stored.object));
  }

  /** Returns the present state; undefined when the quota is gone. */
  async read({ namespace, name }: QuotaState): Promise<QuotaState | undefined> {
    try {
      const stored = await this.#store()?.get(contextFor(namespace), name);
      const state = stored && stateOf(stored.object);
      if (state !== undefined) this.#known.advance(state);
      return state;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw error;
    }
  }

  /** Writes the usage if the quota is still in the state that was compared. Rejects with StatusError otherwise. */
  async write({ state, taken }: RunningQuota): Promise<void> {
    const served = this.#catalog.find('', 'v1', 'resourcequotas');
    const part = served?.definition.subresources?.find(({ name }) => name === 'status');
    if (served === undefined || part?.type !== 'strategy') throw new TypeError('quotas have no status to write');
    const { stored } = await served.store.update(contextFor(state.namespace), {
      name: state.name,
      subresource: 'status',
      strategy: part.strategy,
      preconditions: { uid: state.uid },
      transform: (present) => charged(present as ResourceQuota | undefined, { state, taken }),
    });
    this.#known.advance(stateOf(stored.object));
  }

  #store(): ResourceStore | undefined {
    return this.#catalog.find('', 'v1', 'resourcequotas')?.store;
  }
}

function charged(
  present: ResourceQuota | undefined,
  { state, taken }: Pick<RunningQuota, 'state' | 'taken'>,
): UnstructuredObject {
  const { metadata, status } = present ?? {};
  return {
    ...present,
    metadata: { ...metadata, resourceVersion: formatRevision(state.revision) },
    status: { ...status, used: { ...status?.used, ...formatUsage(taken) } },
  } as UnstructuredObject;
}

function stateOf(object: DeepReadonly<UnstructuredObject>): QuotaState {
  return new QuotaState(object as DeepReadonly<ResourceQuota>);
}

function contextFor(namespace: string): RequestContext {
  return { ...serverContext(namespace), fieldManager: 'kube-apiserver' };
}

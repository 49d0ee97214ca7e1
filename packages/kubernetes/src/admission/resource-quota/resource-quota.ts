// ResourceQuota keeps the usage by the objects of a namespace within its quotas: a request is charged before it is written. Source:
// apiserver pkg/admission/plugin/resourcequota. Decision 0030.
import type { Clock } from '@kapstan/api';
import type { AdmissionAttributes, AdmissionPlugin, ResourceCatalog } from '@kapstan/apiserver';
import type { QuotaEvaluators } from '../../quota/quota-evaluators.ts';
import type { LimitedResource } from './limited-resources.ts';
import type { PendingCharges } from './pending-charges.ts';
import { QuotaCharger } from './quota-charger.ts';
import { QuotaQueue } from './quota-queue.ts';
import { QuotaRecords } from './quota-records.ts';
import type { QuotaStore } from './quota-store.ts';

export interface ResourceQuotaOptions {
  readonly catalog: ResourceCatalog;
  readonly quotas: QuotaStore;
  readonly pending: PendingCharges;
  readonly evaluators: QuotaEvaluators;
  /** Resources that need a quota that covers them. */
  readonly limited: readonly LimitedResource[];
  readonly clock: Clock;
}

export class ResourceQuotaPlugin implements AdmissionPlugin {
  readonly name = 'ResourceQuota';
  readonly #quotas: QuotaStore;
  readonly #evaluators: QuotaEvaluators;
  readonly #limited: readonly LimitedResource[];
  readonly #records: QuotaRecords;
  readonly #queue: QuotaQueue;

  constructor({ catalog, quotas, pending, evaluators, limited, clock }: ResourceQuotaOptions) {
    this.#quotas = quotas;
    this.#evaluators = evaluators;
    this.#limited = limited;
    this.#records = new QuotaRecords(catalog, quotas);
    this.#queue = new QuotaQueue(new QuotaCharger(this.#records, pending), clock);
  }

  get isIdle(): boolean {
    if (this.#limited.length > 0) return false;
    return this.#quotas.hasSynced ? this.#quotas.isEmpty : !this.#records.areServed;
  }

  validate(attributes: AdmissionAttributes): Promise<void> | void {
    const { namespace, kind, operation } = attributes;
    if (namespace === '' || (this.#limited.length === 0 && !this.#quotas.mayHave(namespace))) return;
    if (operation === 'CREATE' && kind.group === '' && kind.kind === 'Namespace') return;
    const evaluator = this.#evaluators.of(attributes.resource);
    if (evaluator === undefined || !evaluator.handles(attributes)) return;
    return this.#queue.pay({ attributes, evaluator, limited: this.#limited });
  }
}

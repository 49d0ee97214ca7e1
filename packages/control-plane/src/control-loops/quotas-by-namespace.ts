// QuotasByNamespace finds the quotas that may apply to an object. resourcequota-controller.ts calls it at each change of any object.
import { type DeepReadonly, metaNamespaceKey, type Resource } from '@kapstan/api';
import { deletionHandlingKey } from '@kapstan/informers';
import type { ResourceQuota } from '@kapstan/kinds/core/v1';
import type { QuotaAdmission } from '@kapstan/kubernetes';

interface Limits {
  readonly names: readonly string[];
  /** Records whether objects of a resource use some of the names, by "resource.group". Each is looked up once. */
  readonly concerned: Map<string, boolean>;
}

export class QuotasByNamespace {
  readonly #evaluators: QuotaAdmission['evaluators'];
  readonly #namespaces = new Map<string, Map<string, Limits>>();

  constructor(evaluators: QuotaAdmission['evaluators']) {
    this.#evaluators = evaluators;
  }

  set(quota: DeepReadonly<ResourceQuota>): void {
    const { namespace = '' } = quota.metadata ?? {};
    const quotas = this.#namespaces.get(namespace) ?? new Map<string, Limits>();
    quotas.set(metaNamespaceKey(quota), { names: Object.keys(quota.spec?.hard ?? {}), concerned: new Map() });
    this.#namespaces.set(namespace, quotas);
  }

  delete(object: Parameters<typeof deletionHandlingKey>[0]): void {
    const key = deletionHandlingKey(object);
    const namespace = key.slice(0, Math.max(0, key.indexOf('/')));
    const quotas = this.#namespaces.get(namespace);
    quotas?.delete(key);
    if (quotas?.size === 0) this.#namespaces.delete(namespace);
  }

  hasAny(namespace: string): boolean {
    return this.#namespaces.has(namespace);
  }

  *keys(): Iterable<string> {
    for (const quotas of this.#namespaces.values()) yield* quotas.keys();
  }

  /** Returns the keys of the quotas that limit the usage by objects of a resource. */
  *limiting({ group, plural }: Resource, namespace: string): Iterable<string> {
    const quotas = this.#namespaces.get(namespace);
    if (quotas === undefined) return;
    const evaluator = this.#evaluators.of({ group, resource: plural });
    if (evaluator === undefined) return;
    const id = `${plural}.${group}`;
    for (const [key, { names, concerned }] of quotas) {
      const isConcerned = concerned.get(id) ?? names.some((name) => evaluator.measures(name));
      // Device classes come and go, and with them the names that claims use.
      if (plural !== 'resourceclaims') concerned.set(id, isConcerned);
      if (isConcerned) yield key;
    }
  }
}

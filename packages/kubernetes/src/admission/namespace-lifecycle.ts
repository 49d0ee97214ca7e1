// NamespaceLifecycle refuses new objects in a namespace that is missing or being deleted, and protects some namespaces
// from deletion. Source: apiserver plugin/namespace/lifecycle.

import { type Clock, StatusError } from '@kapstan/api';
import { forbidden, notFound } from '@kapstan/api/errors';
import type { GroupVersionResource } from '@kapstan/api/internal';
import type { AdmissionAttributes, AdmissionPlugin, ObjectReader } from '@kapstan/apiserver';
import { refuse } from '@kapstan/apiserver/internal';

const namespaces: GroupVersionResource = { group: '', version: 'v1', resource: 'namespaces' };
const immortal: ReadonlySet<string> = new Set(['default', 'kube-system', 'kube-public']);
/** Time after a deletion, in milliseconds, during which a namespace is read from the store instead of the cache. */
const liveLookupMs = 30_000;

export class NamespaceLifecycle implements AdmissionPlugin {
  readonly name = 'NamespaceLifecycle';
  readonly #reader: ObjectReader;
  readonly #clock: Clock;
  /** Names of recently deleted namespaces, and when to forget them. */
  readonly #deleted = new Map<string, number>();

  constructor(reader: ObjectReader, clock: Clock) {
    this.#reader = reader;
    this.#clock = clock;
  }

  async admit(attributes: AdmissionAttributes): Promise<void> {
    const { resource, operation, name } = attributes;
    if (resource.group === '' && resource.resource === 'namespaces') {
      if (operation === 'DELETE') this.#noteDeletion(attributes, name);
      return;
    }
    if (attributes.namespace === '' || operation === 'DELETE' || isAccessReview(resource)) return;
    if (!this.#reader.isServed(namespaces)) return;
    const phase = await this.#phaseOf(attributes.namespace);
    if (operation === 'CREATE' && phase === 'Terminating') throw terminating(attributes);
  }

  recheck(attributes: AdmissionAttributes): Promise<void> {
    return this.admit(attributes);
  }

  #noteDeletion(attributes: AdmissionAttributes, name: string): void {
    if (immortal.has(name)) throw forbidden(attributes.resource, name, 'this namespace may not be deleted');
    const now = this.#clock.monotonicNow();
    for (const [other, until] of this.#deleted) if (until <= now) this.#deleted.delete(other);
    this.#deleted.set(name, now + liveLookupMs);
  }

  /** Throws 404 when the namespace is not there. */
  async #phaseOf(name: string): Promise<unknown> {
    const isDoubtful = (this.#deleted.get(name) ?? 0) > this.#clock.monotonicNow();
    const target = { namespace: '', name };
    const cached = isDoubtful ? undefined : await this.#reader.get(namespaces, target, 'cached');
    const namespace = cached ?? (await this.#reader.get(namespaces, target, 'live'));
    if (namespace === undefined) throw notFound(namespaces, name);
    return (namespace.status as { readonly phase?: unknown } | undefined)?.phase;
  }
}

/** A review's answer does not reveal whether the namespace exists, so neither may a refusal. */
function isAccessReview({ group, resource }: GroupVersionResource): boolean {
  return group === 'authorization.k8s.io' && resource === 'localsubjectaccessreviews';
}

/** Returns the 403 with a cause that clients can recognise. */
function terminating(attributes: AdmissionAttributes): StatusError {
  const { namespace } = attributes;
  const why = `unable to create new content in namespace ${namespace} because it is being terminated`;
  const { message = '', details } = refuse(attributes, why).status;
  const cause = {
    reason: 'NamespaceTerminating',
    message: `namespace ${namespace} is being terminated`,
    field: 'metadata.namespace',
  };
  return new StatusError({ code: 403, reason: 'Forbidden', message, details: { ...details, causes: [cause] } });
}

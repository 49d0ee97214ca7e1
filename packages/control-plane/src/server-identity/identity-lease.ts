// IdentityLease keeps the Lease in kube-system that shows others that this server is running; this file also removes expired ones.
// Used by server-identity.ts. Source: component-helpers apimachinery/lease, pkg/controlplane/controller/apiserverleasegc.
import { createHash, randomUUID } from 'node:crypto';
import { type Clock, type DeepReadonly, isConflict, isNotFound, parseTime, type ResourceClient } from '@kapstan/api';
import { formatMicroTime } from '@kapstan/api/internal';
import { Lease } from '@kapstan/kinds/coordination.k8s.io/v1';

const namespace = 'kube-system';
/** Seconds without a renewal after which a server counts as gone. Source: IdentityLeaseDurationSeconds. */
const durationSeconds = 3600;
const identityLabel = 'apiserver.kubernetes.io/identity';
const component = 'kube-apiserver';

export interface IdentityLeaseOptions {
  readonly client: ResourceClient;
  readonly hostname: string;
  /** Distinguishes several servers on one machine. */
  readonly port: number;
  readonly clock: Clock;
}

/** Returns the name of a server, which is the name of its Lease. */
export function serverName({ hostname, port }: Pick<IdentityLeaseOptions, 'hostname' | 'port'>): string {
  const digest = createHash('sha256')
    .update(JSON.stringify([hostname, component, port]))
    .digest('hex');
  return `apiserver-${digest.slice(0, 26)}`;
}

export class IdentityLease {
  readonly #options: IdentityLeaseOptions;
  readonly #name: string;
  readonly #holder: string;

  constructor(options: IdentityLeaseOptions) {
    this.#options = options;
    this.#name = serverName(options);
    this.#holder = `${this.#name}_${randomUUID()}`;
  }

  /** Renews the lease; creates it when it is missing, even after somebody has deleted it. */
  async renew(): Promise<void> {
    const { client } = this.#options;
    const present = await client.get(Lease, { namespace, name: this.#name }).catch(unlessNotFound);
    if (present === undefined) await client.create(Lease, this.#next({}));
    else await client.update(Lease, this.#next(present.metadata));
  }

  async remove(): Promise<void> {
    await this.#options.client.delete(Lease, { namespace, name: this.#name }).catch(unlessNotFound);
  }

  #next(metadata: DeepReadonly<Lease>['metadata']): Lease {
    const { hostname, clock } = this.#options;
    const labels = { ...metadata?.labels, [identityLabel]: component, 'kubernetes.io/hostname': hostname };
    const version = metadata?.resourceVersion;
    return {
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { namespace, name: this.#name, labels, ...(version !== undefined && { resourceVersion: version }) },
      spec: {
        holderIdentity: this.#holder,
        leaseDurationSeconds: durationSeconds,
        renewTime: formatMicroTime(clock.now()),
      },
    };
  }
}

/** Deletes leases of servers that ended without deleting theirs. A lease that is renewed meanwhile stays. */
export async function removeExpiredIdentities(client: ResourceClient, clock: Clock): Promise<void> {
  const items = await client.list(Lease, { namespace, labelSelector: `${identityLabel}=${component}` });
  for (const { metadata, spec } of items) {
    if (!isExpired(spec, clock.now())) continue;
    const { name = '', uid, resourceVersion } = metadata ?? {};
    const preconditions = {
      ...(uid !== undefined && { uid }),
      ...(resourceVersion !== undefined && { resourceVersion }),
    };
    await client.delete(Lease, { namespace, name }, { preconditions }).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }
}

/** A lease without a renew time or duration was not made by a server, so it counts as expired. */
function isExpired(spec: DeepReadonly<Lease>['spec'], nowMs: number): boolean {
  const { renewTime, leaseDurationSeconds } = spec ?? {};
  if (renewTime === undefined || leaseDurationSeconds === undefined) return true;
  return parseTime(renewTime) + leaseDurationSeconds * 1000 < nowMs;
}

function unlessNotFound(error: unknown): undefined {
  if (!isNotFound(error)) throw error;
}

// KubernetesService keeps the service "kubernetes" in "default", through which workloads find their API servers, and the
// addresses behind it. Started and ended by control-plane.ts. Source: pkg/controlplane/controller/kubernetesservice.
import { type Clock, delay, isAlreadyExists, isNotFound, type Logger, type ResourceClient } from '@kapstan/api';
import { Service } from '@kapstan/kinds/core/v1';
import { repeatEvery } from '../lifetime/repeat-every.ts';
import { portName, reconcileEndpoints, serviceName, serviceNamespace } from './server-endpoints.ts';
import type { ServerLeases } from './server-leases.ts';

export interface KubernetesServiceOptions {
  readonly client: ResourceClient;
  /** Cluster IP of the service: the first address of the range. */
  readonly clusterIp: string;
  /** Address at which this server is reached; undefined = it is not listed in the endpoints. */
  readonly address: string | undefined;
  readonly port: number;
  /** 'none' = somebody else maintains the endpoints; they are left alone. */
  readonly leases: ServerLeases | 'none';
  /** True when no other server can exist, so that the port must be this server's. */
  readonly isAlone: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds between two checks. Source: DefaultEndpointReconcilerInterval. */
const intervalMs = 10_000;
/** Seconds without a renewal after which a server counts as gone. Source: DefaultEndpointReconcilerTTL. */
export const leaseSeconds = 15;
/** Port of the service, whatever port the servers use. */
const servicePort = 443;

export class KubernetesService {
  readonly #options: KubernetesServiceOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: KubernetesServiceOptions) {
    this.#options = options;
  }

  /** Resolves after the first check. Never rejects: a failure is logged and retried. Call it once. */
  async start(): Promise<void> {
    const { leases, address } = this.#options;
    if (leases !== 'none' && address !== undefined && (await this.#told(() => leases.release(address)))) {
      this.#options.logger.warn(
        'found the address of this server among the endpoints: it was not stopped gracefully last time',
      );
    }
    await this.#told(() => this.#look());
    const { clock } = this.#options;
    const look = (): Promise<unknown> => this.#told(() => this.#look());
    this.#running = repeatEvery({ clock, intervalMs, signal: this.#stop.signal }, look);
  }

  /** Removes this server from the endpoints. Takes at most 20 s, whatever the store does. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    const over = new AbortController();
    const late = delay(this.#options.clock, 2 * intervalMs, over.signal).catch(() => undefined);
    await Promise.race([this.#leave(), late]);
    over.abort();
  }

  async #leave(): Promise<void> {
    const { leases, address, client, port } = this.#options;
    await this.#running;
    if (leases === 'none') return;
    await this.#told(async () => {
      if (address === undefined || !(await leases.release(address))) return;
      const addresses = await leases.list();
      await reconcileEndpoints(client, { addresses, port, ownsPort: true, creates: false });
    });
    await leases.close();
  }

  async #look(): Promise<void> {
    const { leases, address, client, port, isAlone } = this.#options;
    await this.#ensureService();
    if (leases === 'none' || address === undefined) return;
    await leases.renew(address);
    const addresses = await leases.list();
    // This server's lease was renewed just now, so an empty list is a read error.
    if (addresses.length === 0) {
      throw new Error(
        'no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service',
      );
    }
    await reconcileEndpoints(client, { addresses, port, ownsPort: isAlone, creates: true });
  }

  /** Creates the service when it is missing; changes that others made are kept. */
  async #ensureService(): Promise<void> {
    const { client, clusterIp, port } = this.#options;
    const target = { namespace: serviceNamespace, name: serviceName };
    try {
      await client.get(Service, target);
    } catch (error) {
      if (!isNotFound(error)) throw error;
      const labels = { component: 'apiserver', provider: 'kubernetes' };
      await client
        .create(Service, {
          metadata: { ...target, labels },
          spec: {
            type: 'ClusterIP',
            clusterIP: clusterIp,
            ipFamilyPolicy: 'SingleStack',
            sessionAffinity: 'None',
            ports: [{ name: portName, protocol: 'TCP', port: servicePort, targetPort: port }],
          },
        })
        .catch((refusal: unknown) => {
          if (!isAlreadyExists(refusal)) throw refusal;
        });
    }
  }

  /** Returns undefined when the work failed; the error is logged. */
  async #told<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#options.logger.error('could not reconcile the service "kubernetes"; retrying', { error: String(error) });
      return undefined;
    }
  }
}

// KubernetesService: the service "kubernetes" in "default", under which what runs in the cluster finds its API servers, and the
// addresses of these behind it. Started and ended by control-plane.ts. Source: pkg/controlplane/controller/kubernetesservice.
import { type Clock, delay, isAlreadyExists, isNotFound, type Logger, type ResourceClient } from '@kapstan/api';
import { Service } from '@kapstan/kinds/core/v1';
import { repeatEvery } from '../repeat-every.ts';
import { portName, reconcileEndpoints, serviceName, serviceNamespace } from './server-endpoints.ts';
import type { ServerLeases } from './server-leases.ts';

export interface KubernetesServiceOptions {
  readonly client: ResourceClient;
  /** Address of the service: the first one of the range. */
  readonly clusterIp: string;
  /** Where this server is reached; undefined = it is kept out of the endpoints. */
  readonly address: string | undefined;
  readonly port: number;
  /** 'none': the endpoints are left alone, and made by somebody else. */
  readonly leases: ServerLeases | 'none';
  /** Whether no other server can be there, so that the port is this one's. */
  readonly isAlone: boolean;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between two looks, in milliseconds. Source: DefaultEndpointReconcilerInterval. */
const intervalMs = 10_000;
/** How long a server counts that says nothing. Source: DefaultEndpointReconcilerTTL. */
export const leaseSeconds = 15;
/** Of the service, whatever port the servers have. */
const servicePort = 443;

export class KubernetesService {
  readonly #options: KubernetesServiceOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: KubernetesServiceOptions) {
    this.#options = options;
  }

  /** Resolves when all was looked at once. Never rejects: what goes wrong is told the log, and tried again. Once. */
  async start(): Promise<void> {
    const { leases, address } = this.#options;
    if (leases !== 'none' && address !== undefined && (await this.#told(() => leases.release(address)))) {
      this.#options.logger.warn('Found the address of this server among the endpoints: it was not stopped in peace');
    }
    await this.#told(() => this.#look());
    const { clock } = this.#options;
    const look = (): Promise<unknown> => this.#told(() => this.#look());
    this.#running = repeatEvery({ clock, intervalMs, signal: this.#stop.signal }, look);
  }

  /** Takes this server out of the endpoints. Takes no longer than 20 s, whatever the store does. Idempotent. */
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
    // It was renewed right now: who reads nothing reads wrong.
    if (addresses.length === 0) {
      throw new Error(
        'no API server IP addresses were listed in storage, refusing to erase all endpoints for the kubernetes Service',
      );
    }
    await reconcileEndpoints(client, { addresses, port, ownsPort: isAlone, creates: true });
  }

  /** Made when it is not there; what somebody changed stays. */
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

  /** Undefined when it went wrong. */
  async #told<T>(work: () => Promise<T>): Promise<T | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#options.logger.error('The service "kubernetes" could not be kept', { error: String(error) });
      return undefined;
    }
  }
}

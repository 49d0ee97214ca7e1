// DefaultServiceCidr keeps the ServiceCIDR "kubernetes", from which services get their addresses: it is created when missing, never
// changed, and declared ready. Started and ended by control-plane.ts. Source: pkg/controlplane/controller/defaultservicecidr.
import { isDeepStrictEqual } from 'node:util';
import { type Clock, formatTime, isAlreadyExists, isNotFound, type Logger, type ResourceClient } from '@kapstan/api';
import { type EventMessage, EventRecorder } from '@kapstan/controller';
import { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { repeatEvery } from '../lifetime/repeat-every.ts';

export interface DefaultServiceCidrOptions {
  readonly client: ResourceClient;
  /** Networks of services, each as first address and prefix length. */
  readonly cidrs: readonly string[];
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds between two checks. */
const intervalMs = 10_000;
const name = 'kubernetes';
const fieldManager = 'kubernetes-service-cidr-controller';
const readyType = 'Ready';

export class DefaultServiceCidr {
  readonly #options: DefaultServiceCidrOptions;
  readonly #events: EventRecorder;
  readonly #stop = new AbortController();
  /** Findings already reported; each is reported once. */
  readonly #reported = new Set<'mismatch' | 'not ready'>();
  #running: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: DefaultServiceCidrOptions) {
    this.#options = options;
    const { client, clock, logger } = options;
    this.#events = new EventRecorder({ client, component: fieldManager, clock, logger });
  }

  /** Resolves after the first check. Never rejects: a failure is logged and retried. Call it once. */
  async start(): Promise<void> {
    await this.#look();
    const { clock } = this.#options;
    this.#running = repeatEvery({ clock, intervalMs, signal: this.#stop.signal }, () => this.#look());
  }

  /** Leaves the object in the store, because it belongs to all servers. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all([this.#running, this.#events.close()]);
  }

  /** Never rejects. */
  async #look(): Promise<void> {
    try {
      await this.#declareReady((await this.#read()) ?? (await this.#create()));
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('could not reconcile the default ServiceCIDR; retrying', { error: String(error) });
    }
  }

  #read(): Promise<ServiceCIDR | undefined> {
    const { signal } = this.#stop;
    return this.#options.client.get(ServiceCIDR, { name }, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  }

  /** Returns undefined when another server has created it and removed it again; the next check handles that. */
  async #create(): Promise<ServiceCIDR | undefined> {
    const { client, cidrs } = this.#options;
    const created = { metadata: { name }, spec: { cidrs: [...cidrs] } };
    try {
      return await client.create(ServiceCIDR, created, { signal: this.#stop.signal });
    } catch (error) {
      if (isAlreadyExists(error)) return await this.#read();
      this.#say(created, {
        reason: 'KubernetesDefaultServiceCIDRError',
        message: 'The default ServiceCIDR can not be created',
      });
      throw error;
    }
  }

  /** Declares it ready when the condition is unset and its networks are this server's. */
  async #declareReady(present: ServiceCIDR | undefined): Promise<void> {
    if (present === undefined || present.metadata?.deletionTimestamp !== undefined) return;
    const { cidrs } = this.#options;
    const found = present.spec?.cidrs ?? [];
    if (!isDeepStrictEqual([...found], [...cidrs])) {
      const message = `The default ServiceCIDR ${goList(found)} does not match the controller flag configurations ${goList(cidrs)}`;
      return this.#report('mismatch', present, { reason: 'KubernetesDefaultServiceCIDRInconsistent', message });
    }
    const ready = present.status?.conditions?.find(({ type }) => type === readyType);
    if (ready?.status === 'True') return;
    if (ready?.status === 'False') {
      const message = `Configuration matches, but ${ready.message}`;
      return this.#report('not ready', present, { reason: ready.reason, message });
    }
    await this.#applyReady(present);
  }

  async #applyReady(present: ServiceCIDR): Promise<void> {
    const { client, clock } = this.#options;
    const condition = {
      type: readyType,
      status: 'True',
      message: 'Kubernetes default Service CIDR is ready',
      lastTransitionTime: formatTime(clock.now()),
    };
    const { apiVersion = 'networking.k8s.io/v1', kind = 'ServiceCIDR' } = present;
    // The condition has no reason, as in kube-apiserver, although the type requires one.
    const status = { conditions: [condition] } as unknown as NonNullable<ServiceCIDR['status']>;
    const applied: ServiceCIDR = { apiVersion, kind, metadata: { name }, status };
    const { signal } = this.#stop;
    try {
      await client.apply(ServiceCIDR, applied, { fieldManager, force: true, subresource: 'status', signal });
    } catch (error) {
      this.#say(present, {
        reason: 'KubernetesDefaultServiceCIDRError',
        message: 'The default ServiceCIDR Status can not be set to Ready=True',
      });
      throw error;
    }
  }

  #report(what: 'mismatch' | 'not ready', about: ServiceCIDR, said: Omit<EventMessage, 'type'>): void {
    if (this.#reported.has(what)) return;
    this.#reported.add(what);
    this.#options.logger.warn(said.message, { serviceCidr: name });
    this.#say(about, said);
  }

  #say(about: ServiceCIDR, said: Omit<EventMessage, 'type'>): void {
    this.#events.record(
      { apiVersion: 'networking.k8s.io/v1', kind: 'ServiceCIDR', ...about },
      { type: 'Warning', ...said },
    );
  }
}

/** Formats a list as Go's %v does. */
function goList(texts: readonly string[]): string {
  return `[${texts.join(' ')}]`;
}

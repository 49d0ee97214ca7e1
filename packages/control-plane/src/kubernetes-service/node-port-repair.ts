// NodePortRepair: looks every three minutes whether the node ports that are written down are those of the services. Where several
// servers share a store; started and ended by control-plane.ts. Source: pkg/registry/core/service/portallocator/controller.
import type { Clock, KubernetesObject, Logger, ResourceClient } from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import { EventRecorder } from '@kapstan/controller';
import { Service } from '@kapstan/kinds/core/v1';
import { NodePortCheck } from '@kapstan/kubernetes';
import { repeatEvery } from '../repeat-every.ts';
import { nodePortsResource, type SharedNodePorts } from './shared-node-ports.ts';

export interface NodePortRepairOptions {
  readonly client: ResourceClient;
  readonly nodePorts: SharedNodePorts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between two looks, in milliseconds. Source: controlplane.Config RepairServicesInterval. */
const intervalMs = 180_000;

export class NodePortRepair {
  readonly #options: NodePortRepairOptions;
  readonly #check = new NodePortCheck();
  readonly #events: EventRecorder;
  readonly #stop = new AbortController();
  #running: Promise<void> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: NodePortRepairOptions) {
    this.#options = options;
    const { client, clock, logger } = options;
    this.#events = new EventRecorder({ client, component: 'portallocator-repair-controller', clock, logger });
  }

  /** Resolves when they were looked at once. Never rejects: what goes wrong is told the log, and tried again. Once. */
  async start(): Promise<void> {
    await this.#look();
    const { clock } = this.#options;
    this.#running = repeatEvery({ clock, intervalMs, signal: this.#stop.signal }, () => this.#look());
  }

  /** Idempotent. */
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
      await this.#repair();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('The node ports of services could not be looked at', { error: String(error) });
    }
  }

  async #repair(): Promise<void> {
    const { client, nodePorts, logger } = this.#options;
    const present = await nodePorts.read();
    // The first service that needs one writes them down.
    if (present === undefined) return;
    const { items } = await client.listPage(Service, { signal: this.#stop.signal });
    const { next, remarks } = this.#check.look(present, items);
    for (const { service, reason, message } of remarks) {
      logger.warn(message, { namespace: service.metadata?.namespace, service: service.metadata?.name });
      const about = { ...service, apiVersion: 'v1', kind: 'Service' } as KubernetesObject;
      this.#events.record(about, { type: 'Warning', reason, message });
    }
    if (next.data === present.data) return;
    await nodePorts.update((live) => {
      // What others took meanwhile is not among what was looked at.
      if (live?.metadata?.resourceVersion !== present.metadata?.resourceVersion) {
        throw conflict(nodePortsResource, '', 'the provided resource version does not match');
      }
      return next;
    });
  }
}

// NodePortRepair checks every three minutes that the allocated node ports match those of the services. It runs where several servers share
// a store; control-plane.ts starts and ends it. Source: pkg/registry/core/service/portallocator/controller.
import type { Clock, KubernetesObject, Logger, ResourceClient } from '@kapstan/api';
import { conflict } from '@kapstan/api/errors';
import { EventRecorder } from '@kapstan/controller';
import { Service } from '@kapstan/kinds/core/v1';
import { NodePortCheck } from '@kapstan/kubernetes';
import { repeatEvery } from '../lifetime/repeat-every.ts';
import { nodePortsResource, type SharedNodePorts } from './shared-node-ports.ts';

export interface NodePortRepairOptions {
  readonly client: ResourceClient;
  readonly nodePorts: SharedNodePorts;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds between two checks. Source: controlplane.Config RepairServicesInterval. */
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

  /** Resolves after the first check. Never rejects: a failure is logged and retried. Call it once. */
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
      this.#options.logger.error('could not check the node ports of services; retrying', { error: String(error) });
    }
  }

  async #repair(): Promise<void> {
    const { client, nodePorts, logger } = this.#options;
    const present = await nodePorts.read();
    // The object does not exist yet: the first service that needs a node port creates it.
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
      // Ports that others allocated meanwhile are missing from the checked state.
      if (live?.metadata?.resourceVersion !== present.metadata?.resourceVersion) {
        throw conflict(nodePortsResource, '', 'the provided resource version does not match');
      }
      return next;
    });
  }
}

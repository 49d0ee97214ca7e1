// ServiceAddressRepair: looks at all services and IPAddresses when a server starts, and then at what changes. Started and ended by
// control-plane.ts; the rules are address-repair.ts's. Source: pkg/registry/core/service/ipallocator/controller/repairip.go.
import {
  type Clock,
  type DeepReadonly,
  isNotFound,
  type KubernetesObject,
  type Logger,
  type ObjectTarget,
  type Resource,
  type ResourceClient,
} from '@kapstan/api';
import { EventRecorder, ReconcileLoop, type ReconcileRequest, type ReconcileResult } from '@kapstan/controller';
import { RateLimitingQueue } from '@kapstan/controller/workqueue';
import {
  deletionHandlingKey,
  isDeletedFinalStateUnknown,
  type SharedInformer,
  SharedInformerFactory,
} from '@kapstan/informers';
import { Service } from '@kapstan/kinds/core/v1';
import { IPAddress, ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import { type AddressBook, AddressRepair } from './address-repair.ts';
import { isInServiceRange } from './service-ranges.ts';

export interface ServiceAddressRepairOptions {
  readonly client: ResourceClient;
  /** "10.96.0.0/16" */
  readonly ownRange: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Between two looks at what does not change, in milliseconds. Source: controlplane.Config RepairServicesInterval. */
const intervalMs = 180_000;
/** Services looked at side by side when a server starts. */
const batch = 32;
const workers = 5;

export class ServiceAddressRepair {
  readonly #options: ServiceAddressRepairOptions;
  readonly #events: EventRecorder;
  readonly #stop = new AbortController();
  #running: Promise<unknown> = Promise.resolve();
  #closing: Promise<void> | undefined;

  constructor(options: ServiceAddressRepairOptions) {
    this.#options = options;
    const { client, clock, logger } = options;
    this.#events = new EventRecorder({ client, component: 'ipallocator-repair-controller', clock, logger });
  }

  /**
   * Looks at all once: services that were made before there were IPAddresses get theirs here. Never rejects: what goes wrong is
   * told the log.
   */
  async lookAtAll(): Promise<void> {
    try {
      await this.#lookAtAll();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('The addresses of services could not be looked at', { error: String(error) });
    }
  }

  /** Looks at what changes, until it is closed. Once. */
  follow(): void {
    this.#running = this.#follow().catch((error: unknown) => {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('The addresses of services are followed no more', { error: String(error) });
    });
  }

  /** Resolves when nothing of it is under way. Idempotent. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#stop.abort(new Error('the server is stopping'));
    await Promise.all([this.#running, this.#events.close()]);
  }

  async #lookAtAll(): Promise<void> {
    const { client, ownRange } = this.#options;
    const { signal } = this.#stop;
    // Addresses after services: that of a service which is made meanwhile is there then.
    const services = (await client.listPage(Service, { signal })).items;
    const addresses = (await client.listPage(IPAddress, { signal })).items;
    const serviceCidrs = (await client.listPage(ServiceCIDR, { signal })).items;
    const byKey = new Map(services.map((each) => [`${each.metadata?.namespace}/${each.metadata?.name}`, each]));
    const byName = new Map(addresses.map((each) => [each.metadata?.name, each]));
    const repair = this.#repair({
      service: async (namespace, name) => byKey.get(`${namespace}/${name}`) ?? this.#find(Service, { namespace, name }),
      address: async (name) => byName.get(name),
      isInRange: (address) => isInServiceRange(address, serviceCidrs, ownRange),
    });
    for (let at = 0; at < services.length; at += batch) {
      signal.throwIfAborted();
      await Promise.all(services.slice(at, at + batch).map((service) => repair.checkService(service)));
    }
    for (const address of addresses) await repair.checkAddress(address);
  }

  async #follow(): Promise<void> {
    const { client, clock, logger, ownRange } = this.#options;
    const { signal } = this.#stop;
    const informers = new SharedInformerFactory(client, { clock, logger, resyncMs: intervalMs });
    const services = informers.informer(Service);
    const addresses = informers.informer(IPAddress);
    const serviceCidrs = informers.informer(ServiceCIDR);
    const repair = this.#repair({
      service: async (namespace, name) =>
        services.lister.namespace(namespace).find(name) ?? this.#find(Service, { namespace, name }),
      address: async (name) => addresses.lister.find(name) ?? this.#find(IPAddress, { name }),
      isInRange: (address) => isInServiceRange(address, serviceCidrs.lister.list(), ownRange),
    });
    const serviceQueue = this.#queue('services');
    const addressQueue = this.#queue('ipaddresses');
    followServices(services, addresses, serviceQueue);
    followAddresses(addresses, addressQueue);
    const checkService = async ({ namespace = '', name }: ReconcileRequest): Promise<undefined> => {
      const service = services.lister.namespace(namespace).find(name);
      if (service !== undefined) await repair.checkService(service);
    };
    const checkAddress = async ({ name }: ReconcileRequest): Promise<ReconcileResult | undefined> => {
      const address = addresses.lister.find(name);
      const againAfterMs = address === undefined ? 0 : await repair.checkAddress(address);
      return againAfterMs === 0 ? undefined : { requeueAfterMs: againAfterMs };
    };
    informers.start();
    // The first look after everything is known: what was not heard of yet is not missing.
    await informers.waitForCacheSync({ signal });
    const loop = { workers, logger, gracePeriodMs: 0, clock };
    await Promise.all([
      new ReconcileLoop({ ...loop, queue: serviceQueue, reconcile: checkService }).run(signal),
      new ReconcileLoop({ ...loop, queue: addressQueue, reconcile: checkAddress }).run(signal),
    ]);
    await informers.close();
  }

  #repair(book: AddressBook): AddressRepair {
    const { client, clock, logger } = this.#options;
    return new AddressRepair({ client, book, events: this.#events, clock, logger });
  }

  #queue(name: string): RateLimitingQueue<string> {
    const queue = new RateLimitingQueue<string>({ name, clock: this.#options.clock });
    this.#stop.signal.addEventListener('abort', () => queue.shutDown(), { once: true });
    return queue;
  }

  #find<T extends KubernetesObject>(resource: Resource<T>, target: ObjectTarget): Promise<T | undefined> {
    const { signal } = this.#stop;
    return this.#options.client.get(resource, target, { signal }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
  }
}

/** Also those whose address went. */
function followServices(
  services: SharedInformer<Service>,
  addresses: SharedInformer<IPAddress>,
  queue: RateLimitingQueue<string>,
): void {
  const add = (service: DeepReadonly<Service>): void => queue.add(deletionHandlingKey(service));
  services.addEventHandler({ onAdd: add, onUpdate: (_old, next) => add(next) });
  addresses.addEventHandler({
    onDelete: (gone) => {
      const address = isDeletedFinalStateUnknown(gone) ? gone.object : gone;
      const { namespace = '', name = '' } = address?.spec?.parentRef ?? {};
      queue.add(`${namespace}/${name}`);
    },
  });
}

function followAddresses(addresses: SharedInformer<IPAddress>, queue: RateLimitingQueue<string>): void {
  const add = (address: DeepReadonly<IPAddress>): void => queue.add(deletionHandlingKey(address));
  addresses.addEventHandler({ onAdd: add, onUpdate: (_old, next) => add(next) });
}

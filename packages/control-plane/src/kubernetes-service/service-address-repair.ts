// ServiceAddressRepair checks all services and IPAddresses when a server starts, and then those that change. Started and ended by
// control-plane.ts; address-repair.ts holds the rules. Source: pkg/registry/core/service/ipallocator/controller/repairip.go.
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
  /** For example "10.96.0.0/16". */
  readonly ownRange: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Milliseconds between two checks of objects that do not change. Source: controlplane.Config RepairServicesInterval. */
const intervalMs = 180_000;
/** Services that are checked in parallel when a server starts. */
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

  /** Checks everything once; services created before IPAddresses existed get theirs here. Never rejects: a failure is logged. */
  async lookAtAll(): Promise<void> {
    try {
      await this.#lookAtAll();
    } catch (error) {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('could not check the addresses of services', { error: String(error) });
    }
  }

  /** Checks changed objects until it is closed. Call it once. */
  follow(): void {
    this.#running = this.#follow().catch((error: unknown) => {
      if (this.#stop.signal.aborted) return;
      this.#options.logger.error('stopped watching the addresses of services; restart the server to resume', {
        error: String(error),
      });
    });
  }

  /** Resolves when no check is in progress. Idempotent. */
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
    // Addresses are listed after services, so that the list has the address of a service created meanwhile.
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
    // Checks begin after all caches have synced; before that an object may only seem to be missing.
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

/** Also queues services whose address was deleted. */
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

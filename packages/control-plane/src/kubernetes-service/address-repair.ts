// AddressRepair checks that each address of a service is an IPAddress that points to it, and that each IPAddress of ours points to a
// service that has it. It holds the rules; service-address-repair.ts runs it. Source:
// pkg/registry/core/service/ipallocator/controller/repairip.go.
import {
  type Clock,
  type DeepReadonly,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubernetesObject,
  type Logger,
  parseTime,
  type ResourceClient,
} from '@kapstan/api';
import { formatApiVersion } from '@kapstan/api/internal';
import type { EventRecorder } from '@kapstan/controller';
import { Service } from '@kapstan/kinds/core/v1';
import { IPAddress } from '@kapstan/kinds/networking.k8s.io/v1';
import { isIpv6 } from '@kapstan/kubernetes';

/**
 * The known state of the cluster. An object that is missing in a cache is looked up in the store, because missing ones are then created or
 * deleted.
 */
export interface AddressBook {
  service(namespace: string, name: string): Promise<DeepReadonly<Service> | undefined>;
  address(name: string): Promise<DeepReadonly<IPAddress> | undefined>;
  /** Returns whether any ServiceCIDR contains the address. */
  isInRange(address: string): boolean;
}

export interface AddressRepairOptions {
  readonly client: ResourceClient;
  readonly book: AddressBook;
  readonly events: EventRecorder;
  readonly clock: Clock;
  readonly logger: Logger;
}

const familyLabel = 'ipaddress.kubernetes.io/ip-family';
const managerLabel = 'ipaddress.kubernetes.io/managed-by';
const manager = 'ipallocator.k8s.io';

/**
 * Time for which an address may have no service, in milliseconds: an address is made before its service, and a request and the undoing of a
 * failed one take time.
 */
const graceMs = 60_000;
const revertMs = 5000;

export class AddressRepair {
  readonly #options: AddressRepairOptions;

  constructor(options: AddressRepairOptions) {
    this.#options = options;
  }

  async checkService(service: DeepReadonly<Service>): Promise<void> {
    if (service.spec?.type === 'ExternalName') return;
    for (const address of service.spec?.clusterIPs ?? []) {
      if (address !== 'None' && address !== '') await this.#checkAddressOf(service, address);
    }
  }

  /** Returns after how many milliseconds to check again; 0 = when it changes. */
  async checkAddress(address: DeepReadonly<IPAddress>): Promise<number> {
    const { name = '', labels = {} } = address.metadata ?? {};
    if (labels[managerLabel] !== manager) return 0;
    const { group = '', resource, namespace = '', name: owner = '' } = address.spec?.parentRef ?? {};
    if (group !== '' || resource !== 'services') {
      const reference = `&ParentReference{Group:${group},Resource:${resource},Namespace:${namespace},Name:${owner},}`;
      const message = `IPAddress ${name} appears to have been modified, not referencing a Service ${reference}: cleaning up`;
      return this.#remove(address, 'IPAddressNotAllocated', message);
    }
    const service = await this.#options.book.service(namespace, owner);
    const ageMs = this.#options.clock.now() - timeOf(address);
    if (service === undefined) {
      if (ageMs <= graceMs) return graceMs - ageMs + 1;
      const message = `IPAddress: ${name} for Service ${namespace}/${owner} appears to have leaked: cleaning up`;
      return this.#remove(address, 'IPAddressNotAllocated', message);
    }
    if (service.spec?.clusterIPs?.includes(name) === true) return 0;
    // The service may be changing into one with an address.
    if (service.spec?.type === 'ExternalName' && ageMs < graceMs) return graceMs - ageMs;
    // Timestamps have whole seconds, so an address of the same second may be younger than the service.
    const isOlder = timeOf(address) < timeOf(service);
    if (!isOlder && ageMs < revertMs) return revertMs;
    const message = `IPAddress: ${name} for Service ${namespace}/${owner} has a wrong reference; cleaning up`;
    return this.#remove(address, 'IPAddressWrongReference', message);
  }

  async #checkAddressOf(service: DeepReadonly<Service>, address: string): Promise<void> {
    const { book } = this.#options;
    const { namespace = '', name = '' } = service.metadata ?? {};
    const family = familyOf(address);
    if (!book.isInRange(address)) {
      const message = `Cluster IP [${family}]: ${address} is not within any configured Service CIDR; please recreate service`;
      return this.#say(service, 'ClusterIPOutOfRange', message);
    }
    const present = await book.address(address);
    if (present === undefined) {
      if (!(await this.#hasStill(service, address))) return;
      this.#say(service, 'ClusterIPNotAllocated', `Cluster IP [${family}]: ${address} is not allocated; repairing`);
      return this.#create(address, service);
    }
    const owner = await this.#ownerOf(present, service);
    if (owner === 'nobody') {
      const message = `the ClusterIP [${family}]: ${address} for Service ${namespace}/${name} has a wrong reference; repairing`;
      this.#say(service, 'ClusterIPNotAllocated', message);
      return this.#recreate(present, service);
    }
    if (owner === 'another') {
      const message = `Cluster IP [${family}]:${address} was assigned to multiple services; please recreate service`;
      this.#say(service, 'ClusterIPAlreadyAllocated', message);
    }
    const { labels = {} } = present.metadata ?? {};
    if (labels[familyLabel] !== family || labels[managerLabel] !== manager) await this.#recreate(present, service);
  }

  /** Reads the live service: an address is deleted after its service, so an address that is missing while its service exists is wrong. */
  async #hasStill({ metadata }: DeepReadonly<Service>, address: string): Promise<boolean> {
    const { namespace = '', name = '', uid } = metadata ?? {};
    const live = await this.#options.client.get(Service, { namespace, name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
      return undefined;
    });
    return live?.metadata?.uid === uid && live?.spec?.clusterIPs?.includes(address) === true;
  }

  /** Returns 'another' for a different service that also lists the address. */
  async #ownerOf(
    { metadata, spec }: DeepReadonly<IPAddress>,
    service: DeepReadonly<Service>,
  ): Promise<'it' | 'another' | 'nobody' | 'somebody without'> {
    const { group = '', resource, namespace = '', name = '' } = spec?.parentRef ?? {};
    if (group !== '' || resource !== 'services') return 'nobody';
    if (namespace === service.metadata?.namespace && name === service.metadata?.name) return 'it';
    const other = await this.#options.book.service(namespace, name);
    if (other === undefined) return 'nobody';
    return other.spec?.clusterIPs?.includes(metadata?.name ?? '') === true ? 'another' : 'somebody without';
  }

  async #create(address: string, { metadata }: DeepReadonly<Service>): Promise<void> {
    const { namespace = '', name = '' } = metadata ?? {};
    const labels = { [familyLabel]: familyOf(address), [managerLabel]: manager };
    const parentRef = { resource: 'services', namespace, name };
    await this.#options.client
      .create(IPAddress, { metadata: { name: address, labels }, spec: { parentRef } })
      .catch((error: unknown) => {
        // Somebody else created it first; the next check shows whether it is correct.
        if (!isAlreadyExists(error)) throw error;
      });
  }

  async #recreate(present: DeepReadonly<IPAddress>, service: DeepReadonly<Service>): Promise<void> {
    await this.#delete(present);
    await this.#create(present.metadata?.name ?? '', service);
  }

  async #remove(address: DeepReadonly<IPAddress>, reason: string, message: string): Promise<0> {
    this.#options.logger.warn(message);
    this.#say(address, reason, message);
    await this.#delete(address);
    return 0;
  }

  /** Deletes exactly this object (by uid), because one that was created in its place may be correct. */
  async #delete({ metadata }: DeepReadonly<IPAddress>): Promise<void> {
    const { name = '', uid = '' } = metadata ?? {};
    await this.#options.client.delete(IPAddress, { name }, { preconditions: { uid } }).catch((error: unknown) => {
      if (!isNotFound(error) && !isConflict(error)) throw error;
    });
  }

  #say(about: DeepReadonly<Service | IPAddress>, reason: string, message: string): void {
    const { group, version, kind } = about.spec !== undefined && 'parentRef' in about.spec ? IPAddress : Service;
    const named = { ...about, apiVersion: formatApiVersion({ group, version }), kind };
    this.#options.events.record(named as KubernetesObject, { type: 'Warning', reason, message });
  }
}

function familyOf(address: string): 'IPv4' | 'IPv6' {
  return isIpv6(address) ? 'IPv6' : 'IPv4';
}

function timeOf({ metadata }: DeepReadonly<KubernetesObject>): number {
  return parseTime(metadata?.creationTimestamp ?? '');
}

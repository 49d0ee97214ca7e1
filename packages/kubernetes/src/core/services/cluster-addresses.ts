// ClusterAddresses allocates the addresses of services. Each is an IPAddress object of that name, so servers on one store never allocate
// one twice. Used by service-allocator.ts. Source: pkg/registry/core/service/ipallocator.
import { isAlreadyExists, isNotFound, type UnstructuredObject } from '@kapstan/api';
import { internalError } from '@kapstan/api/errors';
import type { ResourceStore } from '@kapstan/apiserver';
import { serverContext } from '@kapstan/apiserver/internal';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { type Ipv4Network, parseIpv4, printIpv4, printIpv4Network } from './ipv4.ts';
import { candidates, givesOut, readyNetworks } from './service-networks.ts';

/** The service that an address is for. */
export interface AddressOwner {
  readonly namespace: string;
  readonly name: string;
}

/** Labels of addresses allocated here. Source: networking/v1 LabelIPAddressFamily, LabelManagedBy. */
const labels = {
  'ipaddress.kubernetes.io/ip-family': 'IPv4',
  'ipaddress.kubernetes.io/managed-by': 'ipallocator.k8s.io',
};

export class ClusterAddresses {
  readonly #server: BuiltinServer;

  constructor(server: BuiltinServer) {
    this.#server = server;
  }

  /** Takes the address. Returns undefined, or the reason why it cannot be taken. */
  async take(address: string, owner: AddressOwner): Promise<string | undefined> {
    const networks = await readyNetworks(this.#server);
    if (!isWithin(networks, address)) return 'the provided network does not match the current range';
    return (await this.#create(address, owner)) ? undefined : 'provided IP is already allocated';
  }

  /** Takes any free address. Returns undefined when all are taken. */
  async takeAny(owner: AddressOwner): Promise<string | undefined> {
    for (const network of await readyNetworks(this.#server)) {
      const address = await this.#takeFrom(network, owner);
      if (address !== undefined) return address;
    }
    return undefined;
  }

  /**
   * Returns the error that {@link take} would give, without looking for the address's owner. Used for dry runs; the
   * answer may be wrong.
   */
  async refusalOf(address: string): Promise<string | undefined> {
    const networks = await readyNetworks(this.#server);
    const [network] = networks;
    if (network === undefined || isWithin(networks, address)) return undefined;
    return `the provided IP (${address}) is not in the valid range. The range of valid IPs is ${printIpv4Network(network)}`;
  }

  /** Returns an address for a dry run: the network's own address, which no service can have. Undefined when there is no network. */
  async sample(): Promise<string | undefined> {
    const [network] = await readyNetworks(this.#server);
    return network && printIpv4(network.first);
  }

  async release(address: string): Promise<void> {
    await this.#store()
      .delete(serverContext(''), address, {})
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }

  async #takeFrom(network: Ipv4Network, owner: AddressOwner): Promise<string | undefined> {
    let taken: ReadonlySet<string> | undefined;
    for (const candidate of candidates(network, this.#server.random)) {
      const address = printIpv4(candidate);
      if (taken?.has(address)) continue;
      if (await this.#create(address, owner)) return address;
      // Most addresses are free, so the taken ones are read only when the first candidate is taken.
      taken ??= await this.#taken();
    }
    return undefined;
  }

  async #taken(): Promise<ReadonlySet<string>> {
    const { items } = await this.#store().list(serverContext(''), {});
    return new Set(items.map(({ key }) => key.slice(key.lastIndexOf('/') + 1)));
  }

  /** Returns false when another service has the address. */
  async #create(name: string, { namespace, name: service }: AddressOwner): Promise<boolean> {
    const parentRef = { resource: 'services', namespace, name: service };
    const object: UnstructuredObject = {
      apiVersion: 'networking.k8s.io/v1',
      kind: 'IPAddress',
      metadata: { name, labels: { ...labels } },
      spec: { parentRef },
    };
    try {
      await this.#store().create(serverContext(''), object);
      return true;
    } catch (error) {
      if (isAlreadyExists(error)) return false;
      throw error;
    }
  }

  #store(): ResourceStore<UnstructuredObject> {
    const store = this.#server.findStore('networking.k8s.io', 'v1', 'ipaddresses');
    if (store === undefined) throw internalError(new Error('there is no store of IPAddresses'));
    return store;
  }
}

function isWithin(networks: readonly Ipv4Network[], address: string): boolean {
  const number = parseIpv4(address);
  return number !== undefined && networks.some((network) => givesOut(network, number));
}

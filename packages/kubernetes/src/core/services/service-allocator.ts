// ServiceAllocator reserves cluster addresses (cluster-addresses.ts) and node ports (node-ports.ts) before a service is
// written, and releases them after it is gone. Both are kept in the store, for all servers on it. Source:
// pkg/registry/core/service/storage/alloc.go.
import { isIP } from 'node:net';
import { type DeepReadonly, isNotFound, StatusError } from '@kapstan/api';
import { type FieldError, internalError, invalid } from '@kapstan/api/errors';
import type { RequestContext, ResourceStore } from '@kapstan/apiserver';
import type { FinishReservation, ResourceAllocation } from '@kapstan/apiserver/internal';
import { collectFieldErrors, serverContext } from '@kapstan/apiserver/internal';
import type { Service, ServiceSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { type AddressOwner, ClusterAddresses } from './cluster-addresses.ts';
import { parseIpv4, parseIpv4Network } from './ipv4.ts';
import { NodePorts } from './node-ports.ts';
import type { NumberPool } from './number-pool.ts';
import { hasPortsToTake, nodePortsOf, planPorts } from './port-plan.ts';
import { initIpFamilies } from './service-families.ts';
import { carryAllocated, normalizeClusterIps } from './service-fields.ts';
import { needsClusterIp } from './service-needs.ts';

/** Addresses and ports that one write reserved. They are released if it fails. */
interface Taken {
  readonly addresses: string[];
  readonly ports: number[];
}

/** One update, or a create, which has no old object. */
interface Write {
  readonly context: RequestContext;
  readonly object: Service;
  readonly old: DeepReadonly<Service> | undefined;
  readonly taken: Taken;
}

export class ServiceAllocator implements ResourceAllocation<Service> {
  readonly #server: BuiltinServer;
  readonly #addresses: ClusterAddresses;
  readonly #ports: NodePorts;

  /** Throws TypeError when the server's range is not a network. */
  constructor(server: BuiltinServer) {
    parseIpv4Network(server.serviceClusterIpRange);
    this.#server = server;
    this.#addresses = new ClusterAddresses(server);
    this.#ports = new NodePorts(server.serviceNodePortRange, server.nodePorts);
  }

  create(_store: ResourceStore<Service>, context: RequestContext, object: Service): Promise<FinishReservation> {
    if (object.spec !== undefined) normalizeClusterIps(object.spec);
    return this.#reserve({ context, object, old: undefined, taken: { addresses: [], ports: [] } });
  }

  update(
    _store: ResourceStore<Service>,
    context: RequestContext,
    { next, old }: { readonly next: Service; readonly old: DeepReadonly<Service> },
  ): Promise<FinishReservation> {
    if (next.spec !== undefined && old.spec !== undefined) carryAllocated(next.spec, old.spec);
    return this.#reserve({ context, object: next, old, taken: { addresses: [], ports: [] } });
  }

  /** Also deletes the service's endpoints, because a new service of that name must not lead to the old ones. */
  async release({ metadata, spec }: DeepReadonly<Service>): Promise<void> {
    const { namespace = '', name = '' } = metadata ?? {};
    const endpoints = this.#server.findStore('', 'v1', 'endpoints');
    const removal = endpoints?.delete(serverContext(namespace), name, {}).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await Promise.allSettled([removal]);
    await this.#giveBack({ addresses: addressesOf(spec), ports: nodePortsOf(spec) });
  }

  /** Takes the addresses and ports that the new object needs and the old one did not have. */
  async #reserve(write: Write): Promise<FinishReservation> {
    const { context, object, old, taken } = write;
    try {
      if (object.spec !== undefined) await this.#take(object.spec, write);
    } catch (error) {
      await this.#giveBack(taken);
      throw error;
    }
    return async (committed) => {
      if (!committed) await this.#giveBack(taken);
      else if (old !== undefined && !context.dryRun) await this.#giveBack(unused(old, object));
    };
  }

  /** Takes step by step, because each step needs the one before; the first failure is reported. */
  async #take(spec: ServiceSpec, write: Write): Promise<void> {
    const { object, old } = write;
    requireNone(
      object,
      collectFieldErrors((root) => initIpFamilies(root.child('spec'), spec, old?.spec)),
    );
    if (needsClusterIp(spec)) await this.#takeAddress(spec, write);
    if (hasPortsToTake(spec, old?.spec)) await this.#takePorts(spec, write);
  }

  async #takeAddress(spec: ServiceSpec, write: Write): Promise<void> {
    const { context, object, old, taken } = write;
    const asked = spec.clusterIP ?? '';
    const hadAddress = old?.spec !== undefined && needsClusterIp(old.spec) && Boolean(old.spec.clusterIP);
    // Validation reports text that is not an address.
    if (asked === 'None' || hadAddress || (asked !== '' && parseIpv4(asked) === undefined)) return;
    const owner = { namespace: context.namespace, name: object.metadata?.name ?? '' };
    const address = asked === '' ? await this.#anyAddress(owner, context) : asked;
    if (asked !== '') requireNone(object, await this.#askFor(spec, owner, context));
    if (!context.dryRun) taken.addresses.push(address);
    spec.clusterIP = address;
    if (asked === '') spec.clusterIPs = [address];
  }

  async #askFor(spec: ServiceSpec, owner: AddressOwner, { dryRun }: RequestContext): Promise<readonly FieldError[]> {
    const { clusterIP: address = '', clusterIPs = [address] } = spec;
    const why = await (dryRun ? this.#addresses.refusalOf(address) : this.#addresses.take(address, owner));
    if (why === undefined) return [];
    return collectFieldErrors((root) =>
      root.child('spec', 'clusterIPs').invalid(clusterIPs, `failed to allocate IP ${address}: ${why}`),
    );
  }

  async #anyAddress(owner: AddressOwner, { dryRun }: RequestContext): Promise<string> {
    const address = await (dryRun ? this.#addresses.sample() : this.#addresses.takeAny(owner));
    if (address !== undefined) return address;
    const why = `failed to allocate a serviceIP for Service ${JSON.stringify(owner.name)}: range is full`;
    throw internalError(new Error(why));
  }

  async #takePorts(spec: ServiceSpec, { context, object, old, taken }: Write): Promise<void> {
    const { random, serviceNodePortRange: range } = this.#server;
    const { dryRun } = context;
    const plan = await this.#changePorts(dryRun, (pool) => planPorts(spec, old?.spec, { pool, range, random, dryRun }));
    if (!dryRun) taken.ports.push(...plan.taken);
    if (plan.failure !== undefined) throw internalError(new Error(plan.failure));
    requireNone(object, plan.errors);
    if (plan.repeated !== undefined)
      throw new StatusError({ code: 500, reason: '', message: `duplicate nodePort: ${plan.repeated}` });
    if (spec.ports !== undefined) spec.ports = [...plan.ports];
    if (plan.healthCheckNodePort !== undefined) spec.healthCheckNodePort = plan.healthCheckNodePort;
  }

  #changePorts<R>(dryRun: boolean, work: (pool: NumberPool) => R): Promise<R> {
    return this.#ports.change({ dryRun, readAll: () => this.#readPorts() }, work);
  }

  /** Never rejects, because the regular check finds addresses and ports that stay taken without a service. */
  async #giveBack({ addresses, ports }: Taken): Promise<void> {
    const returned: Promise<unknown>[] = addresses.map((address) => this.#addresses.release(address));
    if (ports.length > 0) {
      const release = (pool: NumberPool): void => {
        for (const port of ports) pool.release(port);
      };
      returned.push(this.#changePorts(false, release));
    }
    await Promise.allSettled(returned);
  }

  async #readPorts(): Promise<readonly number[]> {
    const items = (await this.#server.findStore('', 'v1', 'services')?.list(serverContext(''), {}))?.items ?? [];
    return items.flatMap((item) => item.view((service: DeepReadonly<Service>) => nodePortsOf(service.spec)));
  }
}

/** Returns the addresses and ports that only the old object used. */
function unused(old: DeepReadonly<Service>, next: Service): Taken {
  const [addresses, ports] = [new Set(addressesOf(next.spec)), new Set(nodePortsOf(next.spec))];
  return {
    addresses: addressesOf(old.spec).filter((address) => !addresses.has(address)),
    ports: nodePortsOf(old.spec).filter((port) => !ports.has(port)),
  };
}

function addressesOf(spec: DeepReadonly<ServiceSpec> | undefined): string[] {
  return (spec?.clusterIPs ?? []).filter((address) => isIP(address) !== 0);
}

/** Throws 422 when there are errors. */
function requireNone(object: Service, errors: readonly FieldError[]): void {
  if (errors.length > 0) throw invalid({ group: '', kind: 'Service' }, object.metadata?.name ?? '', errors);
}

// ServiceAllocator: cluster addresses and node ports of services, unique within this process. Its state is read from the
// store on first use and kept from then on. Several servers on one store do not see each other's allocations in flight.
// Source: pkg/registry/core/service/storage/alloc.go.
import { type DeepReadonly, type FieldError, newInternalError, newInvalid } from '@kapstan/api';
import type { Service, ServiceSpec } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin-kind.ts';
import type { RequestContext } from '../../request-context.ts';
import type { FinishReservation, ResourceAllocation } from '../../resource-definition.ts';
import type { ResourceStore } from '../../resource-store.ts';
import { collectFieldErrors, type Field } from '../../validation/field.ts';
import { parseIpv4, parseIpv4Network, printIpv4 } from './ipv4.ts';
import { NumberPool } from './number-pool.ts';
import { initIpFamilies } from './service-families.ts';
import { carryAllocated, normalizeClusterIps } from './service-fields.ts';
import { hasNodePorts, needsClusterIp, needsHealthCheckPort, needsNodePort } from './service-needs.ts';

/** What one write took, to be given back when it fails. */
interface Taken {
  readonly addresses: number[];
  readonly ports: number[];
}

/** One create (without an old one) or update. */
interface Write {
  readonly old: DeepReadonly<Service> | undefined;
  readonly taken: Taken;
  readonly context: RequestContext;
}

export class ServiceAllocator implements ResourceAllocation<Service> {
  readonly #server: BuiltinServer;
  readonly #addresses: NumberPool;
  readonly #ports: NumberPool;
  #seeded: Promise<void> | undefined;

  constructor(server: BuiltinServer) {
    this.#server = server;
    const network = parseIpv4Network(server.serviceClusterIpRange);
    // The network's own address and the broadcast address are never given out.
    const size = network.size - 2;
    this.#addresses = new NumberPool({
      first: network.first + 1,
      size,
      reserved: Math.min(256, Math.max(16, Math.floor(size / 16))),
    });
    const { first, last } = server.serviceNodePortRange;
    this.#ports = new NumberPool({
      first,
      size: last - first + 1,
      reserved: Math.min(86, Math.max(0, last - first - 16)),
    });
  }

  async create(store: ResourceStore<Service>, context: RequestContext, object: Service): Promise<FinishReservation> {
    await this.#seed(store, context);
    if (object.spec !== undefined) normalizeClusterIps(object.spec);
    return this.#reserve(context, object, undefined);
  }

  async update(
    store: ResourceStore<Service>,
    context: RequestContext,
    { next, old }: { readonly next: Service; readonly old: DeepReadonly<Service> },
  ): Promise<FinishReservation> {
    await this.#seed(store, context);
    if (next.spec !== undefined && old.spec !== undefined) carryAllocated(next.spec, old.spec);
    return this.#reserve(context, next, old);
  }

  release(object: DeepReadonly<Service>): void {
    for (const address of addressesOf(object.spec)) this.#addresses.release(address);
    for (const port of portsOf(object.spec)) this.#ports.release(port);
  }

  /** Takes what the object needs and the old one did not have. Atomic: no other write comes in between. */
  #reserve(context: RequestContext, object: Service, old: DeepReadonly<Service> | undefined): FinishReservation {
    const taken: Taken = { addresses: [], ports: [] };
    const { spec } = object;
    const errors =
      spec === undefined
        ? []
        : collectFieldErrors((root) => this.#take(root.child('spec'), spec, { old, taken, context }));
    if (errors.length > 0) {
      this.#giveBack(taken);
      throw this.#invalid(object, errors);
    }
    return (committed) => {
      if (!committed || context.dryRun) this.#giveBack(taken);
      else if (old !== undefined) this.#releaseUnused(old, object);
    };
  }

  /** Each step needs the one before it: the first that fails is told. */
  #take(at: Field, spec: ServiceSpec, write: Write): void {
    initIpFamilies(at, spec, write.old?.spec);
    if (at.errorCount === 0 && needsClusterIp(spec)) this.#takeAddress(at, spec, write);
    if (at.errorCount === 0 && hasNodePorts(spec)) this.#takePorts(at.child('ports'), spec, write);
    const hadCheckPort = write.old?.spec !== undefined && needsHealthCheckPort(write.old.spec);
    if (at.errorCount === 0 && needsHealthCheckPort(spec) && !hadCheckPort) this.#takeCheckPort(spec, write);
  }

  #takeAddress(at: Field, spec: ServiceSpec, { old, taken }: Write): void {
    const asked = spec.clusterIP ?? '';
    const hadAddress = old?.spec !== undefined && needsClusterIp(old.spec) && (old.spec.clusterIP ?? '') !== '';
    if (asked === 'None' || hadAddress) return;
    if (asked !== '') {
      const address = parseIpv4(asked);
      // What is no address was told before.
      if (address !== undefined) this.#takeAsked(at, { asked: spec.clusterIPs ?? [asked], address, taken });
      return;
    }
    const address = this.#addresses.takeAny();
    if (address === undefined) throw newInternalError(new Error('failed to allocate a serviceIP: range is full'));
    taken.addresses.push(address);
    spec.clusterIP = printIpv4(address);
    spec.clusterIPs = [spec.clusterIP];
  }

  #takeAsked(
    at: Field,
    {
      asked,
      address,
      taken,
    }: {
      readonly asked: readonly string[];
      readonly address: number;
      readonly taken: Taken;
    },
  ): void {
    const refuse = (why: string): void =>
      at.child('clusterIPs').invalid(asked, `failed to allocate IP ${asked[0] ?? ''}: ${why}`);
    if (!this.#addresses.contains(address)) return refuse('the provided network does not match the current range');
    if (!this.#addresses.take(address)) return refuse('provided IP is already allocated');
    taken.addresses.push(address);
  }

  /** Those that the old one had are kept; one number of two protocols shares its node port. Source: initNodePorts, updateNodePorts. */
  #takePorts(at: Field, spec: ServiceSpec, write: Write): void {
    const kept = new Set(portsOf(write.old?.spec));
    const byNumber = new Map<number, number>();
    at.each(spec.ports, (port, place) => {
      const shared = byNumber.get(port.port);
      if (!port.nodePort && !needsNodePort(spec)) return;
      port.nodePort ||=
        shared ?? spec.ports?.find((other) => other.port === port.port && other.nodePort)?.nodePort ?? 0;
      if (port.nodePort === 0) port.nodePort = this.#anyPort(write.taken);
      else if (!kept.has(port.nodePort) && shared !== port.nodePort) {
        const error = this.#takePort(port.nodePort, write);
        if (error !== undefined) place.child('nodePort').invalid(port.nodePort, error);
      }
      if (shared === undefined) byNumber.set(port.port, port.nodePort);
    });
  }

  #takeCheckPort(spec: ServiceSpec, write: Write): void {
    const port = spec.healthCheckNodePort ?? 0;
    if (port === 0) spec.healthCheckNodePort = this.#anyPort(write.taken);
    const error = port === 0 ? undefined : this.#takePort(port, write);
    if (error !== undefined)
      throw newInternalError(new Error(`failed to allocate requested HealthCheck NodePort ${port}: ${error}`));
  }

  /** What is wrong with the port, else it is taken. A dry run takes any number that is free. */
  #takePort(port: number, { taken, context }: Write): string | undefined {
    const { first, last } = this.#server.serviceNodePortRange;
    const isInRange = this.#ports.contains(port);
    if (!isInRange && !context.dryRun)
      return `provided port is not in the valid range. The range of valid ports is ${first}-${last}`;
    if (!this.#ports.take(port)) return 'provided port is already allocated';
    taken.ports.push(port);
    return undefined;
  }

  #anyPort(taken: Taken): number {
    const port = this.#ports.takeAny();
    if (port === undefined) throw newInternalError(new Error('failed to allocate a nodePort: range is full'));
    taken.ports.push(port);
    return port;
  }

  #giveBack(taken: Taken): void {
    for (const address of taken.addresses) this.#addresses.release(address);
    for (const port of taken.ports) this.#ports.release(port);
  }

  #releaseUnused(old: DeepReadonly<Service>, next: Service): void {
    const addresses = new Set(addressesOf(next.spec));
    const ports = new Set(portsOf(next.spec));
    for (const address of addressesOf(old.spec)) if (!addresses.has(address)) this.#addresses.release(address);
    for (const port of portsOf(old.spec)) if (!ports.has(port)) this.#ports.release(port);
  }

  #invalid(object: Service, errors: readonly FieldError[]): Error {
    return newInvalid({ group: '', kind: 'Service' }, object.metadata?.name ?? '', errors);
  }

  /** Reads all services once. A failure is told to the caller and tried again by the next. */
  #seed(store: ResourceStore<Service>, context: RequestContext): Promise<void> {
    this.#seeded ??= this.#readAll(store, { ...context, namespace: '' }).catch((error: unknown) => {
      this.#seeded = undefined;
      throw error;
    });
    return this.#seeded;
  }

  async #readAll(store: ResourceStore<Service>, context: RequestContext): Promise<void> {
    const { items } = await store.list(context, {});
    for (const { object } of items) {
      for (const address of addressesOf(object.spec)) this.#addresses.take(address);
      for (const port of portsOf(object.spec)) this.#ports.take(port);
    }
  }
}

function addressesOf(spec: DeepReadonly<ServiceSpec> | undefined): number[] {
  return (spec?.clusterIPs ?? []).map(parseIpv4).filter((address) => address !== undefined);
}

function portsOf(spec: DeepReadonly<ServiceSpec> | undefined): number[] {
  const ports = (spec?.ports ?? []).map((port) => port.nodePort ?? 0);
  return [...ports, spec?.healthCheckNodePort ?? 0].filter((port) => port !== 0);
}

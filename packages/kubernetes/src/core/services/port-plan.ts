// Plans which free node ports a service takes, for service-allocator.ts. It may run again on newer state. Source:
// pkg/registry/core/service/storage initNodePorts, updateNodePorts, allocHealthCheckNodePort.
import type { DeepReadonly } from '@kapstan/api';
import type { FieldError } from '@kapstan/api/errors';
import { collectFieldErrors, type Field } from '@kapstan/apiserver/internal';
import type { ServicePort, ServiceSpec } from '@kapstan/kinds/core/v1';
import type { NodePortRange } from '../../builtin/node-port-registry.ts';
import type { NumberPool } from './number-pool.ts';
import { hasNodePorts, needsHealthCheckPort, needsNodePort } from './service-needs.ts';

type ReadonlySpec = DeepReadonly<ServiceSpec>;

/** Fields of the planned spec. If there are errors or a failure, nothing is taken. */
export interface PortPlan {
  readonly ports: readonly ServicePort[];
  readonly healthCheckNodePort: number | undefined;
  readonly taken: readonly number[];
  readonly errors: readonly FieldError[];
  /** An error that is not a fault of the request. */
  readonly failure: string | undefined;
  /** The protocol and node port that an update gives to two ports. */
  readonly repeated: string | undefined;
}

export interface PortSource {
  readonly pool: NumberPool;
  readonly range: NodePortRange;
  readonly random: () => number;
  readonly dryRun: boolean;
}

/** True when ports must be planned; most updates change none. */
export function hasPortsToTake(spec: ReadonlySpec, old: ReadonlySpec | undefined): boolean {
  if (needsNewCheckPort(spec, old)) return true;
  const kept = new Set(nodePortsOf(old));
  const isNew = ({ nodePort }: DeepReadonly<ServicePort>): boolean =>
    nodePort ? !kept.has(nodePort) : needsNodePort(spec);
  return hasNodePorts(spec) && ((spec.ports ?? []).some(isNew) || (old !== undefined && repeatsPort(spec)));
}

/** Plans and takes the ports. Atomic. */
export function planPorts(spec: ReadonlySpec, old: ReadonlySpec | undefined, source: PortSource): PortPlan {
  const taking = new Taking(source);
  const ports = (spec.ports ?? []).map((port) => ({ ...port }) as ServicePort);
  const errors = collectFieldErrors((root) => {
    const at = root.child('spec', 'ports');
    if (hasNodePorts(spec) && old === undefined) taking.takeFirst(at, ports, spec);
    else if (hasNodePorts(spec)) taking.takeChanged(at, ports, { spec, old });
  });
  let { healthCheckNodePort } = spec;
  if (errors.length === 0 && taking.repeated === undefined && needsNewCheckPort(spec, old)) {
    healthCheckNodePort = taking.takeCheckPort(healthCheckNodePort ?? 0);
  }
  const { failure, repeated } = taking;
  if (errors.length > 0 || failure !== undefined || repeated !== undefined) taking.undo();
  return { ports, healthCheckNodePort, taken: taking.taken, errors, failure, repeated };
}

/** Returns each node port once, including the health check's. */
export function nodePortsOf(spec: ReadonlySpec | undefined): number[] {
  const ports = (spec?.ports ?? []).map((port) => port.nodePort ?? 0);
  return [...new Set([...ports, spec?.healthCheckNodePort ?? 0])].filter((port) => port !== 0);
}

function repeatsPort({ ports = [] }: ReadonlySpec): boolean {
  const given = ports.filter(({ nodePort }) => nodePort).map(identityOf);
  return new Set(given).size < given.length;
}

function identityOf({ protocol = 'TCP', nodePort = 0 }: DeepReadonly<ServicePort>): string {
  return `{${protocol} ${nodePort}}`;
}

function needsNewCheckPort(spec: ReadonlySpec, old: ReadonlySpec | undefined): boolean {
  return needsHealthCheckPort(spec) && !(old !== undefined && needsHealthCheckPort(old));
}

class Taking {
  readonly taken: number[] = [];
  failure: string | undefined;
  repeated: string | undefined;
  readonly #source: PortSource;

  constructor(source: PortSource) {
    this.#source = source;
  }

  /** Takes the ports of a new service up to the first fault. Ports of one number share their node port. */
  takeFirst(at: Field, ports: readonly ServicePort[], spec: ReadonlySpec): void {
    const byNumber = new Map<number, number>();
    const asked = new Map<number, number>();
    for (const { port, nodePort } of ports.toReversed()) if (nodePort) asked.set(port, nodePort);
    for (const [index, port] of ports.entries()) {
      if (!port.nodePort && !needsNodePort(spec)) continue;
      const shared = byNumber.get(port.port);
      port.nodePort ||= shared ?? asked.get(port.port) ?? this.#takeAny();
      const isAsked = asked.has(port.port) && shared !== port.nodePort;
      if (isAsked && !this.#takeAt(at.index(index), port.nodePort)) return;
      if (shared === undefined) byNumber.set(port.port, port.nodePort);
    }
  }

  /** Takes the ports that an update adds, up to the first fault. */
  takeChanged(
    at: Field,
    ports: readonly ServicePort[],
    { spec, old }: { readonly spec: ReadonlySpec; readonly old: ReadonlySpec | undefined },
  ): void {
    const held = new Set(nodePortsOf(old));
    const seen = new Set<string>();
    for (const [index, port] of ports.entries()) {
      if (!port.nodePort && !needsNodePort(spec)) continue;
      if (!port.nodePort) {
        port.nodePort = this.#takeAny();
        held.add(port.nodePort);
      }
      if (!held.has(port.nodePort) && !this.#takeAt(at.index(index), port.nodePort)) return;
      held.add(port.nodePort);
      const identity = identityOf(port);
      if (seen.has(identity)) this.repeated ??= identity;
      seen.add(identity);
    }
  }

  #takeAt(at: Field, port: number): boolean {
    const error = this.#take(port);
    if (error !== undefined) at.child('nodePort').invalid(port, error);
    return error === undefined;
  }

  takeCheckPort(asked: number): number {
    if (asked === 0) return this.#takeAny();
    const error = this.#take(asked);
    if (error !== undefined) this.failure = `failed to allocate requested HealthCheck NodePort ${asked}: ${error}`;
    return asked;
  }

  undo(): void {
    for (const port of this.taken.splice(0)) this.#source.pool.release(port);
  }

  /** Takes the port, or returns the reason why it cannot. A dry run takes any free number. */
  #take(port: number): string | undefined {
    const { pool, dryRun, range } = this.#source;
    if (!pool.contains(port) && !dryRun) {
      return `provided port is not in the valid range. The range of valid ports is ${range.first}-${range.last}`;
    }
    if (!pool.take(port)) return 'provided port is already allocated';
    this.taken.push(port);
    return undefined;
  }

  #takeAny(): number {
    const { pool, random } = this.#source;
    const port = pool.takeAny(random);
    if (port === undefined) this.failure ??= 'failed to allocate a nodePort: range is full';
    else this.taken.push(port);
    return port ?? 0;
  }
}

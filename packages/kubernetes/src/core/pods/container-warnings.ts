// Warnings about containers that are valid but most likely wrong. Part of pod-warnings.ts. Source:
// pkg/api/pod/warnings.go (1.36).
import type { DeepReadonly } from '@kapstan/api';
import { fieldChild, fieldIndex, fieldKey } from '@kapstan/api/errors';
import type { Container, ContainerPort, EnvVar, EphemeralContainer, PodSpec } from '@kapstan/kinds/core/v1';
import { amount, isWhole } from '../../validation/resource-rules.ts';

type AnyContainer = DeepReadonly<Container | EphemeralContainer>;

/** A container with its path, such as "spec.containers[0]". */
interface PlacedContainer {
  readonly container: AnyContainer;
  readonly path: string;
}

/** `path` is the path of the pod's spec. */
export function containerWarnings(spec: DeepReadonly<PodSpec>, path: string): string[] {
  const containers = placedContainers(spec, path);
  return [
    ...containers.flatMap((placed) => [...envWarnings(placed), ...fractionWarnings(placed)]),
    ...portWarnings(containers),
    ...portNameWarnings(containers),
  ];
}

/** Returns the containers in the order in which Kubernetes visits them. */
export function placedContainers(spec: DeepReadonly<PodSpec>, path: string): PlacedContainer[] {
  const place = (name: string, containers: readonly AnyContainer[] | undefined): PlacedContainer[] =>
    (containers ?? []).map((container, index) => ({ container, path: fieldIndex(fieldChild(path, name), index) }));
  return [
    ...place('initContainers', spec.initContainers),
    ...place('containers', spec.containers),
    ...place('ephemeralContainers', spec.ephemeralContainers),
  ];
}

function envWarnings({ container, path }: PlacedContainer): string[] {
  const seen = new Set<string>();
  return (container.env ?? []).flatMap((variable, index) => {
    const { name } = variable;
    const hides = seen.has(name) && !extendsEarlier(variable);
    seen.add(name);
    const where = fieldIndex(fieldChild(path, 'env'), index);
    return hides
      ? [`${where}: hides previous definition of ${JSON.stringify(name)}, which may be dropped when using apply`]
      : [];
  });
}

/** X="$(X)123" extends the earlier X. */
function extendsEarlier({ name, value = '', valueFrom }: DeepReadonly<EnvVar>): boolean {
  const reference = `$(${name})`;
  return valueFrom === undefined && value !== reference && value.includes(reference);
}

function fractionWarnings({ container, path }: PlacedContainer): string[] {
  return ['memory', 'ephemeral-storage'].flatMap((resource) =>
    (['limits', 'requests'] as const).flatMap((list) => {
      const text = container.resources?.[list]?.[resource];
      if (text === undefined || isWhole(text)) return [];
      const where = fieldKey(fieldChild(fieldChild(path, 'resources'), list), resource);
      return [`${where}: fractional byte value ${JSON.stringify(String(amount(text)))} is invalid, must be an integer`];
    }),
  );
}

interface PlacedPort {
  readonly port: DeepReadonly<ContainerPort>;
  readonly path: string;
  /** Index among all ports of the pod. */
  readonly place: number;
}

function placedPorts(containers: readonly PlacedContainer[]): PlacedPort[] {
  let place = 0;
  return containers.flatMap(({ container, path }) => {
    const at = fieldChild(path, 'ports');
    return (container.ports ?? []).map((port, index) => ({ port, path: fieldIndex(at, index), place: place++ }));
  });
}

function portWarnings(containers: readonly PlacedContainer[]): string[] {
  const earlier = new Map<string, EarlierPorts>();
  const warnings: string[] = [];
  for (const placed of placedPorts(containers)) {
    if (warnings.length >= maxWarnings) break;
    const { port, path } = placed;
    const key = `${port.containerPort}/${port.protocol ?? ''}`;
    const others = earlier.get(key) ?? new EarlierPorts();
    earlier.set(key, others);
    if (port.hostIP && !port.hostPort) warnings.push(`${path}: hostIP set without hostPort: ${goPort(port)}`);
    for (const other of others.clashing(port, maxWarnings - warnings.length)) {
      warnings.push(`${path}: ${clashOf(port, other.port)} port definition with ${other.path}`);
    }
    others.add(placed);
  }
  return warnings;
}

/**
 * The headers of an answer cannot hold more warnings, and there can be nearly as many pairs as the square of the number of ports.
 */
const maxWarnings = 1_000;

/**
 * Earlier definitions of one port and protocol, found by the fields that make two of them clash (see {@link clashOf}).
 */
class EarlierPorts {
  readonly #all: PlacedPort[] = [];
  readonly #withoutHostPort: PlacedPort[] = [];
  /** Definitions by host port, and by host port and address. */
  readonly #lists = new Map<string, PlacedPort[]>();

  add(placed: PlacedPort): void {
    const { hostPort = 0, hostIP = '' } = placed.port;
    this.#all.push(placed);
    if (hostPort === 0) this.#withoutHostPort.push(placed);
    for (const key of [`${hostPort}`, `${hostPort} ${hostIP}`]) {
      const list = this.#lists.get(key);
      if (list === undefined) this.#lists.set(key, [placed]);
      else list.push(placed);
    }
  }

  /** Returns the first definitions that clash with the port, in their order. */
  clashing({ hostPort = 0, hostIP = '' }: DeepReadonly<ContainerPort>, most: number): readonly PlacedPort[] {
    if (hostPort === 0) return this.#all.slice(0, most);
    const samePort =
      hostIP === '' ? [this.#of(`${hostPort}`)] : [this.#of(`${hostPort} ${hostIP}`), this.#of(`${hostPort} `)];
    const found = [this.#withoutHostPort, ...samePort].flatMap((list) => list.slice(0, most));
    return found.sort((a, b) => a.place - b.place).slice(0, most);
  }

  #of(key: string): readonly PlacedPort[] {
    return this.#lists.get(key) ?? [];
  }
}

/** Describes how two definitions of one port and protocol clash; undefined when both make sense. */
function clashOf(a: DeepReadonly<ContainerPort>, b: DeepReadonly<ContainerPort>): string | undefined {
  const [portA, portB] = [a.hostPort ?? 0, b.hostPort ?? 0];
  const [ipA, ipB] = [a.hostIP ?? '', b.hostIP ?? ''];
  if (portA === portB && ipA === ipB) return 'duplicate';
  if (portA === 0 || portB === 0) return 'overlapping';
  return portA === portB && (ipA === '') !== (ipB === '') ? 'dangerously ambiguous' : undefined;
}

/** Formats like Go's %+v of the struct. */
function goPort({
  name = '',
  hostPort = 0,
  containerPort,
  protocol,
  hostIP = '',
}: DeepReadonly<ContainerPort>): string {
  return `{Name:${name} HostPort:${hostPort} ContainerPort:${containerPort} Protocol:${protocol ?? ''} HostIP:${hostIP}}`;
}

function portNameWarnings(containers: readonly PlacedContainer[]): string[] {
  const first = new Map<string, string>();
  return placedPorts(containers).flatMap(({ port: { name }, path }) => {
    if (!name) return [];
    const other = first.get(name);
    if (other === undefined) {
      first.set(name, path);
      return [];
    }
    const why = `services and probes that select ports by name will use ${other}`;
    return [`${path}: duplicate port name ${JSON.stringify(name)} with ${other}, ${why}`];
  });
}

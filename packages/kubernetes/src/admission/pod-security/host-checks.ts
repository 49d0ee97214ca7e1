// The rules of the baseline level about the host: its namespaces, ports and processes, and probes of other hosts. Run by
// pod-checks.ts.

import type { DeepReadonly } from '@kapstan/api';
import type { LifecycleHandler, Probe } from '@kapstan/kinds/core/v1';
import {
  type AnyContainer,
  badSettings,
  type CheckedPod,
  containersOf,
  formatSetters,
  listed,
  namesWhere,
  type PodCheck,
  plural,
  quoted,
  sorted,
  type Violation,
} from './pod-check.ts';

function hostNamespaceFault({ spec }: CheckedPod): Violation | undefined {
  const shared = (['hostNetwork', 'hostPID', 'hostIPC'] as const).filter((field) => spec[field] === true);
  if (shared.length === 0) return undefined;
  return { reason: 'host namespaces', detail: shared.map((field) => `${field}=true`).join(', ') };
}

export const hostNamespaces: PodCheck = {
  id: 'hostNamespaces',
  versions: [{ since: 0, check: hostNamespaceFault }],
};

function hostPortFault(pod: CheckedPod): Violation | undefined {
  const portsOf = ({ ports }: AnyContainer): number[] =>
    (ports ?? []).flatMap(({ hostPort = 0 }) => (hostPort === 0 ? [] : hostPort));
  const names = namesWhere(pod, (container) => portsOf(container).length > 0);
  if (names.length === 0) return undefined;
  const ports = sorted(containersOf(pod).flatMap((container) => portsOf(container).map(String)));
  const use = names.length === 1 ? 'uses' : 'use';
  const detail = `${listed('container', names)} ${use} ${plural('hostPort', ports.length)} ${ports.join(', ')}`;
  return { reason: 'hostPort', detail };
}

export const hostPorts: PodCheck = { id: 'hostPorts', versions: [{ since: 0, check: hostPortFault }] };

function hostsOf(handler: DeepReadonly<Probe | LifecycleHandler> | undefined): string[] {
  return [handler?.httpGet?.host, handler?.tcpSocket?.host].filter(
    (host) => host !== undefined && host !== '',
  ) as string[];
}

function probedHosts(container: AnyContainer): string[] {
  const { livenessProbe, readinessProbe, startupProbe, lifecycle } = container;
  return [livenessProbe, readinessProbe, startupProbe, lifecycle?.postStart, lifecycle?.preStop].flatMap(hostsOf);
}

function probeFault(pod: CheckedPod): Violation | undefined {
  const names = sorted(namesWhere(pod, (container) => probedHosts(container).length > 0));
  if (names.length === 0) return undefined;
  const hosts = sorted(containersOf(pod).flatMap(probedHosts));
  const use = names.length === 1 ? 'uses' : 'use';
  const what = `${plural('probe or lifecycle host', hosts.length)} ${quoted(hosts)}`;
  return { reason: 'probe or lifecycle host', detail: `${listed('container', names)} ${use} ${what}` };
}

export const hostProbes: PodCheck = {
  id: 'hostProbesAndHostLifecycle',
  versions: [{ since: 34, check: probeFault }],
};

function hostProcessFault(pod: CheckedPod): Violation | undefined {
  const setters = formatSetters(badSettings(pod, ({ windowsOptions }) => windowsOptions?.hostProcess === true));
  if (setters === '') return undefined;
  return { reason: 'hostProcess', detail: `${setters} must not set securityContext.windowsOptions.hostProcess=true` };
}

export const windowsHostProcess: PodCheck = {
  id: 'windowsHostProcess',
  versions: [{ since: 0, check: hostProcessFault }],
};

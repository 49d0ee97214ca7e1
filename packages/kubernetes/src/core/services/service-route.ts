// Decides to which address requests for a Service go. A cluster address leads nowhere without a proxy on every node, so
// endpoints come first. Used by service-resolver.ts and endpoint-addresses.ts. Source: apiserver util/proxy
// (ResolveEndpoint, ResolveCluster).
import type { DeepReadonly } from '@kapstan/api';
import { serviceUnavailable } from '@kapstan/api/errors';
import type { ServiceAddress, ServiceReference } from '@kapstan/apiserver';
import type { Service } from '@kapstan/kinds/core/v1';

/** The parts of a Service that determine its endpoints. */
export interface ServiceRoute {
  readonly type: string;
  readonly clusterIp: string;
  readonly externalName: string;
  readonly ports: readonly { readonly name: string; readonly port: number }[];
}

export interface RouteOptions {
  /** Returns the ready addresses behind the port with this name. */
  readonly addressesOf: (portName: string) => readonly ServiceAddress[];
  /** True = neither cluster addresses nor external names are tried. */
  readonly endpointsOnly: boolean;
}

export function routeOf({ spec }: DeepReadonly<Service>): ServiceRoute {
  return {
    type: spec?.type ?? 'ClusterIP',
    clusterIp: spec?.clusterIP ?? '',
    externalName: spec?.externalName ?? '',
    ports: (spec?.ports ?? []).map(({ name = '', port }) => ({ name, port })),
  };
}

/** Returns one of the addresses, at random. Throws with kube-apiserver's text when there is none. */
export function followRoute(
  { type, clusterIp, externalName, ports }: ServiceRoute,
  { name, port }: Pick<ServiceReference, 'name' | 'port'>,
  { addressesOf, endpointsOnly }: RouteOptions,
): ServiceAddress {
  if (type === 'ExternalName') {
    if (endpointsOnly) throw new Error('unsupported service type "ExternalName"');
    return { host: externalName, port };
  }
  const servicePort = ports.find((candidate) => candidate.port === port);
  if (servicePort === undefined) throw serviceUnavailable(`no service port ${port} found for service "${name}"`);
  const addresses = addressesOf(servicePort.name);
  const address = addresses[Math.floor(Math.random() * addresses.length)];
  if (address !== undefined) return address;
  if (endpointsOnly) throw serviceUnavailable(`no endpoints available for service "${name}"`);
  if (clusterIp === 'None') throw new Error('cannot route to service with ClusterIP "None"');
  return { host: clusterIp, port };
}

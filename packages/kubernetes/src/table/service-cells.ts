// Rows of services and ingresses: addresses and ports. Source: printers.go printService, printIngress.
import type { DeepReadonly } from '@kapstan/api';
import type { LoadBalancerStatus, Service, ServicePort } from '@kapstan/kinds/core/v1';
import type { Ingress, IngressLoadBalancerStatus } from '@kapstan/kinds/networking.k8s.io/v1';
import { ageOf, type Cells, formatLabels, nameOf, none, orNone } from './cells.ts';

export const serviceCells: Cells<Service> = (service) => [
  nameOf(service),
  service.spec?.type ?? '',
  orNone(service.spec?.clusterIPs?.[0]),
  externalAddress(service),
  service.spec?.ports === undefined ? none : service.spec.ports.map(formatPort).join(','),
  ageOf(service),
  formatLabels(service.spec?.selector),
];

function formatPort(port: DeepReadonly<ServicePort>): string {
  const node = port.nodePort ? `:${port.nodePort}` : '';
  return `${port.port}${node}/${port.protocol ?? ''}`;
}

/** Source: getServiceExternalIP. */
function externalAddress(service: DeepReadonly<Service>): string {
  const external = service.spec?.externalIPs ?? [];
  switch (service.spec?.type) {
    case 'ClusterIP':
    case 'NodePort':
      return external.length > 0 ? external.join(',') : none;
    case 'LoadBalancer': {
      const assigned = ingressAddresses(service.status?.loadBalancer);
      const all = [...(assigned === '' ? [] : assigned.split(',')), ...external];
      return all.length > 0 ? all.join(',') : '<pending>';
    }
    case 'ExternalName':
      return service.spec.externalName ?? '';
    default:
      return '<unknown>';
  }
}

function ingressAddresses(status: DeepReadonly<LoadBalancerStatus | IngressLoadBalancerStatus> | undefined): string {
  return (status?.ingress ?? [])
    .map((ingress) => ingress.ip || ingress.hostname || '')
    .filter((text) => text !== '')
    .join(',');
}

export const ingressCells: Cells<Ingress> = (ingress) => {
  const hosts = (ingress.spec?.rules ?? []).map((rule) => rule.host ?? '').filter((host) => host !== '');
  const shown = hosts.slice(0, 3).join(',');
  return [
    nameOf(ingress),
    orNone(ingress.spec?.ingressClassName),
    hosts.length === 0 ? '*' : hosts.length > 3 ? `${shown} + ${hosts.length - 3} more...` : shown,
    ingressAddresses(ingress.status?.loadBalancer),
    (ingress.spec?.tls?.length ?? 0) > 0 ? '80, 443' : '80',
    ageOf(ingress),
  ];
};

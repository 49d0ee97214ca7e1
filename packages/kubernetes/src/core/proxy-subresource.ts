// The common part of the proxies of pods, services and nodes, which take all methods and the rest of the URL.
// The folders pods, services and nodes determine their destinations.
import type { KubernetesObject } from '@kapstan/api';
import type { Connecter, ObjectSubresource } from '@kapstan/apiserver/internal';

export function proxySubresource<T extends KubernetesObject>(
  kind: 'NodeProxyOptions' | 'PodProxyOptions' | 'ServiceProxyOptions',
  connect: Connecter<T>['connect'],
): ObjectSubresource<T> {
  const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'HEAD', 'OPTIONS'];
  return {
    type: 'object',
    name: 'proxy',
    kind: { group: '', version: 'v1', kind },
    verbs: ['create', 'delete', 'get', 'patch', 'update'],
    connect: { methods, queryOptions: {}, takesPath: true, connect },
  };
}

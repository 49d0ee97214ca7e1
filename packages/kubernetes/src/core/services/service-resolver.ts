// Finds the address of a Service through which webhooks are called. A cluster address leads nowhere without a proxy on
// every node, so endpoints come first. Source: apiserver util/proxy ResolveEndpoint, ResolveCluster.
import { isNotFound, type UnstructuredObject } from '@kapstan/api';
import { serviceUnavailable } from '@kapstan/api/errors';
import type { ResolveService } from '@kapstan/apiserver';
import { serverContext } from '@kapstan/apiserver/internal';
import type { Endpoints, Service, ServicePort } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';

interface Address {
  readonly host: string;
  readonly port: number;
}

export function serviceResolver({ findStore }: Pick<BuiltinServer, 'findStore'>): ResolveService {
  const read = async <T>(resource: string, { namespace, name }: { namespace: string; name: string }): Promise<T> => {
    const store = findStore('', 'v1', resource);
    if (store === undefined) throw new Error(`this server has no ${resource}`);
    const { object } = await store.get(serverContext(namespace), name, { resourceVersion: '0' }).catch((error) => {
      throw isNotFound(error) ? new Error(`${resource.replace(/s$/, '')} "${name}" not found`) : error;
    });
    return object as unknown as T & UnstructuredObject;
  };
  return async ({ namespace, name, port }) => {
    const service = await read<Service>('services', { namespace, name });
    const { type, externalName = '', clusterIP = '' } = service.spec ?? {};
    if (type === 'ExternalName') return { host: externalName, port };
    const servicePort = service.spec?.ports?.find((candidate) => candidate.port === port);
    if (servicePort === undefined) throw serviceUnavailable(`no service port ${port} found for service "${name}"`);
    const endpoint = endpointOf(await readIfAny(read<Endpoints>('endpoints', { namespace, name })), servicePort);
    if (endpoint !== undefined) return endpoint;
    if (clusterIP === 'None') throw new Error('cannot route to service with ClusterIP "None"');
    return { host: clusterIP, port };
  };
}

/** A Service may have no endpoints yet; other errors appear when the cluster address is tried. */
async function readIfAny(reading: Promise<Endpoints>): Promise<Endpoints | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof Error) return undefined;
    throw error;
  });
}

/** Returns one of the ready addresses at random. */
function endpointOf(endpoints: Endpoints | undefined, { name = '' }: ServicePort): Address | undefined {
  const addresses = (endpoints?.subsets ?? []).flatMap(({ addresses: ready = [], ports = [] }) => {
    const port = ports.find((candidate) => (candidate.name ?? '') === name)?.port;
    return port === undefined ? [] : ready.map(({ ip }): Address => ({ host: ip, port }));
  });
  return addresses[Math.floor(Math.random() * addresses.length)];
}

// Finds the address of a Service through which webhooks are called, from the stored objects. endpoint-addresses.ts does the same from
// memory. Source: apiserver util/proxy ResolveEndpoint, ResolveCluster.
import { isNotFound, type UnstructuredObject } from '@kapstan/api';
import type { ResolveService, ServiceAddress } from '@kapstan/apiserver';
import { serverContext } from '@kapstan/apiserver/internal';
import type { Endpoints, Service } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { followRoute, routeOf } from './service-route.ts';

export interface ServiceResolverOptions extends Pick<BuiltinServer, 'findStore'> {
  /** True = neither cluster addresses nor external names are tried. Default false. */
  readonly endpointsOnly?: boolean | undefined;
}

/** Returns the function that finds the address of a Service. */
export function serviceResolver({ findStore, endpointsOnly = false }: ServiceResolverOptions): ResolveService {
  const read = async <T>(resource: string, { namespace, name }: { namespace: string; name: string }): Promise<T> => {
    const store = findStore('', 'v1', resource);
    if (store === undefined) throw new Error(`this server has no ${resource}`);
    const { object } = await store.get(serverContext(namespace), name, { resourceVersion: '0' }).catch((error) => {
      throw isNotFound(error) ? new Error(`${resource.replace(/s$/, '')} "${name}" not found`) : error;
    });
    return object as unknown as T & UnstructuredObject;
  };
  return async (reference) => {
    const { namespace, name } = reference;
    const route = routeOf(await read<Service>('services', { namespace, name }));
    const isElsewhere = route.type === 'ExternalName';
    const endpoints = isElsewhere ? undefined : await readIfAny(read<Endpoints>('endpoints', { namespace, name }));
    return followRoute(route, reference, { addressesOf: (port) => addressesOf(endpoints, port), endpointsOnly });
  };
}

/** A Service may have no endpoints yet; other errors appear when the cluster address is tried. */
async function readIfAny(reading: Promise<Endpoints>): Promise<Endpoints | undefined> {
  return reading.catch((error: unknown) => {
    if (error instanceof Error) return undefined;
    throw error;
  });
}

function addressesOf(endpoints: Endpoints | undefined, portName: string): readonly ServiceAddress[] {
  return (endpoints?.subsets ?? []).flatMap(({ addresses: ready = [], ports = [] }) => {
    const port = ports.find((candidate) => (candidate.name ?? '') === portName)?.port;
    return port === undefined ? [] : ready.map(({ ip }): ServiceAddress => ({ host: ip, port }));
  });
}

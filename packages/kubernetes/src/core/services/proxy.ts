// services/proxy connects to a random pod behind a service. Source: pkg/registry/core/service/storage
// (ResourceLocation).
import { type DeepReadonly, isNotFound } from '@kapstan/api';
import { badRequest, notFound, serviceUnavailable } from '@kapstan/api/errors';
import type { RequestContext } from '@kapstan/apiserver';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import { type NamedPort, parseNamedPort } from '@kapstan/apiserver/internal';
import type { EndpointAddress, Endpoints, Pod, Service } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { proxySubresource } from '../proxy-subresource.ts';

type ProxyServer = Pick<BuiltinServer, 'findStore'> & { readonly random?: () => number };

interface Candidate {
  readonly address: DeepReadonly<EndpointAddress>;
  readonly port: number;
}

export function serviceProxySubresource(server: ProxyServer): ObjectSubresource<Service> {
  return proxySubresource('ServiceProxyOptions', async (store, context, { name: id, path }) => {
    const named = parseNamedPort(id);
    if (named === undefined) throw badRequest(`invalid service request ${JSON.stringify(id)}`);
    const isNumber = /^[+-]?\d+$/.test(named.port);
    const portName = isNumber ? portNameOf((await store.get(context, named.name)).object, named) : named.port;
    const { subsets = [] } = await endpointsOf(server, context, named.name);
    if (subsets.length === 0) throw serviceUnavailable(`no endpoints available for service "${named.name}"`);
    const candidates = subsets.flatMap(({ addresses = [], ports = [] }) => {
      const port = ports.find(({ name = '' }) => name === portName)?.port;
      return port === undefined ? [] : addresses.map((address): Candidate => ({ address, port }));
    });
    const found = await firstPod(server, context, candidates);
    if (found === undefined) throw serviceUnavailable(`no endpoints available for service "${id}"`);
    const { scheme } = named;
    return { scheme, host: found.address.ip, port: found.port, path, peer: 'anyone', upgrade: 'optional' };
  });
}

function portNameOf({ spec }: DeepReadonly<Service>, { name, port }: NamedPort): string {
  const declared = spec?.ports?.find((candidate) => candidate.port === Number(port));
  if (declared !== undefined) return declared.name ?? '';
  throw serviceUnavailable(`no service port ${Number(port)} found for service "${name}"`);
}

/** Missing endpoints cause a 404 that names the service, because that was requested. */
async function endpointsOf(
  server: ProxyServer,
  context: RequestContext,
  name: string,
): Promise<DeepReadonly<Endpoints>> {
  const notFoundError = notFound({ group: '', resource: 'services' }, name);
  const endpoints = server.findStore('', 'v1', 'endpoints');
  if (endpoints === undefined) throw notFoundError;
  const { object } = await endpoints.get(context, name).catch((error: unknown) => {
    throw isNotFound(error) ? notFoundError : error;
  });
  return object as DeepReadonly<Endpoints>;
}

/**
 * Tries the endpoints, starting with a random one. Only pods count, because otherwise Endpoints could lead a client to
 * any address.
 */
async function firstPod(
  server: ProxyServer,
  context: RequestContext,
  candidates: readonly Candidate[],
): Promise<Candidate | undefined> {
  const start = Math.floor((server.random ?? Math.random)() * candidates.length);
  for (const candidate of [...candidates.slice(start), ...candidates.slice(0, start)]) {
    if (await isOfPod(server, context, candidate.address)) return candidate;
  }
  return undefined;
}

/** Source: isValidAddress. */
async function isOfPod(
  server: ProxyServer,
  context: RequestContext,
  { ip, targetRef }: DeepReadonly<EndpointAddress>,
): Promise<boolean> {
  const pods = server.findStore('', 'v1', 'pods');
  if (pods === undefined || targetRef?.name === undefined || targetRef.namespace !== context.namespace) return false;
  const found = await pods.get(context, targetRef.name).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
    return undefined;
  });
  const { podIPs = [] } = (found?.object as DeepReadonly<Pod> | undefined)?.status ?? {};
  return podIPs.some((podIp) => podIp.ip === ip);
}

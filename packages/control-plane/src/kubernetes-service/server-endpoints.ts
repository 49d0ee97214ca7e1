// Reconciles the endpoints of the service "kubernetes" and the EndpointSlice with the same content. Used by
// kubernetes-service.ts. Source: pkg/controlplane/reconcilers (lease.go, endpointsadapter.go).
import { isDeepStrictEqual } from 'node:util';
import { type DeepReadonly, deepCopy, isAlreadyExists, isNotFound, type ResourceClient } from '@kapstan/api';
import { type EndpointSubset, Endpoints } from '@kapstan/kinds/core/v1';
import { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import { isIpv6 } from '@kapstan/kubernetes';

export const serviceNamespace = 'default';
export const serviceName = 'kubernetes';
export const portName = 'https';

const skipMirrorLabel = 'endpointslice.kubernetes.io/skip-mirror';
const serviceNameLabel = 'kubernetes.io/service-name';
const target = { namespace: serviceNamespace, name: serviceName };

export interface WantedEndpoints {
  readonly addresses: readonly string[];
  readonly port: number;
  /** True: a different port in the endpoints is replaced. False: it belongs to another server and is kept. */
  readonly ownsPort: boolean;
  /** True: missing endpoints are created. */
  readonly creates: boolean;
}

/** Writes both objects unless they are correct already. Rejects with StatusError. */
export async function reconcileEndpoints(client: ResourceClient, wanted: WantedEndpoints): Promise<void> {
  const present = await unlessNotFound(client.get(Endpoints, target));
  if (present === undefined && !wanted.creates) return;
  const subsets = subsetsFor(present?.subsets ?? [], wanted);
  const isMarked = present?.metadata?.labels?.[skipMirrorLabel] === 'true';
  if (present === undefined || !isMarked || !isDeepStrictEqual(subsets, present.subsets ?? [])) {
    const labels = { ...present?.metadata?.labels, [skipMirrorLabel]: 'true' };
    const endpoints: Endpoints = { ...present, metadata: { ...present?.metadata, ...target, labels }, subsets };
    if (present !== undefined) await client.update(Endpoints, endpoints);
    else await client.create(Endpoints, endpoints).catch(unlessAlreadyExists);
  }
  await reconcileSlice(client, subsets);
}

/** Returns one subset with all servers, or none without servers. All other parts of the subset are kept. */
function subsetsFor(
  present: readonly EndpointSubset[],
  { addresses, port, ownsPort }: WantedEndpoints,
): EndpointSubset[] {
  const [only] = present;
  const ports = [{ name: portName, port, protocol: 'TCP' as const }];
  const sorted = addresses.toSorted(byAddress);
  if (only === undefined || present.length > 1) {
    return sorted.length === 0 ? [] : [{ addresses: sorted.map((ip) => ({ ip })), ports }];
  }
  const shown = (only.addresses ?? []).map(({ ip }) => ip);
  const isSame = isDeepStrictEqual(shown.toSorted(byAddress), sorted);
  if (!isSame && sorted.length === 0) return [];
  const kept = deepCopy(only);
  if (!isSame) kept.addresses = sorted.map((ip) => ({ ip }));
  if (ownsPort) kept.ports = ports;
  return [kept];
}

/** Sorts by the bytes of addresses. Source: endpoints RepackSubsets. */
function byAddress(one: string, other: string): number {
  return bytesOf(one) < bytesOf(other) ? -1 : Number(one !== other);
}

function bytesOf(address: string): string {
  if (isIpv6(address)) return `6 ${address}`;
  return address
    .split('.')
    .map((part) => part.padStart(3, '0'))
    .join('.');
}

async function reconcileSlice(client: ResourceClient, subsets: readonly DeepReadonly<EndpointSubset>[]): Promise<void> {
  const wanted = sliceOf(subsets);
  const present = await unlessNotFound(client.get(EndpointSlice, target));
  if (present === undefined) {
    await client.create(EndpointSlice, wanted).catch(unlessAlreadyExists);
  } else if (present.addressType !== wanted.addressType) {
    // The address type is immutable, so the slice is replaced.
    await client.delete(EndpointSlice, target);
    await client.create(EndpointSlice, wanted);
  } else if (!isSameSlice(present, wanted)) {
    await client.update(EndpointSlice, wanted);
  }
}

function isSameSlice(present: EndpointSlice, wanted: EndpointSlice): boolean {
  const content = ({ endpoints, ports, metadata }: EndpointSlice): unknown => [
    endpoints ?? [],
    ports ?? [],
    metadata?.labels ?? {},
  ];
  return isDeepStrictEqual(content(present), content(wanted));
}

function sliceOf([subset]: readonly DeepReadonly<EndpointSubset>[]): EndpointSlice {
  const { addresses = [], notReadyAddresses = [], ports = [] } = subset ?? {};
  const all = [...addresses, ...notReadyAddresses];
  const addressType = all.length > 0 && all.every(({ ip }) => isIpv6(ip)) ? 'IPv6' : 'IPv4';
  const endpointsOf = (some: typeof all, ready: boolean): NonNullable<EndpointSlice['endpoints']> =>
    some
      .filter(({ ip }) => isIpv6(ip) === (addressType === 'IPv6'))
      .map(({ ip }) => ({ addresses: [ip], conditions: { ready } }));
  return {
    metadata: { ...target, labels: { [serviceNameLabel]: serviceName } },
    addressType,
    endpoints: [...endpointsOf([...addresses], true), ...endpointsOf([...notReadyAddresses], false)],
    ports: ports.map(({ name = '', port, protocol = 'TCP' }) => ({ name, port, protocol })),
  };
}

async function unlessNotFound<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

/** Another server created the object first, with the same content. */
function unlessAlreadyExists(error: unknown): void {
  if (!isAlreadyExists(error)) throw error;
}

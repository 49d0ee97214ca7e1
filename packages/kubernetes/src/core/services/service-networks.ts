// The networks for service addresses from ServiceCIDRs, and the order in which their addresses are tried. Used by
// cluster-addresses.ts. Source: pkg/registry/core/service/ipallocator (MetaAllocator, Allocator).
import type { DeepReadonly } from '@kapstan/api';
import { serverContext } from '@kapstan/apiserver/internal';
import type { ServiceCIDR } from '@kapstan/kinds/networking.k8s.io/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { type Ipv4Network, parseIpv4Network, readIpv4Network } from './ipv4.ts';

/** The ServiceCIDR that every server makes for its own range. */
const defaultName = 'kubernetes';

/**
 * Returns the networks that are ready and not being deleted. The server's own range counts until its ServiceCIDR is
 * made, which may never happen for a server inside another program.
 */
export async function readyNetworks(server: BuiltinServer): Promise<readonly Ipv4Network[]> {
  const store = server.findStore('networking.k8s.io', 'v1', 'servicecidrs');
  const items = store === undefined ? [] : (await store.list(serverContext(''), { resourceVersion: '0' })).items;
  const all: readonly DeepReadonly<ServiceCIDR>[] = items.map((item) => item.view((object) => object));
  const isTold = all.some(({ metadata }) => metadata?.name === defaultName);
  const own = isTold ? [] : [parseIpv4Network(server.serviceClusterIpRange)];
  const ready = new Set(all.filter(isReady).flatMap(({ spec }) => spec?.cidrs ?? []));
  return [...own, ...[...ready].map(readIpv4Network).filter((network) => network !== undefined)];
}

function isReady({ metadata, status }: DeepReadonly<ServiceCIDR>): boolean {
  const isStaying = metadata?.deletionTimestamp === undefined;
  return isStaying && (status?.conditions ?? []).some(({ type, status }) => type === 'Ready' && status === 'True');
}

/** Returns false for the network's own address and its broadcast address. */
export function givesOut({ first, size }: Ipv4Network, address: number): boolean {
  return address > first && address < first + size - 1;
}

/**
 * Yields all usable addresses, starting with a random one. The lower band, meant for addresses requested by name, comes
 * last. Source: allocateNextService.
 */
export function* candidates(network: Ipv4Network, random: () => number): Generator<number> {
  const count = network.size - 2;
  const lower = reservedCount(network.size);
  yield* rotated({ first: network.first + 1 + lower, count: count - lower }, random);
  yield* rotated({ first: network.first + 1, count: lower }, random);
}

/** Source: calculateRangeOffset. */
function reservedCount(size: number): number {
  if (size <= 16) return 0;
  return Math.min(256, Math.max(16, Math.floor(size / 16)));
}

function* rotated(band: { readonly first: number; readonly count: number }, random: () => number): Generator<number> {
  const start = Math.floor(random() * band.count);
  for (let tried = 0; tried < band.count; tried++) yield band.first + ((start + tried) % band.count);
}

// Finds the address of a node's kubelet in the node's status. Used by the subresources of pods and nodes that connect
// to it. Source: pkg/kubelet/client (NodeConnectionInfoGetter), pkg/util/node (GetPreferredNodeAddress).
import { type DeepReadonly, isNotFound } from '@kapstan/api';
import { notFound } from '@kapstan/api/errors';
import type { RequestContext } from '@kapstan/apiserver';
import type { Node } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';

export interface KubeletAddress {
  /** Host name or address. */
  readonly host: string;
  readonly port: number;
}

/** Port for a node whose status has none. Source: ports.KubeletPort. */
const defaultPort = 10_250;

export interface NodeOfRequest {
  readonly name: string;
  /** The resource in the 404 for a missing node: the requested one, which need not be nodes. */
  readonly resource: 'nodes' | 'pods';
}

/** Rejects with 404 when there is no such node, and with an Error when it has no address of a preferred type. */
export async function findKubelet(
  server: Pick<BuiltinServer, 'findStore' | 'kubeletAddressTypes'>,
  context: RequestContext,
  { name, resource }: NodeOfRequest,
): Promise<KubeletAddress> {
  const nodes = server.findStore('', 'v1', 'nodes');
  if (nodes === undefined) throw notFound({ group: '', resource }, name);
  const { object } = await nodes.get({ ...context, namespace: '' }, name).catch((error: unknown) => {
    throw isNotFound(error) ? notFound({ group: '', resource }, name) : error;
  });
  return kubeletAddress(object as DeepReadonly<Node>, server.kubeletAddressTypes);
}

/** Returns the address of the first preferred type that the node has. Throws Error when it has none. */
function kubeletAddress({ status }: DeepReadonly<Node>, types: readonly string[]): KubeletAddress {
  const addresses = status?.addresses ?? [];
  const preferred = types.flatMap((type) => addresses.filter((address) => address.type === type));
  const [found] = preferred;
  if (found === undefined) {
    const known = addresses.map(({ type, address }) => `{${type} ${address}}`).join(' ');
    throw new Error(`no preferred addresses found; known addresses: [${known}]`);
  }
  const port = status?.daemonEndpoints?.kubeletEndpoint?.Port ?? 0;
  return { host: found.address, port: port > 0 ? port : defaultPort };
}

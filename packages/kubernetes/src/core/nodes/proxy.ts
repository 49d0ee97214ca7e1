// nodes/proxy connects to the kubelet of a node, or to another port of its machine. Source: pkg/registry/core/node
// (ResourceLocation).
import { badRequest } from '@kapstan/api/errors';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import { type Connection, parseNamedPort, parsePort } from '@kapstan/apiserver/internal';
import type { Node } from '@kapstan/kinds/core/v1';
import type { BuiltinServer } from '../../builtin/builtin-kind.ts';
import { proxySubresource } from '../proxy-subresource.ts';
import { findKubelet } from './kubelet-address.ts';
import { requireReachableHost } from './reachable-address.ts';

type ProxyServer = Pick<BuiltinServer, 'findStore' | 'kubeletAddressTypes' | 'lookupHost'>;

export function nodeProxySubresource(server: ProxyServer): ObjectSubresource<Node> {
  return proxySubresource('NodeProxyOptions', async (_store, context, { name: id, path }): Promise<Connection> => {
    const named = parseNamedPort(id);
    if (named === undefined) throw badRequest(`invalid node request ${JSON.stringify(id)}`);
    const kubelet = await findKubelet(server, context, { name: named.name, resource: 'nodes' });
    await requireReachableHost(server, kubelet.host);
    if (named.port === '' || named.port === String(kubelet.port)) {
      return { ...kubelet, scheme: 'https', path, peer: 'kubelet', upgrade: 'optional' };
    }
    const port = parsePort(named.port);
    if (port === undefined) throw badRequest(`invalid node request ${JSON.stringify(id)}`);
    return { host: kubelet.host, port, scheme: named.scheme, path, peer: 'anyone', upgrade: 'optional' };
  });
}

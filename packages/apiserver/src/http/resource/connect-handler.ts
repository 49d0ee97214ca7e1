// Any method on a subresource that leads elsewhere: exec, attach, portforward, proxy. Options are in the query, and the body goes
// on unread. Where it leads is found by the registry, the way is gone by tunnel-upgrade.ts and tunnel-forward.ts. Source:
// apiserver handlers/rest.go (ConnectResource), handlers/get.go (getRequestOptions).
import { posix } from 'node:path';
import { badRequest } from '@kapstan/api/errors';
import { methodNotAllowed } from '../../registry/definition/route-errors.ts';
import { decodeOptions } from '../exchange/query-parameters.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { contextOf, type ResourceCall } from './resource-call.ts';
import { forwardRequest } from './tunnel-forward.ts';
import { tunnelUpgrade } from './tunnel-upgrade.ts';

const connectPath =
  /^\/api\/v1\/(?:namespaces\/[^/?]+\/)?(?:nodes|pods|services)\/[^/?]+\/(?:attach|exec|portforward|proxy)(?:[/?]|$)/;

/** Whether a URL may be answered in another protocol. True for some that do not exist, too. */
export function isConnectUrl(url: string): boolean {
  return connectPath.test(url);
}

export async function handleConnect(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, name, ports } = call;
  if (subresource?.type !== 'object' || subresource.connect === undefined) throw methodNotAllowed();
  const { connect } = subresource;
  if (exchange.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const options = decodeOptions(exchange.query, connect.queryOptions);
  if (connect.requiredVerb !== undefined) await call.requireVerb(connect.requiredVerb);
  const path = connect.takesPath ? pathBehind(call.info) : '';
  const connection = await connect.connect(served.store, contextOf(call), { name, options, path });
  if (exchange.isUpgrade) return tunnelUpgrade(exchange, connection, ports);
  if (connection.upgrade === 'required') throw badRequest('Upgrade request required');
  return forwardRequest(exchange, connection, ports);
}

/** What follows the subresource, without ".." and doubled slashes, with the last slash if there is one. */
function pathBehind({ parts, path }: ResourceRequest): string {
  const rest = parts.slice(3).join('/');
  const isFolder = path.endsWith('/');
  if (rest === '') return isFolder ? '/' : '';
  const clean = posix.normalize(`/${rest}`).replace(/\/$/, '');
  return isFolder ? `${clean}/` : clean === '' ? '/' : clean;
}

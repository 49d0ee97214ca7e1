// Handles any method on a subresource that leads to a peer: exec, attach, portforward, proxy. Options are in the query,
// and the body is passed on unread. The registry finds the peer; tunnel-upgrade.ts and tunnel-forward.ts connect to it.
// Source: apiserver handlers/rest.go (ConnectResource), handlers/get.go (getRequestOptions).
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

/** True for URLs that may be answered in another protocol, including some that do not exist. */
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

/** Returns the path after the subresource, without ".." and doubled slashes, with the last slash if there is one. */
function pathBehind({ parts, path }: ResourceRequest): string {
  const rest = parts.slice(3).join('/');
  const isFolder = path.endsWith('/');
  if (rest === '') return isFolder ? '/' : '';
  const clean = posix.normalize(`/${rest}`).replace(/\/$/, '');
  return isFolder ? `${clean}/` : clean === '' ? '/' : clean;
}

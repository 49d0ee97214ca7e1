// Handles any method on a subresource that connects to a peer: exec, attach, portforward, proxy. Options are in the
// query, and the body is passed on unread. The registry finds the peer; tunnel-upgrade.ts and tunnel-forward.ts connect
// to it. Source: apiserver handlers/rest.go (ConnectResource), handlers/get.go (getRequestOptions).
import { posix } from 'node:path';
import { badRequest } from '@kapstan/api/errors';
import { formatApiVersion } from '@kapstan/api/internal';
import type { QueryOptions, QueryOptionTypes } from '../../registry/definition/resource-definition.ts';
import { methodNotAllowed } from '../../registry/definition/route-errors.ts';
import { decodeOptions } from '../exchange/query-parameters.ts';
import type { ResourceRequest } from '../exchange/request-info.ts';
import { tunnelUpgrade } from '../tunnel/tunnel-upgrade.ts';
import { contextOf, type ResourceCall } from './resource-call.ts';
import { forwardRequest } from './tunnel-forward.ts';

export async function handleConnect(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, name, ports } = call;
  if (subresource?.type !== 'object' || subresource.connect === undefined) throw methodNotAllowed();
  const { connect } = subresource;
  if (exchange.query.has('dryRun')) throw badRequest('dryRun is not supported');
  const options = decodeOptions(exchange.query, connect.queryOptions);
  if (connect.requiredVerb !== undefined) await call.requireVerb(connect.requiredVerb);
  const path = connect.takesPath ? pathBehind(call.info) : '';
  const context = contextOf(call);
  const { kind } = subresource;
  const object = {
    apiVersion: formatApiVersion(kind),
    kind: kind.kind,
    ...shown({ ...options, path }, connect.queryOptions),
  };
  await served.store.admitPart?.(context, { operation: 'CONNECT', name, subresource: subresource.name, kind, object });
  const connection = await connect.connect(served.store, context, { name, ...admitted(object, options) });
  if (exchange.isUpgrade) return tunnelUpgrade(exchange, connection, ports);
  if (connection.upgrade === 'required') throw badRequest('Upgrade request required');
  return forwardRequest(exchange, connection, ports);
}

/** Returns the options as Go writes them, without those that have no value. */
function shown(options: QueryOptions, types: QueryOptionTypes): object {
  const given = Object.entries(options).filter(([, value]) => !isEmpty(value));
  const numbers = (value: QueryOptions[string]): unknown => (Array.isArray(value) ? value.map(Number) : value);
  return Object.fromEntries(given.map(([name, value]) => [name, types[name] === 'numbers' ? numbers(value) : value]));
}

function isEmpty(value: QueryOptions[string]): boolean {
  return (
    value === undefined ||
    value === '' ||
    value === false ||
    value === 0 ||
    (Array.isArray(value) && value.length === 0)
  );
}

/** Returns the options after admission, which may change them. */
function admitted(object: object, asked: QueryOptions): { readonly options: QueryOptions; readonly path: string } {
  const { path = '', ...rest } = object as QueryOptions;
  const options = Object.keys(asked).map((name) => {
    const value = rest[name] ?? unset(asked[name]);
    // The items of a list, which may be numbers, are passed on as strings.
    return [name, Array.isArray(value) ? value.map(String) : value] as const;
  });
  return { options: Object.fromEntries(options), path: String(path) };
}

/** An option that admission removed gets the value for an absent option. */
function unset(value: QueryOptions[string]): QueryOptions[string] {
  return isEmpty(value) ? value : undefined;
}

/** Returns the path after the subresource, without ".." and doubled slashes, with the last slash if there is one. */
function pathBehind({ parts, path }: ResourceRequest): string {
  const rest = parts.slice(3).join('/');
  const isFolder = path.endsWith('/');
  if (rest === '') return isFolder ? '/' : '';
  const clean = posix.normalize(`/${rest}`).replace(/\/$/, '');
  return isFolder ? `${clean}/` : clean === '' ? '/' : clean;
}

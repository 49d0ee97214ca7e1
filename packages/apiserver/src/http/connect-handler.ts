// Any method on a subresource that leads elsewhere: exec, attach, portforward, proxy. Options are in the query, and the
// body, which may be an upgrade's, is not read. Source: apiserver handlers/rest.go ConnectResource.

import { methodNotAllowed } from '../registry/route-errors.ts';
import { contextOf, type ResourceCall } from './resource-call.ts';

export async function handleConnect(call: ResourceCall): Promise<void> {
  const { served, subresource } = call;
  if (subresource?.type !== 'object' || subresource.connect === undefined) throw methodNotAllowed();
  await subresource.connect(served.store, contextOf(call), call.name);
}

// GET of one object or of a subresource. Source: apiserver handlers/get.go.

import { sendObject, sendStored } from './object-response.ts';
import { contextOf, negotiateAnswer, type ResourceCall } from './resource-call.ts';
import { methodNotAllowed } from './route-errors.ts';

export async function handleGet(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, ports } = call;
  const form = negotiateAnswer(call);
  const answer = { definition: served.definition, form, status: 200, clock: ports.clock };
  const context = contextOf(call);
  if (subresource?.type === 'object') {
    if (subresource.get === undefined) throw methodNotAllowed();
    sendObject(exchange, await subresource.get(served.store, context, call.name), answer);
    return;
  }
  const resourceVersion = exchange.query.get('resourceVersion') ?? '';
  const options = resourceVersion === '' ? {} : { resourceVersion };
  sendStored(exchange, await served.store.get(context, call.name, options), answer);
}

// POST: a new object, or an action on one through a subresource. Source: apiserver handlers/create.go.
import { checkNamespace } from './object-name.ts';
import { sendObject, sendStored } from './object-response.ts';
import { contextOf, negotiateAnswer, type ResourceCall, readObject } from './resource-call.ts';
import { methodNotAllowed } from './route-errors.ts';
import { parseWriteOptions } from './write-options.ts';

export async function handleCreate(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, ports } = call;
  const form = negotiateAnswer(call);
  const { object, options } = await readObject(call, () => parseWriteOptions(exchange.query, 'CreateOptions'));
  const context = contextOf(call, options);
  const answer = { definition: served.definition, form, status: 201, clock: ports.clock };
  checkNamespace(object, context.namespace);
  if (subresource?.type === 'object') {
    if (subresource.create === undefined) throw methodNotAllowed();
    sendObject(exchange, await subresource.create(served.store, context, { name: call.name, body: object }), answer);
    return;
  }
  served.definition.applyDefaults(object);
  sendStored(exchange, await served.store.create(context, object), answer);
}

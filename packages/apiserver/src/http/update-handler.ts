// PUT: replaces an object or a part of it through a subresource. Source: apiserver handlers/update.go.
import { deepCopy } from '@kapstan/api';
import { checkObjectName } from './object-name.ts';
import { sendObject, sendStored } from './object-response.ts';
import { contextOf, negotiateAnswer, type ResourceCall, readObject } from './resource-call.ts';
import { methodNotAllowed } from './route-errors.ts';
import { parseWriteOptions } from './write-options.ts';

export async function handleUpdate(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, ports, name } = call;
  const form = negotiateAnswer(call);
  const { object, options } = await readObject(call, () => parseWriteOptions(exchange.query, 'UpdateOptions'));
  const context = contextOf(call, options);
  checkObjectName(object, { name, namespace: context.namespace });
  const answer = { definition: served.definition, form, clock: ports.clock };
  if (subresource?.type === 'object') {
    if (subresource.update === undefined) throw methodNotAllowed();
    const change = async () => deepCopy(object);
    sendObject(exchange, await subresource.update(served.store, context, { name, change }), { ...answer, status: 200 });
    return;
  }
  served.definition.applyDefaults(object);
  const uid = object.metadata?.uid ?? '';
  const result = await served.store.update(context, {
    name,
    transform: () => deepCopy(object),
    ...(subresource?.type === 'strategy' ? { strategy: subresource.strategy, subresource: subresource.name } : {}),
    ...(uid === '' ? {} : { preconditions: { uid } }),
  });
  sendStored(exchange, result.stored, { ...answer, status: result.created ? 201 : 200 });
}

// POST: a new object, or an action on one through a subresource. Source: apiserver handlers/create.go.
import { createAt } from '../registry/object-writes.ts';
import { sendWritten } from './object-response.ts';
import { negotiateAnswer, type ResourceCall, readObject, tableOf } from './resource-call.ts';
import { parseWriteOptions } from './write-options.ts';

export async function handleCreate(call: ResourceCall): Promise<void> {
  const { exchange, served, ports } = call;
  const form = negotiateAnswer(call);
  const { object, target } = await readObject(call, () => parseWriteOptions(exchange.query, 'CreateOptions'));
  const answer = await createAt(target, object);
  await target.context.nextTurn?.();
  sendWritten(exchange, answer, { definition: served.definition, table: tableOf(call), form, clock: ports.clock });
}

// POST creates an object, or acts on one through a subresource. Source: apiserver handlers/create.go.
import { createAt } from '../../registry/client/object-writes.ts';
import { sendWritten } from '../answer/object-response.ts';
import { parseWriteOptions } from '../exchange/write-options.ts';
import { negotiateAnswer, type ResourceCall, readObject, tableOf } from './resource-call.ts';

export async function handleCreate(call: ResourceCall): Promise<void> {
  const { exchange, served, ports } = call;
  const form = negotiateAnswer(call);
  const { object, target } = await readObject(call, () => parseWriteOptions(exchange.query, 'CreateOptions'));
  exchange.span?.addEvent('About to store object in database');
  const answer = await createAt(target, object);
  exchange.span?.addEvent('Write to database call succeeded', { len: exchange.bodyBytes ?? 0 });
  await target.context.nextTurn?.();
  await sendWritten(exchange, answer, {
    definition: served.definition,
    table: tableOf(call),
    form,
    clock: ports.clock,
  });
}

// PUT: replaces an object or a part of it through a subresource. Source: apiserver handlers/update.go.
import { updateAt } from '../../registry/client/object-writes.ts';
import { sendWritten } from '../answer/object-response.ts';
import { parseWriteOptions } from '../exchange/write-options.ts';
import { negotiateAnswer, type ResourceCall, readObject, requireName, tableOf } from './resource-call.ts';

export async function handleUpdate(call: ResourceCall): Promise<void> {
  const { exchange, served, ports } = call;
  requireName(call);
  const form = negotiateAnswer(call);
  const { object, target } = await readObject(call, () => parseWriteOptions(exchange.query, 'UpdateOptions'));
  exchange.span?.addEvent('About to store object in database');
  const answer = await updateAt(target, object);
  exchange.span?.addEvent('Write to database call succeeded', { len: exchange.bodyBytes ?? 0 });
  await target.context.nextTurn?.();
  await sendWritten(exchange, answer, {
    definition: served.definition,
    table: tableOf(call),
    form,
    clock: ports.clock,
  });
}

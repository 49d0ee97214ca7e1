// DELETE of a collection deletes the objects that the selectors in the query match, with the options of the body or
// query. Source: apiserver handlers/delete.go (DeleteCollection).

import { sendList } from '../answer/list-response.ts';
import { parseListOptions } from '../exchange/list-options.ts';
import { deleteContext, readDeleteOptions } from './delete-handler.ts';
import { negotiateAnswer, type ResourceCall } from './resource-call.ts';

export async function handleDeleteCollection(call: ResourceCall): Promise<void> {
  const { exchange, served, ports } = call;
  const form = negotiateAnswer(call);
  const { select } = parseListOptions(exchange.query, { isWatch: false });
  const options = await readDeleteOptions(call);
  const list = await served.store.deleteCollection(deleteContext(call, options), options.request, select);
  await sendList(exchange, { definition: served.definition, list, form, clock: ports.clock });
}

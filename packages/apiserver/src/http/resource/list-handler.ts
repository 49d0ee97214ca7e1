// GET of a collection. Source: apiserver handlers/get.go (ListResource).

import { sendList } from '../answer/list-response.ts';
import { parseListOptions } from '../exchange/list-options.ts';
import { contextOf, negotiateAnswer, type ResourceCall } from './resource-call.ts';

export async function handleList(call: ResourceCall): Promise<void> {
  const { exchange, served, ports } = call;
  const form = negotiateAnswer(call, 'collection');
  const options = parseListOptions(exchange.query, { isWatch: false });
  const list = await served.store.list(contextOf(call), options.select);
  await sendList(exchange, { definition: served.definition, list, form, clock: ports.clock });
}

// GET of one object or of a subresource. Source: apiserver handlers/get.go.

import type { UnstructuredObject } from '@kapstan/api';
import { badRequest } from '@kapstan/api/errors';
import { abortSignalOf } from '@kapstan/api/internal';
import type { ByteSubresource } from '../../registry/definition/resource-definition.ts';
import { methodNotAllowed } from '../../registry/definition/route-errors.ts';
import { sendObject, sendStored } from '../answer/object-response.ts';
import { sendPieces } from '../exchange/page.ts';
import { decodeBoolean, decodeOptions } from '../exchange/query-parameters.ts';
import { bytesFrom } from '../tunnel/tunnel-bytes.ts';
import { contextOf, negotiateAnswer, type ResourceCall, tableOf } from './resource-call.ts';

export async function handleGet(call: ResourceCall): Promise<void> {
  const { exchange, served, subresource, ports } = call;
  if (subresource?.type === 'bytes') return sendBytes(call, subresource);
  const form = negotiateAnswer(call);
  const answer = { definition: served.definition, table: tableOf(call), form, status: 200, clock: ports.clock };
  const context = contextOf(call);
  if (subresource?.type === 'object') {
    if (subresource.get === undefined) throw methodNotAllowed();
    await sendObject(exchange, await subresource.get(served.store, context, call.name), answer);
    return;
  }
  refuseExport(decodeBoolean(exchange.query.get('export')));
  const resourceVersion = exchange.query.get('resourceVersion') ?? '';
  const options = resourceVersion === '' ? {} : { resourceVersion };
  exchange.span?.addEvent('About to Get from storage');
  await sendStored(exchange, await served.store.get(context, call.name, options), answer);
}

/**
 * Refuses a parameter of old clients, which asked for objects without the fields set by the server. Source: handlers
 * getResourceHandler.
 */
function refuseExport(exported: boolean | undefined): void {
  if (exported === true) throw badRequest('the export parameter, deprecated since v1.14, is no longer supported');
}

/**
 * Streams bytes from the place where they are stored; 204 when there are none. Source: responsewriters.StreamObject.
 */
async function sendBytes(call: ResourceCall, subresource: ByteSubresource<UnstructuredObject>): Promise<void> {
  const { exchange, served, name, ports } = call;
  const options = decodeOptions(exchange.query, subresource.queryOptions);
  const answer = await subresource.get(served.store, contextOf(call), { name, options });
  if (answer === undefined) return exchange.sendNothing();
  const signal = abortSignalOf(exchange.signal);
  const resource = `${served.definition.resource}/${subresource.name}`;
  const leave = ports.tunnels.add(() => exchange.cancel(stopped));
  exchange.onClose(leave);
  const pieces = await bytesFrom(answer.from, { transport: ports.transport, signal, resource, name });
  exchange.setHeader('Content-Type', answer.contentType);
  await sendPieces(exchange, pieces);
}

const stopped = new Error('the server is stopping');

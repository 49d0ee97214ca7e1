// Sends one object: as it is, as a Table of one row, or its metadata only. Source: apiserver handlers/response.go
// (transformResponseObject).
import type { Clock, DeepReadonly, KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { type CallSignal, fitsOneSlice, type SlicedWork } from '@kapstan/api/internal';
import { jsonLine, largeObjectBytes, runInTurns } from '@kapstan/storage';
import { encodeValue, encodeValueInSlices } from '../../codec/wire-format.ts';
import type { WriteAnswer } from '../../registry/client/object-writes.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { TableConvertor } from '../../table/table.ts';
import { BodyWriter } from '../exchange/body-writer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { OutputForm } from '../exchange/negotiation.ts';
import { objectJson, partialMetadata, type StoredObject, whenJsonIsMade } from './encodings.ts';
import { parseIncludeObject, shapeMismatch, tableFields, tableRow, whenTableIsReady } from './table-response.ts';

export interface ObjectAnswer {
  readonly definition: ResourceDefinition;
  /** Shows a subresource's object as a row. Absent = as the resource's. */
  readonly table?: TableConvertor<UnstructuredObject> | undefined;
  readonly form: OutputForm;
  readonly status: number;
  readonly clock: Clock;
}

/** Sends a stored object. Rejects with 400 and 406 before anything is sent. */
export async function sendStored(exchange: Exchange, stored: StoredObject, answer: ObjectAnswer): Promise<void> {
  const { form } = answer;
  exchange.span?.addEvent('About to write a response');
  if (form.target !== undefined || form.isPretty || form.format.name !== 'json') {
    await sendTransformed(exchange, stored, answer);
    exchange.span?.addEvent('Writing http response done');
    return;
  }
  const making = whenJsonIsMade(stored);
  if (making !== undefined) await making;
  exchange.setHeader('Content-Type', form.format.mediaType);
  if (exchange.audit?.keepsResponse) exchange.audit.respondJson(objectJson(stored));
  const writer = new BodyWriter(exchange, { ...answer, mediaType: form.format.mediaType });
  writer.push(jsonLine(objectJson(stored)));
  writer.finish();
  exchange.span?.addEvent('Writing http response done');
}

/** An object that was released stays so. A large one is parsed in several turns. */
async function sendTransformed(exchange: Exchange, stored: StoredObject, answer: ObjectAnswer): Promise<void> {
  const isSmall = stored.storedBytes > 0 && stored.storedBytes < largeObjectBytes;
  if (isSmall) return void (await sendObject(exchange, stored.view(itself), answer));
  const wasReleased = await stored.restore();
  try {
    await sendObject(exchange, stored.object, answer);
  } finally {
    if (wasReleased) stored.release();
  }
}

const itself = <T>(object: T): T => object;

/** Sends the written object: 201 when it is new. */
export async function sendWritten(
  exchange: Exchange,
  written: WriteAnswer,
  answer: Omit<ObjectAnswer, 'status'>,
): Promise<void> {
  const full = { ...answer, status: written.created ? 201 : 200 };
  if (written.type === 'stored') await sendStored(exchange, written.stored, full);
  else await sendObject(exchange, written.object, full);
}

/**
 * Sends an object that is not stored: of a subresource, a dry run or a virtual resource. Returns undefined when it is sent, as most are; large
 * ones take several turns.
 */
export function sendObject(
  exchange: Exchange,
  object: DeepReadonly<KubernetesObject>,
  answer: ObjectAnswer,
): Promise<void> | undefined {
  const preparing = whenTableIsReady(answer.table ?? answer.definition.table, answer.form.target);
  return preparing === undefined
    ? sendValue(exchange, object, answer)
    : preparing.then(() => sendValue(exchange, object, answer));
}

function sendValue(
  exchange: Exchange,
  object: DeepReadonly<KubernetesObject>,
  answer: ObjectAnswer,
): Promise<void> | undefined {
  const value = transform(exchange, object as DeepReadonly<UnstructuredObject>, answer);
  const { form } = answer;
  exchange.audit?.respond(value);
  exchange.setHeader('Content-Type', form.format.mediaType);
  const writer = new BodyWriter(exchange, { ...answer, mediaType: form.format.mediaType });
  const style = { isPretty: form.isPretty, types: answer.definition.schema.types };
  if (!fitsOneSlice(value)) return sendInTurns(writer, encodeValueInSlices(form.format, value, style), exchange.signal);
  writer.push(encodeValue(form.format, value, style));
  writer.finish();
  return undefined;
}

async function sendInTurns(writer: BodyWriter, work: SlicedWork<Uint8Array>, signal: CallSignal): Promise<void> {
  try {
    writer.push(await runInTurns(work, signal));
    writer.finish();
  } catch (error) {
    writer.abort();
    throw error;
  }
}

function transform(exchange: Exchange, object: DeepReadonly<UnstructuredObject>, answer: ObjectAnswer): unknown {
  const { definition, form } = answer;
  const target = form.target;
  // A Status is never transformed, even for clients that requested a Table of the deleted object.
  if (target === undefined || object.kind === 'Status') return object;
  switch (target.kind) {
    case 'Table': {
      const includeObject = parseIncludeObject(exchange.query);
      const table = answer.table ?? definition.table;
      const { resourceVersion } = object.metadata ?? {};
      const metadata = resourceVersion === undefined ? {} : { resourceVersion };
      const options = { version: target.version, includeObject, nowMs: answer.clock.now() };
      return { ...tableFields(table, metadata, options), rows: [tableRow({ ...definition, table }, object, options)] };
    }
    case 'PartialObjectMetadata':
      return partialMetadata(object, target.version, definition);
    case 'PartialObjectMetadataList':
      throw shapeMismatch(definition, 'list', definition.isCustom === true);
  }
}

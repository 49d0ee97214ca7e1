// Sends a list: the kept bytes of its items are joined and streamed, in the requested form. One giant string is never
// made, and the event loop gets a turn between pieces.

import type { Clock } from '@kapstan/api';
import { stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { encodeJsonInSlices, formatApiVersion, type SlicedWork } from '@kapstan/api/internal';
import { runInTurns, type StoredList } from '@kapstan/storage';
import type { AuditTrail } from '../../audit/audit-trail.ts';
import { encodeMessage } from '../../codec/protobuf-encoder.ts';
import { envelopeAround } from '../../codec/protobuf-envelope.ts';
import { ProtobufWriter, varintSize } from '../../codec/protobuf-wire.ts';
import { encodeYaml, encodeYamlInSlices } from '../../codec/yaml-encoder.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { metaTypes } from '../../schema/meta-types.ts';
import { BodyWriter } from '../exchange/body-writer.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { OutputForm } from '../exchange/negotiation.ts';
import {
  listItemEncoding,
  type MetadataVersion,
  metadataJson,
  metadataMessage,
  objectJson,
  objectMessage,
  partialMetadata,
  type StoredObject,
} from './encodings.ts';
import {
  parseIncludeObject,
  shapeMismatch,
  type TableOptions,
  tableFields,
  tableRow,
  whenTableIsReady,
  writeTableRow,
} from './table-response.ts';

/** One form of a list: the fields around the items, and an item as a value or as bytes. */
interface ListShape {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly itemsField: 'items' | 'rows';
  /** The text for a list without items. */
  readonly empty: '[]' | 'null';
  value(stored: StoredObject): unknown;
  /** `opening`: the bytes before the bytes of each item that {@link ListShape.write} writes. */
  readonly opening: '{' | '';
  write(stored: StoredObject, push: (bytes: Uint8Array) => void): void;
}

export interface ListAnswer {
  readonly definition: ResourceDefinition;
  readonly list: StoredList<UnstructuredObject>;
  readonly form: OutputForm;
  readonly clock: Clock;
}

/** Sends the list with status 200. Throws 400 and 406 before anything is sent. */
export async function sendList(exchange: Exchange, answer: ListAnswer): Promise<void> {
  const { form, list } = answer;
  const preparing = whenTableIsReady(answer.definition.table, form.target);
  if (preparing !== undefined) await preparing;
  const shape = shapeOf(exchange, answer);
  exchange.setHeader('Content-Type', form.format.mediaType);
  if (exchange.audit?.keepsResponse) recordList(exchange.audit, shape, list);
  const writer = new BodyWriter(exchange, { status: 200, clock: answer.clock, mediaType: form.format.mediaType });
  try {
    if (form.format.name === 'protobuf') return await sendProtobufList(writer, answer);
    const parts = form.format.name === 'yaml' ? yamlParts(shape, list) : jsonParts(shape, form);
    if (!(await writeItems(writer, parts, list))) return writer.abort();
    writer.push(Buffer.from(list.items.length === 0 ? emptyTail(shape, form, parts.tail) : parts.tail));
    writer.finish();
  } catch (error) {
    writer.abort();
    throw error;
  }
}

/** Writes everything but the tail. Resolves to false when the peer is gone. */
async function writeItems(
  writer: BodyWriter,
  { head, separator, item }: ListParts,
  { items }: StoredList<UnstructuredObject>,
): Promise<boolean> {
  writer.push(Buffer.from(head));
  // The columns of a Table may take as long as its first row.
  if (writer.needsBreath && !(await writer.breathe())) return false;
  let isFirst = true;
  for (const stored of items) {
    if (!isFirst) writer.push(separator);
    isFirst = false;
    const writing = item(stored, writer);
    if (writing !== undefined) await writing;
    if (writer.needsBreath && !(await writer.breathe())) return false;
  }
  return true;
}

function shapeOf(exchange: Exchange, answer: ListAnswer): ListShape {
  const { definition, form, list } = answer;
  const metadata = listMetadata(list);
  const target = form.target;
  if (target === undefined) return objectShape(definition, metadata);
  if (target.kind === 'Table') {
    const includeObject = parseIncludeObject(exchange.query);
    return tableShape(definition, metadata, { version: target.version, includeObject, nowMs: answer.clock.now() });
  }
  if (target.kind === 'PartialObjectMetadata') throw shapeMismatch(definition, 'one', definition.isCustom === true);
  return metadataShape(definition, metadata, target.version);
}

function listMetadata(list: StoredList<UnstructuredObject>): Record<string, unknown> {
  return {
    // Lists that are computed for each read have no version.
    ...((list.resourceVersion as string) === '' ? {} : { resourceVersion: list.resourceVersion }),
    ...(list.continue === '' ? {} : { continue: list.continue }),
    ...(list.remainingItemCount === undefined ? {} : { remainingItemCount: list.remainingItemCount }),
  };
}

function objectShape(definition: ResourceDefinition, metadata: Record<string, unknown>): ListShape {
  const type = { kind: definition.listKind, apiVersion: formatApiVersion(definition) };
  const base = { fields: { ...type, metadata }, itemsField: 'items', empty: '[]' } as const;
  if (definition.isCustom === true) {
    // Lists of unstructured objects have an empty `continue` when there are no more items.
    const fields = { ...type, metadata: { continue: '', ...metadata } };
    return {
      ...base,
      fields,
      opening: '',
      value: (stored) => stored.view((object) => object),
      write: (stored, push) => push(objectJson(stored)),
    };
  }
  const encoding = listItemEncoding(definition);
  return { ...base, opening: '{', value: withoutType, write: (stored, push) => push(stored.encoded(encoding)) };
}

/** Items of built-in lists have neither kind nor apiVersion. */
function withoutType(stored: StoredObject): unknown {
  const { kind: _kind, apiVersion: _apiVersion, ...rest } = stored.view((object) => object);
  return rest;
}

function metadataShape(
  definition: ResourceDefinition,
  metadata: Record<string, unknown>,
  version: MetadataVersion,
): ListShape {
  return {
    fields: { kind: 'PartialObjectMetadataList', apiVersion: `meta.k8s.io/${version}`, metadata },
    itemsField: 'items',
    empty: 'null',
    opening: '',
    value: (stored) => stored.view((object) => partialMetadata(object, version, definition)),
    write: (stored, push) => push(metadataJson(stored, version, definition)),
  };
}

function tableShape(
  definition: ResourceDefinition,
  metadata: Record<string, unknown>,
  options: TableOptions,
): ListShape {
  return {
    fields: tableFields(definition.table, metadata, { version: options.version }),
    itemsField: 'rows',
    empty: '[]',
    opening: '',
    value: (stored) => stored.view((object) => tableRow(definition, object, options)),
    write: (stored, push) => writeTableRow(definition, stored, { options, push }),
  };
}

interface ListParts {
  readonly head: string;
  readonly tail: string;
  readonly separator: Uint8Array;
  /** Returns undefined when the item is written; otherwise it is large and written in several turns. */
  item(stored: StoredObject, writer: BodyWriter): Promise<void> | undefined;
}

function jsonParts(shape: ListShape, form: OutputForm): ListParts {
  if (form.isPretty) return prettyParts(shape);
  const fields = stringifyJson(shape.fields).slice(0, -1);
  return {
    head: `${fields},"${shape.itemsField}":`,
    tail: ']}\n',
    separator: Buffer.from(`,${shape.opening}`),
    item: firstOpens(Buffer.from(`[${shape.opening}`), (stored, writer) => {
      shape.write(stored, (bytes) => writer.push(bytes));
      return undefined;
    }),
  };
}

/** Passes the whole list to the audit log at once; for one that is too large, only a note of that. */
function recordList(audit: AuditTrail, shape: ListShape, list: StoredList<UnstructuredObject>): void {
  const head = `${stringifyJson(shape.fields).slice(0, -1)},"${shape.itemsField}":`;
  if (list.items.length === 0) return audit.respondJson(Buffer.from(`${head}${shape.empty}}`));
  const pieces: Uint8Array[] = [Buffer.from(`${head}[${shape.opening}`)];
  const separator = Buffer.from(`,${shape.opening}`);
  let size = 0;
  for (const [index, stored] of list.items.entries()) {
    if (index > 0) pieces.push(separator);
    shape.write(stored, (bytes) => {
      size += bytes.length;
      pieces.push(bytes);
    });
    // Stops encoding here: the rest of the list is encoded in turns while it is sent.
    if (size > audit.maxObjectBytes) return audit.truncate();
  }
  audit.respondJson(Buffer.concat([...pieces, Buffer.from(']}')]));
}

function prettyParts(shape: ListShape): ListParts {
  const fields = stringifyJson(shape.fields, 2).slice(0, -2);
  return {
    head: `${fields},\n  "${shape.itemsField}": `,
    tail: '\n  ]\n}',
    separator: Buffer.from(',\n    '),
    item: firstOpens(Buffer.from('[\n    '), (stored, writer) =>
      writeInTurns(encodeJsonInSlices(shape.value(stored), { pad: '    ' }), writer),
    ),
  };
}

/** YAML sorts its keys, so some fields come before the items and some after. */
function yamlParts(shape: ListShape, list: StoredList<UnstructuredObject>): ListParts {
  const names = Object.keys(shape.fields);
  const part = (wanted: readonly string[]): string =>
    wanted.length === 0 ? '' : encodeYaml(Object.fromEntries(wanted.map((name) => [name, shape.fields[name]])));
  const before = part(names.filter((name) => name < shape.itemsField));
  const after = part(names.filter((name) => name > shape.itemsField));
  const isEmpty = list.items.length === 0;
  return {
    head: `${before}${shape.itemsField}:${isEmpty ? ' ' : '\n'}`,
    tail: isEmpty ? `\n${after}` : after,
    separator: new Uint8Array(),
    item: (stored, writer) => writeInTurns(encodeYamlInSlices([shape.value(stored)]), writer),
  };
}

/** Writes a small item at once, and a large one in several turns. */
function writeInTurns(work: SlicedWork<Uint8Array>, writer: BodyWriter): Promise<void> | undefined {
  const bytes = runInTurns(work, writer.signal);
  if (bytes instanceof Promise) return bytes.then((made) => writer.push(made));
  writer.push(bytes);
  return undefined;
}

function firstOpens(opening: Uint8Array, item: ListParts['item']): ListParts['item'] {
  let isFirst = true;
  return (stored, writer) => {
    if (isFirst) writer.push(opening);
    isFirst = false;
    return item(stored, writer);
  };
}

function emptyTail(shape: ListShape, form: OutputForm, tail: string): string {
  if (form.format.name === 'yaml') return `${shape.empty}${tail}`;
  return form.isPretty ? `${shape.empty}\n}` : `${shape.empty}}\n`;
}

/** The length of all items comes before them, so all are encoded and kept before the first byte is sent. */
async function sendProtobufList(writer: BodyWriter, { definition, list, form }: ListAnswer): Promise<void> {
  const isMetadata = form.target !== undefined;
  const { group, version, listKind } = definition;
  const kind = isMetadata
    ? { group: 'meta.k8s.io', version: form.target.version, kind: 'PartialObjectMetadataList' }
    : { group, version, kind: listKind };
  const message = isMetadata ? undefined : definition.schema.types?.messageOfKind(definition);
  const encode = (stored: StoredObject): Uint8Array =>
    message === undefined ? metadataMessage(stored, definition) : objectMessage(stored, message);
  const head = new ProtobufWriter();
  head.bytes(1, encodeMessage(metaTypes.message('meta/v1.ListMeta'), listMetadata(list)));
  const metadata = head.finish();
  let size = metadata.length;
  const items: Uint8Array[] = [];
  for (const stored of list.items) {
    const item = encode(stored);
    items.push(item);
    size += 1 + varintSize(item.length) + item.length;
    if (writer.needsBreath && !(await writer.breathe())) return writer.abort();
  }
  const envelope = envelopeAround(kind, size);
  writer.push(envelope.head);
  writer.push(metadata);
  for (const item of items) {
    const prefix = new ProtobufWriter();
    prefix.tag(2, 2);
    prefix.varint(item.length);
    writer.push(prefix.finish());
    writer.push(item);
    if (writer.needsBreath && !(await writer.breathe())) return writer.abort();
  }
  writer.push(envelope.tail);
  writer.finish();
}

// Makes the Table form of objects: columns and rows of meta.k8s.io around the cells of a kind's convertor. Source:
// apiserver handlers/response.go (asTable), meta/v1 Table.
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { badRequest, notAcceptable } from '@kapstan/api/errors';
import { runInTurns } from '@kapstan/storage';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import { cellsAt, RowCells } from '../../table/row-cells.ts';
import type { TableConvertor } from '../../table/table.ts';
import type { OutputForm } from '../exchange/negotiation.ts';
import {
  type MetadataVersion,
  metadataBytes,
  metadataHead,
  metadataJson,
  objectJson,
  partialMetadata,
  type StoredObject,
} from './encodings.ts';

export type IncludeObject = 'None' | 'Metadata' | 'Object';

export interface TableOptions {
  readonly version: MetadataVersion;
  readonly includeObject: IncludeObject;
  /** Wall clock in milliseconds, from which ages are computed. */
  readonly nowMs: number;
}

/** Reads `includeObject` of the query. Throws 400 for an unknown value. */
export function parseIncludeObject(query: URLSearchParams): IncludeObject {
  const value = query.get('includeObject') ?? '';
  if (value === '') return 'Metadata';
  if (value === 'None' || value === 'Metadata' || value === 'Object') return value;
  const why = `includeObject: Invalid value: ${JSON.stringify(value)}: must be 'Metadata', 'Object', 'None', or empty`;
  throw badRequest(`Unable to convert to Table as requested: ${why}`);
}

/**
 * Compiles the columns of an answer that is a Table, in several turns when there are thousands. Returns undefined when there is nothing to wait for.
 */
export function whenTableIsReady(
  convertor: TableConvertor<UnstructuredObject>,
  target: OutputForm['target'],
): Promise<void> | undefined {
  if (target?.kind !== 'Table' || convertor.prepare === undefined) return undefined;
  const preparing = runInTurns(convertor.prepare());
  return preparing instanceof Promise ? preparing : undefined;
}

/** Returns all parts of a Table except its rows. `columns: 'none'` is for later events of a watch. */
export function tableFields(
  convertor: TableConvertor<UnstructuredObject>,
  metadata: Readonly<Record<string, unknown>>,
  options: { readonly version: MetadataVersion; readonly columns?: 'none' },
): Record<string, unknown> {
  return {
    kind: 'Table',
    apiVersion: `meta.k8s.io/${options.version}`,
    metadata,
    columnDefinitions: options.columns === 'none' ? null : convertor.columns,
  };
}

/** Returns one row as a value. */
export function tableRow(
  definition: ResourceDefinition,
  object: DeepReadonly<UnstructuredObject>,
  options: TableOptions,
): Record<string, unknown> {
  return {
    cells: cellsAt(definition.table.cells(object), options.nowMs),
    object: includedObject(definition, object, options),
  };
}

/** Writes one row as JSON; the object in it is shared bytes. */
export function writeTableRow(
  definition: ResourceDefinition,
  stored: StoredObject,
  { options, push }: { readonly options: TableOptions; readonly push: (bytes: Uint8Array) => void },
): void {
  const write = (): void => {
    const head = `{"cells":${rowCellsOf(definition.table, stored).at(options.nowMs)},"object":`;
    const metadata = options.includeObject === 'Metadata' ? metadataBytes(stored, definition) : undefined;
    push(Buffer.from(metadata === undefined ? head : head + metadataHead(options.version)));
    push(metadata ?? includedJson(definition, stored, options));
    push(metadata === undefined ? rowTail : rowTailAfterMetadata);
  };
  // The view is parsed once for both the cells and the included object.
  if (stored.knownJson === undefined) stored.view(write);
  else write();
}

/** Cells by convertor and object; they are forgotten with the objects. */
const rows = new WeakMap<TableConvertor<UnstructuredObject>, WeakMap<StoredObject, RowCells>>();

/**
 * Longest text of cells that is kept, in characters: texts that clients write into a spec can be as long as the object.
 */
const maxKeptLength = 2_048;

/** Most objects are parsed for their first Table only: their cells are kept, and only ages are computed again. */
function rowCellsOf(table: TableConvertor<UnstructuredObject>, stored: StoredObject): RowCells {
  let rowsOfTable = rows.get(table);
  if (rowsOfTable === undefined) {
    rowsOfTable = new WeakMap();
    rows.set(table, rowsOfTable);
  }
  let row = rowsOfTable.get(stored);
  if (row === undefined) {
    row = stored.view((object) => new RowCells(table.cells(object)));
    if (row.length <= maxKeptLength) rowsOfTable.set(stored, row);
  }
  return row;
}

const rowTail = Buffer.from('}');
const rowTailAfterMetadata = Buffer.from('}}');
const nullJson = Buffer.from('null');

function includedJson(definition: ResourceDefinition, stored: StoredObject, options: TableOptions): Uint8Array {
  switch (options.includeObject) {
    case 'None':
      return nullJson;
    case 'Metadata':
      return metadataJson(stored, options.version, definition);
    case 'Object':
      return objectJson(stored);
  }
}

function includedObject(
  definition: ResourceDefinition,
  object: DeepReadonly<UnstructuredObject>,
  options: TableOptions,
): unknown {
  switch (options.includeObject) {
    case 'None':
      return null;
    case 'Metadata':
      return partialMetadata(object, options.version, definition);
    case 'Object':
      return object;
  }
}

/** Returns the 406 for a form that does not fit the answer. The text names Go's internal type. */
export function shapeMismatch(definition: ResourceDefinition, asked: 'one' | 'list', custom: boolean): Error {
  const type = goTypeOf(definition, asked === 'one' ? definition.listKind : definition.kind, custom);
  return notAcceptable(
    asked === 'one'
      ? `you requested PartialObjectMetadata, but the requested object is a list (${type})`
      : `you requested PartialObjectMetadataList, but the requested object is not a list (${type})`,
  );
}

/**
 * Returns Go's type, such as "*core.ConfigMap" or "*apps.Deployment"; if two groups have the kind, the type that errors
 * name.
 */
function goTypeOf(definition: ResourceDefinition, kind: string, custom: boolean): string {
  if (custom) return kind === definition.listKind ? '*unstructured.UnstructuredList' : '*unstructured.Unstructured';
  const { group } = definition.invalidKind ?? definition;
  return `*${group === '' ? 'core' : (group.split('.')[0] ?? '')}.${kind}`;
}

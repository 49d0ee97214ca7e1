// The Table of a custom resource: its name, then the columns of its definition, or its age if there are none. Source:
// apiextensions registry/customresource/tableconvertor.

import { type DeepReadonly, ExactNumber, parseTime, stringifyJson, type UnstructuredObject } from '@kapstan/api';
import { eachInSlices, formatGoNumber, isJsonObject, runWhole, type SlicedWork, setOwn } from '@kapstan/api/internal';
import { Age, type TableColumn, type TableConvertor } from '@kapstan/apiserver';
import { metadataDescription, nameOf } from '@kapstan/apiserver/internal';
import type { CustomResourceColumnDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { compileJsonPath, type JsonPath } from './json-path.ts';

type Column = DeepReadonly<CustomResourceColumnDefinition>;

const nameColumn: TableColumn = {
  name: 'Name',
  type: 'string',
  format: 'name',
  get description(): string {
    return metadataDescription('name', 'Name of the object.');
  },
  priority: 0,
};

export const ageColumns: readonly Column[] = [
  {
    name: 'Age',
    type: 'date',
    get description(): string {
      return metadataDescription('creationTimestamp', 'Time since the object was created.');
    },
    jsonPath: '.metadata.creationTimestamp',
  },
];

/**
 * Makes the Table of a kind when it is first needed: nothing bounds the number of columns, and reading the paths of thousands takes longer than
 * serving the kind may.
 */
export function customResourceTable(columns: readonly Column[] | undefined): TableConvertor<UnstructuredObject> {
  let made: TableConvertor<UnstructuredObject> | undefined;
  const table = (): TableConvertor<UnstructuredObject> => {
    made ??= runWhole(readableTable(columns));
    return made;
  };
  return {
    get columns() {
      return table().columns;
    },
    cells: (object) => table().cells(object),
    *prepare() {
      made ??= yield* readableTable(columns);
    },
  };
}

/** If the path of a column cannot be read, the Table has name and age only, as in Kubernetes. */
function* readableTable(columns: readonly Column[] | undefined): SlicedWork<TableConvertor<UnstructuredObject>> {
  if (columns === undefined || columns.length === 0) return yield* tableOf(ageColumns);
  try {
    return yield* tableOf(columns);
  } catch (error) {
    if (error instanceof SyntaxError) return yield* tableOf(ageColumns);
    throw error;
  }
}

function* tableOf(columns: readonly Column[]): SlicedWork<TableConvertor<UnstructuredObject>> {
  const printers: Printer[] = [];
  yield* eachInSlices(columns, (column) => printers.push(printerOf(column)));
  return {
    columns: [nameColumn, ...columns.map(tableColumn)],
    cells: (object) => [nameOf(object), ...printers.map((print) => print(object))],
  };
}

function tableColumn(column: Column): TableColumn {
  const { name, type, format = '', priority = 0, jsonPath } = column;
  return {
    ...{ name, type, format, priority },
    // The description is evaluated late, because the default columns read it from a file.
    get description(): string {
      const own = column.description ?? '';
      return own === '' ? `Custom resource definition column (in JSONPath format): ${jsonPath}` : own;
    },
  };
}

type Printer = (object: DeepReadonly<UnstructuredObject>) => unknown;

function printerOf(column: Column): Printer {
  const path = compileJsonPath(column.jsonPath);
  return (object) => {
    const value = firstValue(path, object);
    return column.type === 'string' ? textCell(value) : cellOf(column.type, value);
  };
}

/** Returns undefined when there is no value, for whatever reason. */
function firstValue(path: JsonPath, object: DeepReadonly<UnstructuredObject>): unknown {
  try {
    return path(object)[0];
  } catch (error) {
    if (error instanceof TypeError) return undefined;
    throw error;
  }
}

/** Returns any value as text. Source: jsonpath PrintResults. */
function textCell(value: unknown): unknown {
  if (value === undefined || value === null) return null;
  if (typeof value === 'number' || value instanceof ExactNumber) return formatGoNumber(value);
  return typeof value === 'object' ? stringifyJson(inKeyOrder(value)) : String(value);
}

/** Go writes maps with their keys in order. */
function inKeyOrder(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inKeyOrder);
  if (!isJsonObject(value)) return value;
  const sorted: Record<string, unknown> = {};
  for (const key of Object.keys(value).sort()) setOwn(sorted, key, inKeyOrder(value[key]));
  return sorted;
}

/** Returns null for a value of another type than its column. Source: cellForJSONValue. */
function cellOf(type: string, value: unknown): unknown {
  switch (type) {
    case 'integer':
      if (value instanceof ExactNumber) return /^-?\d+$/.test(value.text) ? value : Math.trunc(Number(value.text));
      return typeof value === 'number' ? Math.trunc(value) : null;
    case 'number':
      return typeof value === 'number' || value instanceof ExactNumber ? Number(value) : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'date':
      return typeof value === 'string' ? dateCell(value) : null;
    default:
      return null;
  }
}

function dateCell(text: string): Age | string {
  if (text === '' || text === 'null') return '<unknown>';
  const timeMs = parseTime(text);
  return Number.isNaN(timeMs) ? '<invalid>' : new Age(timeMs);
}

// The Table of objects without their own columns. Source: rest.NewDefaultTableConvertor.
import type { UnstructuredObject } from '@kapstan/api';
import { metadataDescription } from '../schema/meta-types.ts';
import type { TableConvertor } from './table.ts';

export const defaultTable: TableConvertor<UnstructuredObject> = {
  columns: [
    {
      ...{ name: 'Name', type: 'string', format: 'name', priority: 0 },
      get description(): string {
        return metadataDescription('name', 'Name of the object.');
      },
    },
    {
      ...{ name: 'Created At', type: 'date', format: '', priority: 0 },
      get description(): string {
        return metadataDescription('creationTimestamp', 'When the object was created.');
      },
    },
  ],
  cells: (object) => [object.metadata?.name ?? '', object.metadata?.creationTimestamp ?? null],
};

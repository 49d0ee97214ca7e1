// The Table of objects without columns of their own. Source: rest.NewDefaultTableConvertor.
import type { UnstructuredObject } from '@kapstan/api';
import type { TableConvertor } from './table.ts';

export const defaultTable: TableConvertor<UnstructuredObject> = {
  columns: [
    { name: 'Name', type: 'string', format: 'name', description: 'Name of the object.', priority: 0 },
    { name: 'Created At', type: 'date', format: '', description: 'When the object was created.', priority: 0 },
  ],
  cells: (object) => [object.metadata?.name ?? '', object.metadata?.creationTimestamp ?? null],
};

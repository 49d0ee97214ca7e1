// The Table of a Scale, whatever it scales. Source: pkg/printers/internalversion (addScaleHandler, printScale).
import type { DeepReadonly, UnstructuredObject } from '@kapstan/api';
import { ageOf, nameOf } from './name-and-age.ts';
import type { TableColumn, TableConvertor } from './table.ts';

interface Replicas {
  readonly replicas?: number;
}

export const scaleTable: TableConvertor<UnstructuredObject> = {
  columns: [
    column('Name', 'string', 'Name of the scaled object.'),
    column('Desired', 'integer', 'Desired number of replicas.'),
    column('Available', 'integer', 'Current number of replicas.'),
    column('Age', 'string', 'Time since its creation.'),
  ],
  cells: (object) => [
    nameOf(object),
    (object.spec as DeepReadonly<Replicas> | undefined)?.replicas ?? 0,
    (object.status as DeepReadonly<Replicas> | undefined)?.replicas ?? 0,
    ageOf(object),
  ],
};

function column(name: string, type: string, description: string): TableColumn {
  return { name, type, format: '', description, priority: 0 };
}

import { ExactNumber, type UnstructuredObject } from '@kapstan/api';
import { cellsAt } from '@kapstan/apiserver/internal';
import type { CustomResourceColumnDefinition } from '@kapstan/kinds/apiextensions.k8s.io/v1';
import { describe, expect, it } from 'vitest';
import { customResourceTable } from './custom-resource-table.ts';

const nowMs = Date.parse('2026-01-01T01:00:00Z');
const object = (spec: unknown): UnstructuredObject => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name: 'a', creationTimestamp: '2026-01-01T00:00:00Z' },
  spec,
});
const cell = (type: string, value: unknown, jsonPath = '.spec.x'): unknown =>
  cellsAt(customResourceTable([{ name: 'X', type, jsonPath }]).cells(object({ x: value })), nowMs)[1];

describe('the table of a custom resource', () => {
  it('shows name and age without columns', () => {
    const table = customResourceTable(undefined);
    expect(table.columns.map(({ name, type, format, priority }) => [name, type, format, priority])).toEqual([
      ['Name', 'string', 'name', 0],
      ['Age', 'date', '', 0],
    ]);
    expect(cellsAt(table.cells(object({})), nowMs)).toEqual(['a', '60m']);
  });

  it('shows the columns of the definition', () => {
    const columns: CustomResourceColumnDefinition[] = [
      { name: 'Color', type: 'string', jsonPath: '.spec.color', description: 'its color' },
      { name: 'Size', type: 'integer', format: 'int32', jsonPath: '.spec.size', priority: 1 },
    ];
    const table = customResourceTable(columns);
    expect(table.columns.slice(1)).toEqual([
      { name: 'Color', type: 'string', format: '', description: 'its color', priority: 0 },
      {
        name: 'Size',
        type: 'integer',
        format: 'int32',
        description: 'Custom resource definition column (in JSONPath format): .spec.size',
        priority: 1,
      },
    ]);
    expect(table.cells(object({ color: 'red', size: 3 }))).toEqual(['a', 'red', 3]);
  });

  it('falls back to name and age when a path is not valid', () => {
    expect(customResourceTable([{ name: 'X', type: 'string', jsonPath: '.a[' }]).columns).toHaveLength(2);
    expect(customResourceTable([{ name: 'X', type: 'string', jsonPath: '.a[' }]).columns[1]?.name).toBe('Age');
  });

  const big = new ExactNumber('12345678901234567890');
  const long = new ExactNumber('9007199254740993');
  it.each<[string, unknown, unknown]>([
    ['string', 'x', 'x'],
    ['string', 3, '3'],
    ['string', true, 'true'],
    ['string', big, '1.2345678901234567e+19'],
    ['string', long, '9007199254740993'],
    ['string', 1234567.5, '1.2345675e+06'],
    ['string', { a: [1] }, '{"a":[1]}'],
    ['string', null, null],
    ['string', undefined, null],
    ['integer', 3, 3],
    ['integer', 3.7, 3],
    ['integer', big, big],
    ['integer', 'x', null],
    ['number', 3.7, 3.7],
    ['number', long, 9007199254740992],
    ['number', 'x', null],
    ['boolean', true, true],
    ['boolean', 'true', null],
    ['date', '2026-01-01T00:59:00Z', '60s'],
    ['date', 'noon', '<invalid>'],
    ['date', '', '<unknown>'],
    ['date', 5, null],
    ['other', 5, null],
  ])('shows in a column of type %s for %j: %j', (type, value, shown) => {
    expect(cell(type, value)).toEqual(shown);
  });

  it('shows nothing where a path cannot be followed', () => {
    expect(cell('string', [1], '.spec.x[7]')).toBeNull();
  });
});

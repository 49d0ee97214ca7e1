import { existsSync, readFileSync } from 'node:fs';
import type { KubernetesObject, UnstructuredObject } from '@kapstan/api';
import { cellsAt, RowCells } from '@kapstan/apiserver/internal';
import { describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { builtinTable } from './builtin-table.ts';

const fixtures = new URL('../../fixtures/', import.meta.url);
const read = (name: string): unknown => JSON.parse(readFileSync(new URL(name, fixtures), 'utf8'));
const { cells, cellsBesideColumns } = read('table-cells.json') as {
  readonly cells: Record<string, readonly unknown[]>;
  readonly cellsBesideColumns: Record<string, number>;
};
const { cases } = read('defaults.json') as {
  readonly cases: Record<
    string,
    { readonly path: string; readonly request: KubernetesObject; readonly stored: KubernetesObject }
  >;
};

/** An object with the members that some kinds require, and nothing more. */
const reference = { kind: 'Kind', name: 'b' };
const template = { spec: { containers: [] } };
const leastObject: UnstructuredObject = {
  metadata: { name: 'a' },
  spec: {
    scaleTargetRef: reference,
    containers: [],
    template,
    source: {},
    priorityLevelConfiguration: reference,
    pool: reference,
    parentRef: reference,
    jobTemplate: { spec: { template } },
  },
  status: {},
  roleRef: reference,
  involvedObject: reference,
  regarding: reference,
};

/** By "apps/v1/deployments". */
const tables = new Map(
  builtinResources().map(({ group, version, resource, table }) => [
    `${group === '' ? '' : `${group}/`}${version}/${resource}`,
    table,
  ]),
);

const nowMs = Date.parse('2026-01-01T00:00:05Z');

/** "/apis/apps/v1/namespaces/facts/deployments" → "apps/v1/deployments". */
function idOf(path: string): string {
  return path.replace(/^\/apis?\//, '').replace('namespaces/facts/', '');
}

/** Kubernetes' answer at the time of the recorded row, with values in place of times and uids. */
function withValues<T>(value: T): T {
  return JSON.parse(
    JSON.stringify(value).replaceAll('"<time>"', '"2026-01-01T00:00:00Z"').replaceAll('<uid>', 'u-1'),
  ) as T;
}

describe('tables of the built-in resources', () => {
  const controllerWritten = new Set(['APIService', 'FlowSchema']);
  const rows = Object.entries(cells).filter(([name]) => !controllerWritten.has(name));

  it.each(rows)('prints %s as Kubernetes does', (name, expected) => {
    const { path, stored } = cases[name]!;
    const table = tables.get(idOf(path)) ?? builtinTable(idOf(path));
    const told = table.cells(withValues(stored) as UnstructuredObject);
    const actual = cellsAt(told, nowMs);
    expect(new RowCells(told).at(nowMs)).toBe(JSON.stringify(actual));
    const comparable = withValues(expected).map((cell, index) => (cell === '<age>' ? actual[index] : cell));
    expect(actual).toEqual(comparable);
    for (const [index, cell] of expected.entries()) if (cell === '<age>') expect(actual[index]).toMatch(/^\d+[smhdy]/);
    expect(actual.length).toBe(cellsBesideColumns[idOf(path)] ?? table.columns.length);
  });

  it('an APIService and a FlowSchema print what their controllers wrote', () => {
    const apiService = builtinTable('apiregistration.k8s.io/v1/apiservices');
    const failing = {
      metadata: { name: 'v1.a' },
      spec: { service: { namespace: 'd', name: 's' } },
      status: { conditions: [{ type: 'Available', status: 'False', reason: 'ServiceNotFound' }] },
    };
    expect(apiService.cells(failing)).toEqual(['v1.a', 'd/s', 'False (ServiceNotFound)', '<unknown>']);
    const flowSchema = builtinTable('flowcontrol.apiserver.k8s.io/v1/flowschemas');
    const dangling = {
      metadata: { name: 'x' },
      spec: { priorityLevelConfiguration: { name: 'p' }, matchingPrecedence: 1000 },
      status: { conditions: [{ type: 'Dangling', status: 'True' }] },
    };
    expect(flowSchema.cells(dangling)).toEqual(['x', 'p', 1000, '<none>', '<unknown>', 'True']);
  });

  it('every served resource has a row as wide as its columns', () => {
    const others: string[] = [];
    for (const { group, version, resource, table } of builtinResources()) {
      const id = group === '' ? `${version}/${resource}` : `${group}/${version}/${resource}`;
      const row = table.cells(leastObject);
      if (row.length !== (cellsBesideColumns[id] ?? table.columns.length) || row.length < 2) others.push(id);
    }
    expect(others).toEqual([]);
  });

  it('describes a column as the member that it shows', (ctx) => {
    if (!existsSync(new URL('../../../kinds/dist/column-descriptions.json', import.meta.url)))
      ctx.skip('there are no descriptions: npm install, then npm run build');
    const { columns } = builtinTable('v1/pods');
    const texts = Object.fromEntries(columns.map(({ name, description }) => [name, description]));
    expect(texts.Name).toMatch(/^Name must be unique within a namespace\./);
    expect(texts.IP).toMatch(/^podIP address allocated to the pod\./);
    expect(texts.Age).toMatch(/^CreationTimestamp is a timestamp.* UTC\.\n\nPopulated by the system\./);
  });
});

import type { TestServer } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { virtualResource } from '../../builtin/virtual-resource.ts';
import { startKubernetesServer } from '../../testing/kubernetes-server.ts';
import { type ComponentChecks, type ComponentHealth, componentStatuses } from './component-statuses.ts';

const path = '/api/v1/componentstatuses';
let server: TestServer;
let isHealthy = true;

beforeAll(async () => {
  server = await startKubernetesServer(openLmdbEngine, { definitions: [] });
  const checks: ComponentChecks = new Map<string, () => Promise<ComponentHealth>>([
    ['scheduler', async () => ({ status: 'False', message: 'gone' })],
    ['etcd-0', async () => (isHealthy ? { status: 'True', message: 'ok' } : { status: 'Unknown' })],
  ]);
  server.catalog.install(virtualResource(componentStatuses(checks)));
});
afterAll(() => server.close());

describe('component statuses', () => {
  it('are found out at each read, as kube-apiserver shows them', async () => {
    const list = await server.send('GET', path);
    const condition = { type: 'Healthy', status: 'False', message: 'gone' };
    expect(list.json).toEqual({
      kind: 'ComponentStatusList',
      apiVersion: 'v1',
      metadata: {},
      items: [
        { metadata: { name: 'scheduler' }, conditions: [condition] },
        { metadata: { name: 'etcd-0' }, conditions: [{ type: 'Healthy', status: 'True', message: 'ok' }] },
      ],
    });
    isHealthy = false;
    const one = await server.send('GET', `${path}/etcd-0`);
    isHealthy = true;
    expect(one.json).toEqual({
      kind: 'ComponentStatus',
      apiVersion: 'v1',
      metadata: { name: 'etcd-0' },
      conditions: [{ type: 'Healthy', status: 'Unknown' }],
    });
    expect(one.headers.warning).toBe('299 - "v1 ComponentStatus is deprecated in v1.19+"');
  });

  it('are selected, and shown as a table', async () => {
    const names = async (query: string): Promise<unknown> => {
      const { json } = await server.send('GET', `${path}?${query}`);
      return json.items.map((item: { readonly metadata: { readonly name: string } }) => item.metadata.name);
    };
    expect(await names('fieldSelector=metadata.name%3Detcd-0')).toEqual(['etcd-0']);
    expect(await names('labelSelector=a%3Db')).toEqual([]);
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const table = await server.send('GET', path, { headers });
    expect(table.json.metadata).toEqual({});
    expect(table.json.rows.map(({ cells }: { readonly cells: unknown }) => cells)).toEqual([
      ['scheduler', 'Unhealthy', 'gone', ''],
      ['etcd-0', 'Healthy', 'ok', ''],
    ]);
  });

  it.each([
    ['GET', '/none', 404, 'componentstatus "none" not found'],
    ['GET', '?watch=1', 405, 'watch is not supported on resources of kind "componentstatuses"'],
    ['POST', '', 405, 'the server does not allow this method on the requested resource'],
    ['DELETE', '/etcd-0', 405, 'the server does not allow this method on the requested resource'],
  ])('%s %s is refused with %i', async (method, suffix, code, message) => {
    const body = method === 'POST' ? { body: {} } : {};
    const answer = await server.send(method, `${path}${suffix}`, body);
    expect([answer.status, answer.json.message]).toEqual([code, message]);
  });
});

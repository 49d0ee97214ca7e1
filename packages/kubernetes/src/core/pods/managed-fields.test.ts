// The recorded managers of fields that a pod's subresources write, from a kube-apiserver 1.36.

import type { TestServer } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../../builtin-resources.ts';
import { startKubernetesServer } from '../../testing/kubernetes-server.ts';

const pods = '/api/v1/namespaces/default/pods';
const merge = { 'Content-Type': 'application/merge-patch+json' };
const container = { name: 'c', image: 'i' };

let server: TestServer;

beforeEach(async () => {
  const definitions = builtinResources({ findStore: (...id) => server.catalog.find(...id)?.store });
  server = await startKubernetesServer(openLmdbEngine, { definitions });
});
afterEach(() => server.close());

async function create(name: string, spec: object = {}, metadata: object = {}): Promise<string> {
  const body = {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, ...metadata },
    spec: { containers: [container], ...spec },
  };
  expect((await server.send('POST', pods, { body })).status).toBe(201);
  return `${pods}/${name}`;
}

const get = async (path: string) => (await server.send('GET', path)).json;

describe('a pod', () => {
  it('that is bound has no manager of its node, and is nominated for none any more', async () => {
    const path = await create('p');
    const nominated = { status: { nominatedNodeName: 'n0' } };
    await server.send('PATCH', `${path}/status`, { body: nominated, headers: merge });
    const before = await get(path);
    const binding = {
      apiVersion: 'v1',
      kind: 'Binding',
      metadata: { name: 'p' },
      target: { kind: 'Node', name: 'n1' },
    };
    expect((await server.send('POST', `${path}/binding`, { body: binding })).status).toBe(201);
    const after = await get(path);
    expect(after.spec.nodeName).toBe('n1');
    expect(before.status.nominatedNodeName).toBe('n0');
    expect(after.status.nominatedNodeName).toBeUndefined();
    expect(JSON.stringify(after.metadata.managedFields)).not.toContain('f:nodeName');
  });

  it('that is evicted has no manager of the condition that says so', async () => {
    const path = await create('p', { nodeName: 'n' }, { finalizers: ['a.b/c'] });
    const { metadata } = await get(path);
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    expect((await server.send('POST', `${path}/eviction`, { body: eviction })).status).toBe(201);
    const after = await get(path);
    expect(after.status.conditions).toMatchObject([{ type: 'DisruptionTarget' }]);
    expect(after.metadata.managedFields).toEqual(metadata.managedFields);
  });

  it('that is evicted is counted in its budget by the server, not by the one who evicts', async () => {
    const path = await create('p', { nodeName: 'n' }, { labels: { app: 'a' } });
    await server.send('PATCH', `${path}/status`, { body: { status: { phase: 'Running' } }, headers: merge });
    const budgets = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
    const spec = { minAvailable: 0, selector: { matchLabels: { app: 'a' } } };
    const budget = { apiVersion: 'policy/v1', kind: 'PodDisruptionBudget', metadata: { name: 'b' }, spec };
    expect((await server.send('POST', budgets, { body: budget })).status).toBe(201);
    const status = {
      observedGeneration: 1,
      disruptionsAllowed: 1,
      currentHealthy: 1,
      desiredHealthy: 0,
      expectedPods: 1,
    };
    await server.send('PATCH', `${budgets}/b/status`, { body: { status }, headers: merge });
    const eviction = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name: 'p' } };
    const { status: code } = await server.send('POST', `${path}/eviction?fieldManager=drainer`, { body: eviction });
    expect(code).toBe(201);
    const { metadata } = await get(`${budgets}/b`);
    const counted = JSON.stringify(metadata.managedFields.filter(({ manager }: never) => manager === 'kapstan'));
    expect(counted).toContain('f:disruptedPods');
  });

  it('keeps the time of its deletion, whatever an update of its status says of it', async () => {
    const path = await create('p', { nodeName: 'n' });
    const headers = merge;
    const body = { metadata: { deletionTimestamp: '2020-01-01T00:00:00Z' } };
    const { status, json } = await server.send('PATCH', `${path}/status`, { body, headers });
    expect([status, json.metadata.deletionTimestamp]).toEqual([200, undefined]);
    await server.send('DELETE', path);
    const { deletionTimestamp } = (await get(path)).metadata;
    const again = await server.send('PATCH', `${path}/status`, { body, headers });
    expect([again.status, again.json.metadata.deletionTimestamp]).toEqual([200, deletionTimestamp]);
    expect(deletionTimestamp).toBeDefined();
  });
});

// An update that creates an object needs the verb create; otherwise permission to patch would include permission to
// create.
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Authorizer } from '../../authz/authorizer.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { configMap } from '../../testing/store-fixture.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
const lease = { apiVersion: 'coordination.k8s.io/v1', kind: 'Lease', metadata: { name: 'new' } };
const asAlice = { Authorization: 'Bearer user-token' };
const applied = { ...asAlice, 'Content-Type': 'application/apply-patch+yaml' };

let server: TestServer;
let allowed: readonly string[];
let asked: string[];

const authorizer: Authorizer = {
  authorize: async (attributes) => {
    const { user, verb } = attributes;
    if (user.name === 'alice') asked.push(verb);
    const isAllowed = user.name !== 'alice' || allowed.includes(verb);
    return { decision: isAllowed ? 'allow' : 'noOpinion', reason: '' };
  },
} as Authorizer;

beforeEach(async () => {
  asked = [];
  allowed = ['update', 'patch'];
  server = await startTestServer(openLmdbEngine, { authorizer });
});
afterEach(() => server.close());

describe('an update of what is not there', () => {
  it.each([
    [
      'an apply',
      'PATCH',
      `${configMaps}/new?fieldManager=m`,
      { body: configMap('new'), headers: applied },
      'configmaps "new" is forbidden: User "alice" cannot create resource "configmaps" in API group "" in the namespace "default"',
    ],
    [
      'a PUT of a kind that is created by it',
      'PUT',
      `${leases}/new`,
      { body: lease, headers: asAlice },
      'leases.coordination.k8s.io "new" is forbidden: User "alice" cannot create resource "leases" in API group "coordination.k8s.io" in the namespace "default"',
    ],
  ] as const)('is refused to who may not create: %s', async (_what, method, path, options, message) => {
    const { status, json } = await server.send(method, path, options);
    expect([status, json.message]).toEqual([403, message]);
    expect((await server.send('GET', path.split('?')[0] ?? '')).status).toBe(404);
    allowed = [...allowed, 'create'];
    expect((await server.send(method, path, options)).status).toBe(201);
  });

  it('asks only when it creates', async () => {
    await server.send('POST', configMaps, { body: configMap('old') });
    const options = { body: configMap('old'), headers: applied };
    expect((await server.send('PATCH', `${configMaps}/old?fieldManager=m`, options)).status).toBe(200);
    expect(asked).toEqual(['patch']);
  });
});

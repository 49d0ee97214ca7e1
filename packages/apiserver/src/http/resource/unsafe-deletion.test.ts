import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuthorizationAttributes, Authorizer } from '../../authz/authorizer.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { configMap } from '../../testing/store-fixture.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const query = '?ignoreStoreReadErrorWithClusterBreakingPotential=true';
const asAlice = { Authorization: 'Bearer user-token' };

let server: TestServer;
let asked: AuthorizationAttributes[];
let isUnsafeAllowed: boolean;

/** Alice may do everything except what the test forbids. */
const authorizer: Authorizer = {
  authorize: async (attributes) => {
    if (!attributes.verb.startsWith('unsafe')) return { decision: 'allow', reason: '' };
    asked.push(attributes);
    return isUnsafeAllowed ? { decision: 'allow', reason: '' } : { decision: 'noOpinion', reason: 'nobody may' };
  },
} as Authorizer;

beforeEach(async () => {
  asked = [];
  isUnsafeAllowed = false;
  server = await startTestServer(openLmdbEngine, { authorizer, allowsUnsafeDeletion: true });
  await server.send('POST', configMaps, { body: configMap('a'), headers: asAlice });
});
afterEach(() => server.close());

describe('the deletion of what cannot be read', () => {
  it('is refused to who may delete, but not unsafely', async () => {
    const { status, json } = await server.send('DELETE', `${configMaps}/a${query}`, { headers: asAlice });
    expect([status, json.message]).toEqual([
      403,
      'configmaps "a" is forbidden: not permitted to do "unsafe-delete-ignore-read-errors", reason: nobody may',
    ]);
    expect(asked).toMatchObject([
      {
        verb: 'unsafe-delete-ignore-read-errors',
        group: '',
        version: 'v1',
        resource: 'configmaps',
        subresource: '',
        namespace: 'default',
        name: 'a',
        user: { name: 'alice' },
      },
    ]);
  });

  it('is asked for in a body, too', async () => {
    const body = {
      kind: 'DeleteOptions',
      apiVersion: 'v1',
      ignoreStoreReadErrorWithClusterBreakingPotential: true,
    };
    expect((await server.send('DELETE', `${configMaps}/a`, { body, headers: asAlice })).status).toBe(403);
  });

  it('goes on to the store for who may: what can be read stays, and what is not there is not found', async () => {
    isUnsafeAllowed = true;
    expect((await server.send('DELETE', `${configMaps}/a${query}`, { headers: asAlice })).status).toBe(409);
    expect((await server.send('DELETE', `${configMaps}/none${query}`, { headers: asAlice })).status).toBe(404);
  });

  it('is not possible for a collection', async () => {
    expect((await server.send('DELETE', `${configMaps}${query}`, { headers: asAlice })).status).toBe(405);
    expect((await server.send('GET', `${configMaps}/a`, { headers: asAlice })).status).toBe(200);
  });

  it('asks nothing of a plain deletion', async () => {
    expect((await server.send('DELETE', `${configMaps}/a`, { headers: asAlice })).status).toBe(200);
    expect(asked).toEqual([]);
  });
});

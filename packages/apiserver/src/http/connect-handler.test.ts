import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../testing/api-server-fixture.ts';

const pods = '/api/v1/namespaces/default/pods';
let server: TestServer;

beforeAll(async () => {
  server = await startTestServer(openLmdbEngine);
  const containers = [{ name: 'c', image: 'i' }];
  await server.send('POST', pods, { body: { metadata: { name: 'waits' }, spec: { containers } } });
  await server.send('POST', pods, { body: { metadata: { name: 'placed' }, spec: { containers, nodeName: 'n' } } });
});
afterAll(() => server.close());

describe('subresources that lead to a node', () => {
  it.each([
    // kubectl sends a POST without a body when a WebSocket is refused.
    ['POST', 'waits/exec?command=ls', 400, 'pod waits does not have a host assigned'],
    ['GET', 'waits/attach', 400, 'pod waits does not have a host assigned'],
    ['POST', 'placed/exec?command=ls', 501, 'pods/exec is not served here: there are no nodes'],
    ['GET', 'placed/portforward', 501, 'pods/portforward is not served here: there are no nodes'],
    ['POST', 'none/exec', 404, 'pods "none" not found'],
    ['DELETE', 'placed/proxy', 400, 'address not allowed'],
    ['PATCH', 'placed/proxy', 400, 'address not allowed'],
    ['PATCH', 'placed/exec', 405, 'the server does not allow this method on the requested resource'],
  ])('%s %s answers %i without reading a body', async (method, path, status, message) => {
    const answer = await server.send(method, `${pods}/${path}`);
    expect([answer.status, answer.json.message]).toEqual([status, message]);
  });
});

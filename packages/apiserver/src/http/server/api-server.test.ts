import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { onNextTurn } from '@kapstan/api/internal';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';

let server: TestServer;
beforeEach(async () => {
  server = await startTestServer(openLmdbEngine);
});
afterEach(() => server.close());

const configMaps = '/api/v1/namespaces/default/configmaps';
const configMap = (name: string, data: Record<string, string> = {}) => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { name },
  data,
});

describe('requests that arrive at once', () => {
  it('begin in several turns of the event loop', async () => {
    let turn = 0;
    let isOver = false;
    const count = (): void => {
      turn += 1;
      if (!isOver) onNextTurn(count);
    };
    const begunInTurn: number[] = [];
    const slowAuthenticator = {
      authenticate: () => {
        begunInTurn[turn] = (begunInTurn[turn] ?? 0) + 1;
        const endMs = performance.now() + 5;
        while (performance.now() < endMs);
        return { name: 'alice', groups: [] };
      },
    };
    const slow = await startTestServer(openLmdbEngine, { authentication: { authenticators: [slowAuthenticator] } });
    count();
    const { port, hostname } = new URL(slow.url);
    const socket = connect(Number(port), hostname);
    const request = `GET ${configMaps} HTTP/1.1\r\nHost: here\r\n`;
    const last = `${request}Connection: close\r\n`;
    socket.write([...Array.from({ length: 39 }, () => request), last, ''].join('\r\n'));
    const answers = await text(socket);
    isOver = true;
    await slow.close();
    expect(answers.match(/^HTTP\/1.1 200 OK/gm)).toHaveLength(40);
    // A request takes five milliseconds here, and a turn has room for twenty milliseconds.
    expect(Math.max(...begunInTurn.filter((begun) => begun !== undefined))).toBeLessThan(10);
  });
});

describe('the verbs of a resource', () => {
  it('creates, reads, replaces and deletes an object', async () => {
    const created = await server.send('POST', configMaps, { body: configMap('a', { k: '1' }) });
    expect(created.status).toBe(201);
    expect(created.json).toMatchObject({ kind: 'ConfigMap', apiVersion: 'v1', data: { k: '1' } });
    const read = await server.send('GET', `${configMaps}/a`);
    expect(read.json).toEqual(created.json);
    expect(read.text.endsWith('}\n')).toBe(true);
    const replaced = await server.send('PUT', `${configMaps}/a`, { body: configMap('a', { k: '2' }) });
    expect(replaced.status).toBe(200);
    expect(replaced.json.data).toEqual({ k: '2' });
    const deleted = await server.send('DELETE', `${configMaps}/a`);
    expect(deleted.json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Success',
      details: { name: 'a', kind: 'configmaps', uid: created.json.metadata.uid },
    });
    expect((await server.send('GET', `${configMaps}/a`)).json).toMatchObject({
      code: 404,
      message: 'configmaps "a" not found',
      details: { name: 'a', kind: 'configmaps' },
    });
  });

  it('lists items without their kind, which the list has', async () => {
    for (const name of ['a', 'b']) await server.send('POST', configMaps, { body: configMap(name) });
    const list = await server.send('GET', configMaps);
    expect(list.json).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1' });
    expect(list.json.items.map((item: { metadata: { name: string } }) => item.metadata.name)).toEqual(['a', 'b']);
    for (const item of list.json.items) expect(Object.keys(item)).not.toContain('kind');
  });

  it('watches from a version', async () => {
    const { json: list } = await server.send('GET', configMaps);
    const watch = await server.stream(`${configMaps}?watch=1&resourceVersion=${list.metadata.resourceVersion}`);
    expect(watch.status).toBe(200);
    expect(watch.headers['content-type']).toBe('application/json');
    const { json: created } = await server.send('POST', configMaps, { body: configMap('a') });
    expect(await watch.next()).toEqual({ type: 'ADDED', object: created });
    await server.send('DELETE', `${configMaps}/a`);
    expect(await watch.next()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a' } } });
    watch.close();
  });
});

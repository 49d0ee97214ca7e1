import type { UnstructuredObject } from '@kapstan/api';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import type { ByteSubresource, QueryOptions } from '../../registry/definition/resource-definition.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { type KubeletStandIn, startKubelet } from '../../testing/kubelet-stand-in.ts';
import { testDefinition } from '../../testing/store-fixture.ts';
import type { Page } from './page.ts';

let server: TestServer | undefined;
let peer: KubeletStandIn | undefined;
afterEach(async () => {
  await server?.close();
  await peer?.close();
});

const path = '/api/v1/namespaces/default/configmaps/a/text';

async function* broken(): AsyncGenerator<Uint8Array, void> {
  yield Buffer.from('half');
  throw new Error('the source broke');
}

describe('a subresource of bytes', () => {
  it('gets its options by their types, and sends what comes, or nothing', async () => {
    const asked: QueryOptions[] = [];
    peer = await startKubelet({
      answer: (_request, response) => void response.write('one ', () => response.end('two')),
    });
    const from = { scheme: 'http', host: '127.0.0.1', port: peer.port, path: '/text', peer: 'anyone' } as const;
    const text: ByteSubresource<UnstructuredObject> = {
      type: 'bytes',
      name: 'text',
      verbs: ['get'],
      queryOptions: { follow: 'boolean', lines: 'integer', since: 'time', of: 'string' },
      get: async (_store, _context, { options }) => {
        asked.push(options);
        return options.of === 'nothing' ? undefined : { contentType: 'text/plain', from };
      },
    };
    server = await startTestServer(openLmdbEngine, { definitions: [testDefinition({ subresources: [text] })] });
    const full = await server.send('GET', `${path}?follow=true&lines=7&since=2026-01-01T01:00:00%2B01:00&of=x&else=y`);
    expect([full.status, full.headers['content-type'], full.text]).toEqual([200, 'text/plain', 'one two']);
    expect(asked).toEqual([{ follow: true, lines: 7, since: '2026-01-01T00:00:00Z', of: 'x' }]);
    const empty = await server.send('GET', `${path}?of=nothing`);
    expect([empty.status, empty.headers['content-type'], empty.text]).toEqual([204, undefined, '']);
    const wrong = await server.send('GET', `${path}?lines=many`);
    expect(wrong.json).toMatchObject({ code: 400, message: 'strconv.ParseInt: parsing "many": invalid syntax' });
    expect((await server.send('GET', `${path}?since=today`)).json.message).toContain('parsing time "today"');
    expect((await server.send('PUT', path, { body: {} })).status).toBe(405);
  });
});

describe('a page', () => {
  const page = (changes: Partial<Page> = {}): Page => ({
    path: '/a/page',
    method: 'POST',
    respond: ({ origin, query }) => ({
      contentType: 'text/x',
      cacheControl: 'public',
      body: Buffer.from(`${origin} ${query.get('q')}`),
    }),
    ...changes,
  });

  it('is answered at its path with its method, and named in the index', async () => {
    server = await startTestServer(openLmdbEngine, { definitions: [], pages: [page()] });
    const answer = await server.send('POST', '/a/page?q=1');
    expect([answer.status, answer.text]).toEqual([200, `${server.url} 1`]);
    expect([answer.headers['content-type'], answer.headers['cache-control']]).toEqual(['text/x', 'public']);
    expect((await server.send('GET', '/a/page')).status).toBe(405);
    expect((await server.send('GET', '/')).json.paths).toContain('/a/page');
  });

  it('is cut off where its source breaks', async () => {
    const respond = () => ({ contentType: 'text/x', body: broken() });
    server = await startTestServer(openLmdbEngine, { definitions: [], pages: [page({ respond, method: 'GET' })] });
    await expect(server.send('GET', '/a/page')).rejects.toThrow('aborted');
  });
});

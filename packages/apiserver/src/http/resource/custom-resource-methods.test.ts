// Methods and paths of custom resources, answered as recorded from a kube-apiserver 1.36: the verb decides, not the method.
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { testDefinition } from '../../testing/store-fixture.ts';

const group = 'example.com';
const base = `/apis/${group}/v1`;
const widgets = `${base}/namespaces/default/widgets`;
const widget = (name: string) => ({ apiVersion: `${group}/v1`, kind: 'Widget', metadata: { name } });
const custom = { group, isCustom: true, schema: {} } as const;
const status = { type: 'strategy', name: 'status', verbs: ['get', 'patch', 'update'] } as const;

let server: TestServer;
beforeAll(async () => {
  const { strategy } = testDefinition();
  server = await startTestServer(openLmdbEngine, {
    definitions: [
      ...factDefinitions().filter(({ resource }) => ['namespaces', 'deployments'].includes(resource)),
      testDefinition({
        ...custom,
        resource: 'widgets',
        kind: 'Widget',
        listKind: 'WidgetList',
        subresources: [{ ...status, strategy } as never],
      }),
      testDefinition({ ...custom, resource: 'worlds', kind: 'World', listKind: 'WorldList', namespaced: false }),
    ],
  });
  await server.send('POST', widgets, { body: widget('a') });
});
afterAll(() => server.close());

const json = 'application/json';
const text = 'text/plain; charset=utf-8';
const verbRefused = (verb: string) => `${verb} is not supported on resources of kind "widgets.example.com"`;

describe('a custom resource', () => {
  it.each([
    ['/a', 200],
    ['/nope', 404],
    ['', 200],
    ['/a/status', 200],
    ['/nope/status', 404],
    ['/a/nope', 404],
  ])('is asked for with HEAD at "%s" as with GET: %d, without a body', async (path, expected) => {
    const get = await server.send('GET', `${widgets}${path}`);
    const head = await server.send('HEAD', `${widgets}${path}`);
    expect([get.status, head.status, head.text]).toEqual([expected, expected, '']);
    expect(head.headers['content-length']).toBe(get.headers['content-length']);
  });

  it('is listed across namespaces with HEAD', async () => {
    expect((await server.send('HEAD', `${base}/widgets`)).status).toBe(200);
  });

  it.each([
    ['OPTIONS', '/a', 405, verbRefused('')],
    ['OPTIONS', '', 405, verbRefused('')],
    ['DELETE', '/a/status', 405, verbRefused('delete')],
    ['POST', '/a/status', 405, verbRefused('create')],
    ['GET', '//status', 405, verbRefused('list')],
    ['PUT', '', 400, 'name must be provided'],
    ['GET', '/a/nope/x', 404, 'widgets.example.com "a" not found'],
  ])('%s %s is %d: %s', async (method, path, expected, message) => {
    const body = method === 'PUT' || method === 'POST' ? widget('a') : undefined;
    const answer = await server.send(method, `${widgets}${path}`, { ...(body && { body }) });
    expect([answer.status, answer.json.message]).toEqual([expected, message]);
  });

  it('cannot be patched without a name, which is found out behind the type of the patch', async () => {
    const patch = (type: string) => server.send('PATCH', widgets, { body: {}, headers: { 'content-type': type } });
    const good = await patch('application/merge-patch+json');
    expect([good.status, good.json.message]).toEqual([400, 'name must be provided']);
    expect((await patch('text/plain')).status).toBe(415);
  });

  it('takes its name from the body when it is created at the path of another', async () => {
    const { status: code, json: made } = await server.send('POST', `${widgets}/b?dryRun=All`, { body: widget('c') });
    expect([code, made.metadata.name]).toEqual([201, 'c']);
  });

  it.each(['/a/', '/a//', '/a//x', '/a/status/x/y'])('is found at "%s": nobody reads the rest', async (path) => {
    expect((await server.send('GET', `${widgets}${path}`)).json.metadata.name).toBe('a');
  });

  it.each([
    ['POST', `${base}/widgets`],
    ['PUT', `${base}/widgets`],
    ['DELETE', `${base}/widgets`],
    ['OPTIONS', `${base}/widgets`],
    ['GET', `${base}/widgets/a`],
    ['HEAD', `${base}/widgets/a`],
    ['GET', `${base}/namespaces/default/worlds`],
    ['GET', `${base}/proxy/widgets`],
  ])('has no path of another scope: %s %s', async (method, path) => {
    const answer = await server.send(method, path);
    expect([answer.status, answer.headers['content-type']]).toEqual([404, text]);
  });

  it.each([['POST'], ['HEAD'], ['GET']])('is watched at the path of a watch by %s', async (method) => {
    const path = `${base}/watch/widgets/a?timeoutSeconds=1&resourceVersion=0`;
    const answer = await server.send(method, path.replace('=1', '=-1'));
    expect(answer.status).toBe(200);
  });

  it('is refused in a form that nobody writes with the words of the handler, since no route looked before', async () => {
    for (const path of [`${widgets}/a`, widgets, `${widgets}?watch=1`, `${widgets}/a/status`]) {
      const answer = await server.send('GET', path, { headers: { accept: 'text/plain' } });
      expect([path, answer.status, answer.json.message]).toEqual([
        path,
        406,
        `only the following media types are accepted: ${json}, application/yaml, application/vnd.kubernetes.protobuf`,
      ]);
    }
  });
});

describe('the resource list', () => {
  it.each(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    'of custom resources comes whatever the method: %s',
    async (method) => {
      const body = ['POST', 'PUT', 'PATCH'].includes(method) ? { body: {} } : {};
      const answer = await server.send(method, base, body);
      expect(answer.status).toBe(200);
      if (method !== 'HEAD') expect(answer.json.kind).toBe('APIResourceList');
    },
  );

  it.each(['/apis/apps/v1', '/apis/apps/v1/', '/api/v1'])(
    'of built-in kinds is for GET alone: POST %s',
    async (path) => {
      const answer = await server.send('POST', path, { body: {} });
      expect([answer.status, answer.json.reason]).toEqual([405, 'MethodNotAllowed']);
    },
  );
});

import type { UnstructuredObject } from '@kapstan/api';
import type { ObjectSubresource } from '@kapstan/apiserver/internal';
import type { TestServer } from '@kapstan/apiserver/testing';
import { configMap, factTypes, testDefinition } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const core = '/api/v1/namespaces/default';
const scalers = '/apis/autoscaling/v2/namespaces/default/horizontalpodautoscalers';
const things = '/apis/test.io/v1/namespaces/default/things';
const served = ['configmaps', 'deployments', 'horizontalpodautoscalers', 'leases', 'namespaces', 'pods'];

let server: TestServer;
beforeAll(async () => {
  const definitions = builtinResources().filter(({ resource }) => served.includes(resource));
  server = await startKubernetesServer(openLmdbEngine, { definitions });
});
afterAll(() => server.close());

describe('a body', () => {
  const kind = 'HorizontalPodAutoscaler';
  it.each([
    ['POST', `${core}/configmaps`, 'is not its JSON', 'not JSON', 400],
    ['PUT', `${core}/configmaps/a`, 'is not its JSON', 'not JSON', 400],
    ['POST', scalers, 'is of another version', { apiVersion: 'autoscaling/v1', kind, metadata: { name: 'a' } }, 400],
    [
      'PUT',
      `${scalers}/a`,
      'is of another version',
      { apiVersion: 'autoscaling/v1', kind, metadata: { name: 'a' } },
      400,
    ],
    ['POST', `${core}/nothings`, 'is for nobody', configMap('a'), 404],
    ['PUT', `${core}/configmaps/missing`, 'is for nobody', configMap('missing'), 404],
    ['DELETE', `${core}/configmaps/missing`, 'is for nobody', { gracePeriodSeconds: 5 }, 404],
    ['POST', `${core}/configmaps`, 'has no version', { kind: 'ConfigMap', metadata: { name: 'versionless' } }, 201],
  ])('%s %s that %s', async (method, path, _what, body, code) => {
    const { status, json } = await server.send(method, path, { body });
    expect([status, json.kind]).toEqual([code, code === 201 ? 'ConfigMap' : 'Status']);
    if (code === 400 && typeof body !== 'string') {
      expect(json.message).toContain(
        'the API version in the data (autoscaling/v1) does not match the expected API version (autoscaling/v2)',
      );
    }
  });

  it.each([
    ['POST', `${core}/configmaps`, 'application/yaml'],
    ['PATCH', `${core}/configmaps/many?fieldManager=m`, 'application/apply-patch+yaml'],
  ])('of many entries is as good in YAML as in JSON, which may be sent as YAML: %s', async (method, path, type) => {
    const keys = Array.from({ length: 10_000 }, (_, i) => `k${i}`);
    const data = Object.fromEntries(keys.map((key) => [key, 'v']));
    const headers = { 'content-type': type };
    const head = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: many\ndata:\n';
    const yaml = head + keys.map((key) => `  ${key}: v\n`).join('');
    for (const body of [yaml, `\n${JSON.stringify({ ...configMap('many'), data })}`]) {
      const { status, json } = await server.send(method, path, { body, headers });
      expect([status, json.data]).toEqual([201, data]);
      await server.send('DELETE', `${core}/configmaps/many`);
    }
  });

  it('in YAML makes an object in the namespace of the path, and is answered in YAML where that is wanted', async () => {
    const headers = { 'content-type': 'application/yaml', accept: 'application/yaml, application/json' };
    const body = 'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: yaml\ndata:\n  k: "1"\n';
    const answer = await server.send('POST', '/api/v1/namespaces/other/configmaps', { headers, body });
    expect([answer.status, answer.headers['content-type']]).toEqual([201, 'application/yaml']);
    expect(answer.text).toMatch(/\n {2}name: yaml\n {2}namespace: other\n/);
  });

  it('of an update may leave out the namespace, and may not name another', async () => {
    await server.send('POST', `${core}/configmaps`, { body: configMap('placed') });
    const put = (metadata: object) =>
      server.send('PUT', `${core}/configmaps/placed`, {
        body: { kind: 'ConfigMap', apiVersion: 'v1', metadata, data: { k: '1' } },
      });
    expect((await put({ name: 'placed', namespace: 'other' })).json).toMatchObject({
      code: 400,
      message: 'the namespace of the provided object does not match the namespace sent on the request',
    });
    expect((await server.send('GET', `${core}/configmaps/placed`)).json.data).toBeUndefined();
    const { status, json } = await put({ name: 'placed' });
    expect([status, json.metadata.namespace, json.data]).toEqual([200, 'default', { k: '1' }]);
  });
});

describe('a write', () => {
  it('that names a uid is of the object with that uid', async () => {
    await server.send('POST', `${core}/configmaps`, { body: configMap('known') });
    const put = (uid: string | undefined) =>
      server.send('PUT', `${core}/configmaps/known`, { body: configMap('known', { metadata: { uid } }) });
    const { uid } = (await put(undefined)).json.metadata;
    expect((await put(uid)).status).toBe(200);
    const { json } = await put('another');
    expect([json.code, json.reason, json.message]).toEqual([
      409,
      'Conflict',
      expect.stringContaining(`Precondition failed: UID in precondition: another, UID in object meta: ${uid}`),
    ]);
  });

  it.each([
    ['PUT', 'application/json', 'update'],
    ['PATCH', 'application/apply-patch+yaml', 'apply'],
  ])('by %s that creates does so with the options that it came with', async (method, type, name) => {
    const leases = '/apis/coordination.k8s.io/v1/namespaces/default/leases';
    const send = (query: string, more: object = {}) =>
      server.send(method, `${leases}/${name}?fieldManager=me&${query}`, {
        headers: { 'content-type': type },
        body: {
          apiVersion: 'coordination.k8s.io/v1',
          kind: 'Lease',
          metadata: { name },
          spec: { leaseDurationSeconds: 9 },
          ...more,
        },
      });
    expect((await send('dryRun=All')).status).toBe(201);
    expect((await server.send('GET', `${leases}/${name}`)).status).toBe(404);
    expect((await send('fieldValidation=Strict', { unknown: 1 })).status).toBeGreaterThanOrEqual(400);
    const { status, json } = await send('');
    expect(status).toBe(201);
    expect(json.metadata.managedFields).toMatchObject([
      { manager: 'me', operation: method === 'PUT' ? 'Update' : 'Apply' },
    ]);
  });
});

describe('fields that a kind does not have, and fields sent twice', () => {
  const warns = ['duplicate field "immutable"', 'unknown field "unknown"'];
  const yamlWarns = ['line 6: key "immutable" already set in map', 'unknown field "unknown"'];
  const json =
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"fv"},"immutable":true,"immutable":false,"unknown":"baz"}';
  const yaml =
    'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: fv\nimmutable: true\nimmutable: false\nunknown: baz\n';
  const patch = '{"unknown":"foo","immutable":true,"immutable":false}';
  const jsonPatch = JSON.stringify([
    { op: 'add', path: '/unknown', value: 'foo' },
    { op: 'add', path: '/immutable', value: true },
    { op: 'add', path: '/immutable', value: false },
  ]);
  const refused = 'strict decoding error: duplicate field "immutable", unknown field "unknown"';
  const refusedYaml =
    'strict decoding error: yaml: unmarshal errors:\n  line 6: key "immutable" already set in map, unknown field "unknown"';

  it.each([
    ['POST', 'application/json', json, warns, 400, refused],
    ['POST', 'application/yaml', yaml, yamlWarns, 400, refusedYaml],
    ['PUT', 'application/json', json, warns, 400, refused],
    ['PUT', 'application/yaml', yaml, yamlWarns, 400, refusedYaml],
    ['PATCH', 'application/merge-patch+json; charset=UTF-8', patch, warns, 422, refused],
    ['PATCH', 'application/strategic-merge-patch+json; charset=UTF-8', patch, warns, 422, refused],
    [
      'PATCH',
      'application/json-patch+json; charset=UTF-8',
      jsonPatch,
      warns.slice(1),
      422,
      'strict decoding error: unknown field "unknown"',
    ],
  ])('%s of %s: refused, warned of or ignored', async (method, type, body, warnings, code, message) => {
    const path = method === 'POST' ? `${core}/configmaps` : `${core}/configmaps/fv`;
    const send = async (validation: string) => {
      await server.send('DELETE', `${core}/configmaps/fv`);
      if (method !== 'POST') await server.send('POST', `${core}/configmaps`, { body: configMap('fv') });
      const headers = { 'content-type': type };
      const {
        status,
        json: answer,
        rawHeaders,
      } = await server.send(method, `${path}?fieldValidation=${validation}`, { body, headers });
      const shown = rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1] === 'Warning');
      return { status, message: answer.message, shown };
    };
    const taken = method === 'POST' ? 201 : 200;
    const strict = await send('Strict');
    expect([strict.status, strict.shown]).toEqual([code, []]);
    expect(strict.message).toContain(message);
    const quoted = warnings.map((text) => `299 - "${text.replaceAll('"', '\\"')}"`);
    expect(await send('Warn')).toEqual({ status: taken, message: undefined, shown: quoted });
    expect(await send('Ignore')).toEqual({ status: taken, message: undefined, shown: [] });
  });
});

describe('a subresource', () => {
  it('of another group answers in its own kind', async () => {
    await server.send('POST', '/apis/apps/v1/namespaces/default/deployments', {
      body: {
        metadata: { name: 'd' },
        spec: {
          selector: { matchLabels: { a: 'b' } },
          template: { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } },
        },
      },
    });
    const { json } = await server.send('GET', '/apis/apps/v1/namespaces/default/deployments/d/scale');
    expect(json).toMatchObject({
      kind: 'Scale',
      apiVersion: 'autoscaling/v1',
      metadata: { name: 'd', namespace: 'default' },
    });
    const list = (await server.send('GET', '/apis/apps/v1')).json.resources;
    expect(list).toContainEqual(
      expect.objectContaining({ name: 'deployments/scale', group: 'autoscaling', version: 'v1', kind: 'Scale' }),
    );
  });

  it('is of an object in a namespace, and gets both names', async () => {
    const got: unknown[] = [];
    const sub: ObjectSubresource<UnstructuredObject> = {
      type: 'object',
      name: 'sub',
      kind: { group: '', version: 'v1', kind: 'ConfigMap' },
      schema: factTypes.schema('core.v1.ConfigMap'),
      verbs: ['get', 'create'],
      get: async (_store, context, name) => {
        got.push(['get', context.namespace, name]);
        return configMap('answer');
      },
      create: async (_store, context, { name, body }) => {
        got.push(['create', context.namespace, name, body.metadata?.name, body.metadata?.generateName]);
        return configMap('answer');
      },
    };
    const names = { group: 'test.io', resource: 'things', singular: 'thing', subresources: [sub] };
    const store = server.catalog.find('', 'v1', 'configmaps')?.store as never;
    server.catalog.install({ definition: testDefinition(names), store });
    expect((await server.send('GET', '/apis/test.io/v1/things/test/sub')).status).toBe(404);
    expect((await server.send('GET', '/apis/test.io/things/test/sub')).status).toBe(404);
    expect((await server.send('GET', `${things}/test/sub`)).json).toMatchObject({ metadata: { name: 'answer' } });
    for (const metadata of [{ name: 'test' }, {}, { generateName: 'gen-' }]) {
      expect((await server.send('POST', `${things}/test/sub`, { body: { metadata } })).status).toBe(201);
    }
    expect(got).toEqual([
      ['get', 'default', 'test'],
      ['create', 'default', 'test', 'test', undefined],
      ['create', 'default', 'test', undefined, undefined],
      ['create', 'default', 'test', undefined, 'gen-'],
    ]);
  });
});

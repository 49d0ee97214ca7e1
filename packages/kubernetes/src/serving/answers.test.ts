import { gunzipSync } from 'node:zlib';
import { encodeMessage, readEnvelope, wrapMessage } from '@kapstan/apiserver/internal';
import type { TestServer } from '@kapstan/apiserver/testing';
import { factTypes } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const configMaps = '/api/v1/namespaces/default/configmaps';
const meta = (as: string, version = 'v1') => ({ accept: `application/json;as=${as};v=${version};g=meta.k8s.io` });
let server: TestServer;

beforeAll(async () => {
  server = await startKubernetesServer(openLmdbEngine);
  for (const name of ['a', 'b']) {
    const body = { metadata: { name, labels: { l: name } }, data: { k: '1', on: 'yes' } };
    await server.send('POST', configMaps, { body });
  }
});
afterAll(() => server.close());

describe('representations', () => {
  it('prints YAML with sorted keys and safe scalars', async () => {
    const { text, headers } = await server.send('GET', `${configMaps}/a`, { headers: { accept: 'application/yaml' } });
    expect(headers['content-type']).toBe('application/yaml');
    expect(text).toMatch(/^apiVersion: v1\ndata:\n {2}k: "1"\n {2}"on": "yes"\nkind: ConfigMap\nmetadata:\n/);
    const list = await server.send('GET', configMaps, { headers: { accept: 'application/yaml' } });
    expect(list.text).toMatch(/^apiVersion: v1\nitems:\n- data:\n {4}k: "1"\n/);
    expect(list.text).toMatch(/\nkind: ConfigMapList\nmetadata:\n {2}resourceVersion: "\d+"\n$/);
    const empty = await server.send('GET', '/api/v1/namespaces/none/secrets', {
      headers: { accept: 'application/yaml' },
    });
    expect(empty.text).toMatch(/^apiVersion: v1\nitems: \[\]\nkind: SecretList\n/);
  });

  it('indents JSON when asked, without changing the document', async () => {
    for (const path of [`${configMaps}/a`, configMaps, '/api/v1/namespaces/none/secrets', '/apis']) {
      const plain = await server.send('GET', path);
      const pretty = await server.send('GET', `${path}?pretty=1`);
      expect(pretty.json).toEqual(plain.json);
      expect(pretty.text).toBe(JSON.stringify(pretty.json, null, 2));
    }
  });

  it('makes Tables of lists and of one object', async () => {
    const list = await server.send('GET', configMaps, { headers: meta('Table') });
    expect(list.json).toMatchObject({ kind: 'Table', apiVersion: 'meta.k8s.io/v1' });
    expect(list.json.columnDefinitions.map((column: { name: string }) => column.name)).toEqual(['Name', 'Data', 'Age']);
    expect(list.json.rows[0]).toMatchObject({
      cells: ['a', 2, expect.any(String)],
      object: { kind: 'PartialObjectMetadata', apiVersion: 'meta.k8s.io/v1', metadata: { name: 'a' } },
    });
    const one = await server.send('GET', `${configMaps}/b?includeObject=Object`, { headers: meta('Table', 'v1beta1') });
    expect(one.json.rows).toHaveLength(1);
    expect(one.json.rows[0].object).toMatchObject({ kind: 'ConfigMap', data: { k: '1' } });
    const none = await server.send('GET', `${configMaps}?includeObject=None`, { headers: meta('Table') });
    expect(none.json.rows[0].object).toBeNull();
    const bad = await server.send('GET', `${configMaps}?includeObject=Nope`, { headers: meta('Table') });
    expect(bad.json.message).toBe(
      "Unable to convert to Table as requested: includeObject: Invalid value: \"Nope\": must be 'Metadata', 'Object', 'None', or empty",
    );
  });

  it.each([
    [
      'GET',
      '/apis/apps/v1/namespaces/default/deployments/rows/scale',
      undefined,
      ['Name', 'Desired', 'Available', 'Age'],
    ],
    [
      'GET',
      '/apis/apps/v1/namespaces/default/deployments/rows/status',
      undefined,
      ['Name', 'Ready', 'Up-to-date', 'Available'],
    ],
    ['GET', '/api/v1/namespaces/default/pods/none/ephemeralcontainers', undefined, 406],
    ['GET', '/api/v1/namespaces/default/pods/none/resize', undefined, 406],
    ['POST', '/api/v1/namespaces/default/pods/none/binding', { target: { name: 'n' } }, 406],
    ['POST', '/api/v1/namespaces/default/pods/none/eviction', {}, 406],
    ['PUT', '/api/v1/namespaces/default/finalize', { metadata: { name: 'default' } }, 406],
    ['POST', '/api/v1/namespaces/default/serviceaccounts/default/token', { spec: {} }, 406],
  ] as const)('%s %s as a Table: only where a kind has rows', async (method, path, body, expected) => {
    const selector = { matchLabels: { a: 'b' } };
    const template = { metadata: { labels: { a: 'b' } }, spec: { containers: [{ name: 'c', image: 'i' }] } };
    const spec = { replicas: 2, selector, template };
    await server.send('POST', '/apis/apps/v1/namespaces/default/deployments', {
      body: { metadata: { name: 'rows' }, spec },
    });
    const { status, json } = await server.send(method, path, { headers: meta('Table'), ...(body && { body }) });
    if (expected === 406) {
      expect(status).toBe(406);
      const forms = 'application/json, application/yaml, application/vnd.kubernetes.protobuf';
      expect(json.message).toBe(`only the following media types are accepted: ${forms}`);
      return;
    }
    expect(json.columnDefinitions.map(({ name }: { name: string }) => name).slice(0, 4)).toEqual(expected);
    expect(json.rows[0].cells.slice(0, 2)).toEqual(['rows', path.endsWith('scale') ? 2 : '0/2']);
  });

  it('cuts objects to their metadata', async () => {
    const one = await server.send('GET', `${configMaps}/a`, { headers: meta('PartialObjectMetadata') });
    expect(Object.keys(one.json)).toEqual(['kind', 'apiVersion', 'metadata']);
    const list = await server.send('GET', configMaps, { headers: meta('PartialObjectMetadataList') });
    expect(list.json.items[1]).toMatchObject({ kind: 'PartialObjectMetadata', metadata: { labels: { l: 'b' } } });
    const empty = await server.send('GET', '/api/v1/namespaces/none/secrets', {
      headers: meta('PartialObjectMetadataList'),
    });
    expect(empty.json.items).toBeNull();
    const wrong = await server.send('GET', configMaps, { headers: meta('PartialObjectMetadata') });
    expect(wrong.json).toMatchObject({
      code: 406,
      message: 'you requested PartialObjectMetadata, but the requested object is a list (*core.ConfigMapList)',
    });
  });

  it('answers errors as Status whatever shape was asked for', async () => {
    const { json, status } = await server.send('GET', `${configMaps}/none`, { headers: meta('Table') });
    expect(status).toBe(404);
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'configmaps "none" not found',
      reason: 'NotFound',
      details: { name: 'none', kind: 'configmaps' },
      code: 404,
    });
  });

  it('keeps own keys and long numbers as they were sent', async () => {
    const body = '{"metadata":{"name":"odd"},"data":{"__proto__":"p","constructor":"c"}}';
    await server.send('POST', '/api/v1/namespaces/odd/configmaps', { body });
    const { text } = await server.send('GET', '/api/v1/namespaces/odd/configmaps');
    expect(text).toContain('"__proto__":"p"');
    expect(text).toContain('"constructor":"c"');
  });

  it('compresses large answers for clients that accept it', async () => {
    const body = { metadata: { name: 'big' }, data: { k: 'x'.repeat(200_000) } };
    await server.send('POST', '/api/v1/namespaces/big/configmaps', { body });
    for (const path of ['/api/v1/namespaces/big/configmaps', '/api/v1/namespaces/big/configmaps/big']) {
      const plain = await server.send('GET', path);
      expect(plain.headers['content-encoding']).toBeUndefined();
      const gzip = await server.send('GET', path, { headers: { 'accept-encoding': 'deflate, gzip' } });
      expect(gzip.headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'Accept-Encoding' });
      expect(gunzipSync(gzip.bytes).equals(plain.bytes)).toBe(true);
    }
    const small = await server.send('GET', configMaps, { headers: { 'accept-encoding': 'gzip' } });
    expect(small.headers['content-encoding']).toBeUndefined();
  });
});

describe('refusals of the router', () => {
  it.each([
    ['POST', `${configMaps}/x`, 405],
    ['PUT', configMaps, 405],
    ['HEAD', configMaps, 405],
    ['DELETE', '/api/v1/namespaces', 405],
    ['POST', '/api/v1/configmaps', 405],
    ['GET', '/api/v1/configmaps/x', 404],
    ['GET', '/api/v1/namespaces/default/nodes', 404],
    ['GET', '/api/v1/namespaces/default/nothings', 404],
    ['GET', `${configMaps}/x/status`, 404],
    ['GET', '/apis/apps/v9/deployments', 404],
    ['GET', '/apis/apps/v1/namespaces/default', 404],
    ['POST', '/version', 405],
    ['POST', '/api/v1/watch/configmaps', 405],
  ])('%s %s is a Status with %i', async (method, path, code) => {
    const { status, headers } = await server.send(method, path);
    expect(status).toBe(code);
    expect(headers['content-type']).toBe('application/json');
    expect(headers['cache-control']).toBe('no-cache, private');
    expect(headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
  });

  it.each(['/apis/none.example.com', '/apis/none.example.com/v1/x', '/nothing', '//api/v1/pods', '/livez/nothing'])(
    'GET %s is a plain page',
    async (path) => {
      const { status, text, headers } = await server.send('GET', path);
      expect([status, text]).toEqual([404, '404 page not found\n']);
      expect(headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
    },
  );

  it('refuses bodies that are too large, of another type, or whose name or namespace is not that of the URL', async () => {
    const large = await server.send('POST', configMaps, { body: `{"data":{"a":"${'x'.repeat(3_200_000)}"}}` });
    expect(large.json).toMatchObject({ code: 413, message: 'Request entity too large: limit is 3145728' });
    const text = await server.send('POST', configMaps, { body: 'x', headers: { 'content-type': 'text/plain' } });
    expect(text.json.code).toBe(415);
    const patch = await server.send('PATCH', `${configMaps}/a`, { body: {} });
    expect(patch.json).toMatchObject({ code: 415, message: '415: Unsupported Media Type' });
    const name = await server.send('PUT', `${configMaps}/other`, { body: { metadata: { name: 'a' } } });
    expect(name.json.message).toBe('the name of the object (a) does not match the name on the URL (other)');
    const noName = await server.send('PUT', `${configMaps}/other`, { body: { metadata: {} } });
    expect(noName.json.message).toBe(
      'the name of the object (other based on URL) was undeterminable: name must be provided',
    );
    const namespace = await server.send('POST', configMaps, { body: { metadata: { name: 'x', namespace: 'y' } } });
    expect(namespace.json.message).toBe(
      'the namespace of the provided object does not match the namespace sent on the request',
    );
  });

  it('sends each warning as a header of its own', async () => {
    const body = { metadata: { name: 'warned' }, extra: 1, more: 'ü' };
    const { rawHeaders } = await server.send('POST', '/api/v1/namespaces/w/configmaps', { body });
    const warnings = rawHeaders.filter((_, index) => index % 2 === 1 && rawHeaders[index - 1] === 'Warning');
    expect(warnings).toEqual(['299 - "unknown field \\"extra\\""', '299 - "unknown field \\"more\\""']);
    const { headers } = await server.send('GET', '/api/v1/endpoints');
    expect(headers.warning).toBe('299 - "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"');
  });
});

describe('patches', () => {
  it.each([
    ['application/merge-patch+json', { data: { k: '2', on: null } }, { k: '2' }],
    ['application/json-patch+json', [{ op: 'add', path: '/data/z', value: '3' }], { k: '2', z: '3' }],
    ['application/strategic-merge-patch+json', { data: { z: '4' } }, { k: '2', z: '4' }],
  ])('of type %s change the object', async (type, body, data) => {
    const { json, status } = await server.send('PATCH', `${configMaps}/b`, { body, headers: { 'content-type': type } });
    expect(status).toBe(200);
    expect(json.data).toEqual(data);
  });

  it('do not rename', async () => {
    const headers = { 'content-type': 'application/merge-patch+json' };
    const renamed = await server.send('PATCH', `${configMaps}/b`, { body: { metadata: { name: 's' } }, headers });
    expect(renamed.json.message).toBe('the name of the object (s) does not match the name on the URL (b)');
    const missing = await server.send('PATCH', `${configMaps}/none`, { body: {}, headers });
    expect(missing.json.message).toBe('configmaps "none" not found');
  });
});

describe('server-side apply', () => {
  const apply = (query: string, body: unknown) =>
    server.send('PATCH', `/api/v1/namespaces/applied/configmaps/a?${query}`, {
      body,
      headers: { 'content-type': 'application/apply-patch+yaml' },
    });
  const object = (data: Record<string, string>) => ({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: { name: 'a' },
    data,
  });

  it('creates, owns, and takes over fields only when forced', async () => {
    expect((await apply('fieldManager=one', object({ k: '1' }))).status).toBe(201);
    expect((await apply('fieldManager=one', object({ k: '1' }))).status).toBe(200);
    const conflict = await apply('fieldManager=two', object({ k: '2' }));
    expect(conflict.json).toMatchObject({
      code: 409,
      message: 'Apply failed with 1 conflict: conflict with "one": .data.k',
    });
    const forced = await apply('fieldManager=two&force=true', object({ k: '2' }));
    expect(forced.json).toMatchObject({ data: { k: '2' } });
    expect(forced.json.metadata.managedFields).toMatchObject([{ manager: 'two', operation: 'Apply' }]);
  });

  it('needs a field manager, and the name that is in the path', async () => {
    expect((await apply('', object({}))).json.message).toBe(
      'PatchOptions.meta.k8s.io "" is invalid: fieldManager: Required value: is required for apply patch',
    );
    const other = await apply('fieldManager=m', { ...object({}), metadata: { name: 'b' } });
    expect(other.json.message).toBe('the name of the object (b) does not match the name on the URL (a)');
  });
});

describe('protobuf', () => {
  const protobuf = 'application/vnd.kubernetes.protobuf';
  const kind = { group: '', version: 'v1', kind: 'ConfigMap' };

  it('is accepted and sent', async () => {
    const message = factTypes.messageOfKind(kind);
    if (message === undefined) throw new Error('no message');
    const body = Buffer.from(wrapMessage(kind, encodeMessage(message, { metadata: { name: 'p' }, data: { a: 'b' } })));
    const path = '/api/v1/namespaces/proto/configmaps';
    const created = await server.send('POST', path, { body, headers: { 'content-type': protobuf, accept: protobuf } });
    expect([created.status, created.headers['content-type']]).toEqual([201, protobuf]);
    const { json } = await server.send('GET', `${path}/p`);
    expect(readEnvelope(created.bytes, { types: factTypes, expected: kind })).toEqual(json);
    const list = await server.send('GET', path, { headers: { accept: protobuf } });
    expect(readEnvelope(list.bytes, { types: factTypes, expected: kind })).toMatchObject({
      kind: 'ConfigMapList',
      apiVersion: 'v1',
      metadata: { resourceVersion: expect.any(String) },
      items: [{ metadata: { name: 'p' }, data: { a: 'b' } }],
    });
    const accept = `${protobuf};as=PartialObjectMetadataList;v=v1;g=meta.k8s.io`;
    const partial = await server.send('GET', path, { headers: { accept } });
    expect(readEnvelope(partial.bytes, { types: factTypes, expected: kind })).toMatchObject({
      kind: 'PartialObjectMetadataList',
      items: [{ metadata: { name: 'p' } }],
    });
    const missing = await server.send('GET', `${path}/none`, { headers: { accept: protobuf } });
    expect(readEnvelope(missing.bytes, { types: factTypes, expected: kind })).toMatchObject({
      kind: 'Status',
      code: 404,
      reason: 'NotFound',
    });
  });

  it('is refused when it is malformed', async () => {
    const { json } = await server.send('POST', configMaps, { body: 'nothing', headers: { 'content-type': protobuf } });
    expect(json).toMatchObject({
      code: 400,
      message:
        'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] (6e6f7468696e67)',
    });
  });
});

describe('discovery and health', () => {
  it('serves an aggregated document under an ETag', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const first = await server.send('GET', '/apis', { headers: { accept } });
    expect(first.json).toMatchObject({ kind: 'APIGroupDiscoveryList', apiVersion: 'apidiscovery.k8s.io/v2' });
    expect(first.headers.vary).toBe('Accept');
    const etag = String(first.headers.etag);
    expect(etag).toMatch(/^"[0-9A-F]{128}"$/);
    const again = await server.send('GET', '/apis', { headers: { accept, 'if-none-match': etag } });
    expect([again.status, again.bytes.length]).toEqual([304, 0]);
    const one = server.catalog.find('apps', 'v1', 'deployments');
    if (one !== undefined) server.catalog.install(one);
    const same = await server.send('GET', '/apis', { headers: { accept } });
    expect(same.headers.etag).toBe(etag);
  });

  it('leaves a resource out as soon as it is gone', async () => {
    const served = server.catalog.find('apps', 'v1', 'deployments');
    if (served === undefined) throw new Error('deployments are not served');
    const names = async (): Promise<string[]> =>
      (await server.send('GET', '/apis/apps/v1')).json.resources.map((r: { name: string }) => r.name);
    expect(await names()).toContain('deployments/scale');
    server.catalog.remove('apps', 'v1', 'deployments');
    expect(await names()).not.toContain('deployments');
    server.catalog.install(served);
  });

  it('publishes OpenAPI documents that refer only to themselves', async () => {
    const index = await server.send('GET', '/openapi/v3');
    const { serverRelativeURL } = index.json.paths['apis/apps/v1'];
    const document = await server.send('GET', serverRelativeURL);
    expect(document.headers['cache-control']).toBe('public, immutable');
    const { schemas } = document.json.components;
    for (const [, name] of document.text.matchAll(/"#\/components\/schemas\/([^"]+)"/g))
      expect(schemas).toHaveProperty([String(name)]);
    expect(schemas['io.k8s.api.apps.v1.Deployment']).toMatchObject({
      type: 'object',
      'x-kubernetes-group-version-kind': [{ group: 'apps', kind: 'Deployment', version: 'v1' }],
    });
    const patch = document.json.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'].patch;
    const names = patch.parameters.map(({ $ref: ref, name }: { $ref?: string; name?: string }) => ref ?? name);
    expect(names).toContainEqual(expect.stringMatching(/^(#\/parameters\/)?fieldValidation/));
    const stale = await server.send('GET', '/openapi/v3/apis/apps/v1?hash=OLD');
    expect([stale.status, stale.headers.location]).toEqual([301, serverRelativeURL]);
    const known = await server.send('GET', '/openapi/v3/apis/apps/v1', {
      headers: { 'if-none-match': String(document.headers.etag) },
    });
    expect(known.status).toBe(304);
    expect((await server.send('GET', '/openapi/v3/apis/none/v1')).status).toBe(404);
  });

  it('publishes all resources in one OpenAPI v2 document that refers only to itself', async () => {
    const document = await server.send('GET', '/openapi/v2');
    expect([document.status, document.headers['content-type']]).toEqual([200, 'application/json']);
    const rooms = document.json;
    const { paths, swagger } = rooms;
    expect(swagger).toBe('2.0');
    const references = new Set(
      [...document.text.matchAll(/"\$ref":"#\/([^"]+)\/([^"]+)"/g)].map(([, ...at]) => at.join('/')),
    );
    expect(references.size).toBeGreaterThan(100);
    const isMissing = (reference: string): boolean => {
      const [room = '', name = ''] = reference.split('/');
      return rooms[room]?.[name] === undefined;
    };
    expect([...references].filter(isMissing)).toEqual([]);
    const patch = paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'].patch;
    const names = patch.parameters.map(({ $ref: ref, name }: { $ref?: string; name?: string }) => ref ?? name);
    expect(names).toContainEqual(expect.stringMatching(/^(#\/parameters\/)?fieldValidation/));
    const headers = { 'if-none-match': String(document.headers.etag) };
    expect((await server.send('GET', '/openapi/v2', { headers })).status).toBe(304);
  });

  it.each([
    ['application/com.github.proto-openapi.spec.v2@v1.0+protobuf', 200, 'spec.v2.v1.0+protobuf'],
    ['application/com.github.proto-openapi.spec.v2.v1.0+protobuf;q=0.9, text/html', 200, 'spec.v2.v1.0+protobuf'],
    ['application/*', 200, 'application/json'],
    ['text/html', 406, ''],
  ])('answers OpenAPI v2 for Accept: %s', async (accept, status, contentType) => {
    const document = await server.send('GET', '/openapi/v2', { headers: { accept } });
    expect(document.status).toBe(status);
    expect(document.headers['content-type'] ?? '').toContain(contentType);
  });

  it('reports its health and its metrics', async () => {
    expect((await server.send('GET', '/readyz')).text).toBe('ok');
    expect((await server.send('GET', '/readyz?verbose&exclude=ping')).text).toBe(
      '[+]ping excluded: ok\n[+]log ok\n[+]shutdown ok\nreadyz check passed\n',
    );
    expect((await server.send('GET', '/readyz?verbose&exclude=&exclude=no')).text).toBe(
      '[+]ping ok\n[+]log ok\n[+]shutdown ok\nwarn: some health checks cannot be excluded: no matches for "","no"\nreadyz check passed\n',
    );
    const metrics = await server.send('GET', '/metrics');
    expect(metrics.text).toContain(
      'apiserver_request_total{verb="LIST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="namespace",component="apiserver",code="200"}',
    );
    expect(metrics.text).not.toContain('nothings');
  });
});

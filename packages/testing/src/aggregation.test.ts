// Tests group versions of other API servers in a whole server: conditions of their APIServices, discovery, schemas, metrics, and the
// trusted authorities that other servers learn.

import { ExtensionServer } from '@kapstan/apiserver/testing';
import { APIService } from '@kapstan/kinds/apiregistration.k8s.io/v1';
import { ConfigMap, Service } from '@kapstan/kinds/core/v1';
import { EndpointSlice } from '@kapstan/kinds/discovery.k8s.io/v1';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { type TestCluster, testCluster } from './test-cluster.ts';

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const name = 'v1.example.com';
const namespace = 'default';
let extension: ExtensionServer;
let cluster: TestCluster;

beforeEach(async () => {
  extension = await ExtensionServer.start();
  cluster = await testCluster({
    clock: 'real',
    controlPlane: { registersApiServices: true, identity: 'without lease' },
  });
});
afterEach(async () => {
  await cluster.close();
  await extension.close();
});

const eventually = <T>(look: () => T | Promise<T>): Promise<T> => vi.waitFor(look, { timeout: 30_000, interval: 10 });

type Changes = Partial<NonNullable<APIService['spec']>>;

/** Registers example.com/v1 at the Service "api", whose certificate is for "api.ns.svc". */
async function register(changes: Changes = {}): Promise<void> {
  await cluster.client.create(APIService, {
    metadata: { name: `${changes.version ?? 'v1'}.${changes.group ?? 'example.com'}` },
    spec: {
      ...{ group: 'example.com', version: 'v1', groupPriorityMinimum: 2000, versionPriority: 10 },
      service: { namespace, name: 'api', port: extension.port },
      insecureSkipTLSVerify: true,
      ...changes,
    },
  });
}

async function reachable(): Promise<void> {
  const spec = { type: 'ExternalName', externalName: 'localhost' } as const;
  await cluster.client.create(Service, { metadata: { namespace, name: 'api' }, spec });
}

async function condition(): Promise<string> {
  const { status } = await cluster.client.get(APIService, { name });
  const [said] = status?.conditions ?? [];
  return `${said?.status} ${said?.reason}: ${said?.message}`;
}

async function available(): Promise<void> {
  await reachable();
  await register();
  await eventually(async () => expect(await condition()).toBe('True Passed: all checks passed'));
}

/** Sends a request as the admin, over HTTP. */
async function ask(path: string, accept?: string): Promise<string> {
  const client = await cluster.connect();
  return (await client.raw({ path, ...(accept !== undefined && { accept }) })).body;
}

const aggregated = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList';

interface Group {
  readonly metadata: { readonly name?: string };
  readonly versions: readonly {
    readonly version: string;
    readonly freshness: string;
    readonly resources?: readonly object[];
  }[];
}

async function groups(): Promise<readonly Group[]> {
  return (JSON.parse(await ask('/apis', aggregated)) as { readonly items: readonly Group[] }).items;
}

const groupNamed = async (wanted: string): Promise<Group | undefined> =>
  (await groups()).find(({ metadata }) => metadata.name === wanted);

const books = {
  name: 'books',
  singularName: 'book',
  namespaced: true,
  kind: 'Book',
  verbs: ['get'],
  shortNames: ['bk'],
};

/** Answers as a server that speaks only the old form of discovery. */
function speakOldForm(): void {
  extension.answer = ({ url }, response) => {
    if (url !== '/apis/example.com/v1') {
      response.statusCode = 404;
      return void response.end();
    }
    const resources = [
      books,
      { name: 'books/status', singularName: '', namespaced: true, kind: 'Book', verbs: ['get'] },
    ];
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: 'example.com/v1', resources }),
    );
  };
}

describe('the condition of an APIService with a Service', () => {
  it('follows the Service, its ports and its endpoints', async () => {
    await register();
    const shown = `service/api in "${namespace}"`;
    await eventually(async () => expect(await condition()).toBe(`False ServiceNotFound: ${shown} is not present`));
    const ports = [{ name: 'p', port: 1 }];
    await cluster.client.create(Service, { metadata: { namespace, name: 'api' }, spec: { ports } });
    const { port } = extension;
    await eventually(async () =>
      expect(await condition()).toBe(`False ServicePortError: ${shown} is not listening on port ${port}`),
    );
    const both = [...ports, { name: 'q', port }];
    await cluster.client.patch(Service, { namespace, name: 'api' }, { type: 'merge', body: { spec: { ports: both } } });
    await eventually(async () =>
      expect(await condition()).toBe(`False EndpointsNotFound: cannot find endpointslices for ${shown}`),
    );
    const labels = { 'kubernetes.io/service-name': 'api' };
    await cluster.client.create(EndpointSlice, {
      metadata: { namespace, name: 'api-1', labels },
      addressType: 'IPv4',
      ports: [{ name: 'q', port }],
      endpoints: [{ addresses: ['10.0.0.1'], conditions: { ready: false } }],
    });
    const missing = `False MissingEndpoints: endpointslices for ${shown} have no addresses with port name "q"`;
    await eventually(async () => expect(await condition()).toBe(missing));
    const seen = (await cluster.client.get(APIService, { name })).status?.conditions?.[0]?.lastTransitionTime;
    await cluster.client.delete(Service, { namespace, name: 'api' });
    await eventually(async () => expect(await condition()).toBe(`False ServiceNotFound: ${shown} is not present`));
    expect((await cluster.client.get(APIService, { name })).status?.conditions?.[0]?.lastTransitionTime).toBe(seen);
  });

  it('is true once the server answers, under the name of the aggregator, and counted when it turns false', async () => {
    await available();
    const asked = extension.asked.find(({ url }) => url === '/apis/example.com/v1');
    expect(asked?.rawHeaders).toEqual(
      expect.arrayContaining(['X-Remote-User', 'system:kube-aggregator', 'system:masters']),
    );
    expect(asked?.commonName).toBe('front-proxy-client');
    expect(await ask('/metrics', '*/*')).toContain(`aggregator_unavailable_apiservice{name="${name}"} 0`);
    extension.answer = (_request, response) => {
      response.statusCode = 500;
      response.end();
    };
    await cluster.client.patch(APIService, { name }, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } });
    const at = `https://localhost:${extension.port}/apis/example.com/v1`;
    const bad = `False FailedDiscoveryCheck: failing or missing response from ${at}: bad status from ${at}: 500`;
    await eventually(async () => expect(await condition()).toBe(bad));
    const metrics = await ask('/metrics', '*/*');
    expect(metrics).toContain(`aggregator_unavailable_apiservice{name="${name}"} 1`);
    expect(metrics).toContain(
      `aggregator_unavailable_apiservice_total{name="${name}",reason="FailedDiscoveryCheck"} 1`,
    );
    await cluster.client.delete(APIService, { name });
    await eventually(async () =>
      expect(await ask('/metrics', '*/*')).not.toContain(`aggregator_unavailable_apiservice{name="${name}"}`),
    );
  });

  it('says nothing while the CA bundle cannot be used', async () => {
    await reachable();
    await register({ insecureSkipTLSVerify: false, caBundle: Buffer.from('xxx').toString('base64') });
    await cluster.settle();
    expect(await condition()).toBe('undefined undefined: undefined');
    expect(extension.connections).toBe(0);
  });
});

describe('discovery', () => {
  it('shows what a server of the old form says, and that it is stale when the server is down', async () => {
    speakOldForm();
    await available();
    await eventually(async () =>
      expect(await groupNamed('example.com')).toMatchObject({ versions: [{ freshness: 'Current' }] }),
    );
    const responseKind = { group: '', version: '', kind: 'Book' };
    const subresources = [{ subresource: 'status', responseKind, verbs: ['get'] }];
    const resource = {
      resource: 'books',
      singularResource: 'book',
      scope: 'Namespaced',
      shortNames: ['bk'],
      verbs: ['get'],
    };
    expect((await groupNamed('example.com'))?.versions).toEqual([
      { version: 'v1', resources: [{ ...resource, responseKind, subresources }], freshness: 'Current' },
    ]);
    extension.answer = ({ socket }) => void socket.destroy();
    await cluster.client.patch(APIService, { name }, { type: 'merge', body: { metadata: { labels: { a: 'b' } } } });
    const stale = { metadata: { name: 'example.com' }, versions: [{ version: 'v1', freshness: 'Stale' }] };
    await eventually(async () => expect(await groupNamed('example.com')).toEqual(stale));
    expect(await ask('/apis')).toContain('"example.com"');
  });

  it('asks a server of the new form once for all its versions, and shows only what is registered', async () => {
    const resources = [{ resource: 'books', scope: 'Cluster', verbs: ['get'] }];
    const versions = ['v1', 'v2', 'v3'].map((version) => ({ version, resources, freshness: 'Current' }));
    extension.answer = ({ url }, response) => {
      response.setHeader('content-type', aggregated);
      response.setHeader('etag', '"1"');
      response.end(
        url === '/apis' ? JSON.stringify({ items: [{ metadata: { name: 'example.com' }, versions }] }) : '{}',
      );
    };
    await available();
    await register({ version: 'v2', versionPriority: 20 });
    const shown = { responseKind: { group: '', version: '', kind: '' }, singularResource: '', resource: 'books' };
    await eventually(async () =>
      expect((await groupNamed('example.com'))?.versions).toMatchObject([
        { version: 'v2', freshness: 'Current', resources: [shown] },
        { version: 'v1', freshness: 'Current', resources: [shown] },
      ]),
    );
    expect(await ask('/apis/example.com')).toContain(
      '"preferredVersion":{"groupVersion":"example.com/v2","version":"v2"}',
    );
  });

  it('refuses more than 4 MiB of it, and is as before for others', async () => {
    extension.answer = ({ url }, response) => {
      response.setHeader('content-type', aggregated);
      response.end(url === '/apis' ? Buffer.alloc(10 * 1024 * 1024, ' ') : '{}');
    };
    await available();
    const stale = { metadata: { name: 'example.com' }, versions: [{ version: 'v1', freshness: 'Stale' }] };
    await eventually(async () => expect(await groupNamed('example.com')).toEqual(stale));
    expect(await groupNamed('apps')).toMatchObject({ versions: [{ freshness: 'Current' }] });
  });

  it('orders groups by their priority: the registrations first, then from the highest to the lowest', async () => {
    await register({ group: 'low.example.com', groupPriorityMinimum: 1 });
    await register({ group: 'high.example.com', groupPriorityMinimum: 17_900 });
    await eventually(async () => expect(await groupNamed('low.example.com')).toBeDefined());
    const names = (await groups()).map(({ metadata }) => metadata.name);
    expect([names[0], names[1], names[2], names.at(-1)]).toEqual([
      ...['apiregistration.k8s.io', 'high.example.com', 'apps', 'low.example.com'],
    ]);
  });
});

it('the index of schemas lists those of the own group version of each server, and passes them on', async () => {
  const entry = (path: string): object => ({ serverRelativeURL: `/openapi/v3/${path}?hash=1` });
  extension.answer = ({ url }, response) => {
    if (url?.startsWith('/openapi/v3/')) return void response.end(`schema for ${url}`);
    const paths = Object.fromEntries(
      ['api/v1', 'apis/example.com/v1', 'apis/other.com/v1'].map((path) => [path, entry(path)]),
    );
    response.end(JSON.stringify({ paths }));
  };
  await available();
  const path = 'apis/example.com/v1';
  const own = await eventually(async () => {
    const { paths } = JSON.parse(await ask('/openapi/v3')) as { readonly paths: Readonly<Record<string, object>> };
    expect(paths[path]).toEqual(entry(path));
    return paths;
  });
  expect(own).not.toHaveProperty(['apis/other.com/v1']);
  expect(own['api/v1']).not.toEqual(entry('api/v1'));
  expect(await ask(`/openapi/v3/${path}?hash=1`)).toBe(`schema for /openapi/v3/${path}?hash=1`);
  expect(await ask('/openapi/v3/api/v1')).not.toContain('schema for');
});

it('the document of OpenAPI v2 has what other servers say of their group versions, beside what others mean by the same names', async () => {
  const meta = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta';
  const ref = (name: string): object => ({ $ref: `#/definitions/${name}` });
  const get = { responses: { 200: { description: 'OK', schema: ref('com.example.v1.Book') } } };
  const definitions = {
    'com.example.v1.Book': { type: 'object', properties: { metadata: ref(meta) } },
    [meta]: { type: 'object', description: 'another one' },
    unused: { type: 'object' },
  };
  extension.answer = ({ url }, response) => {
    if (url === '/openapi/v3') response.statusCode = 404;
    if (url !== '/openapi/v2') return void response.end('{}');
    const paths = { '/apis/example.com/v1/books': { get }, '/apis/other.com/v1/things': { get } };
    response.end(JSON.stringify({ swagger: '2.0', paths, definitions }));
  };
  await available();
  const { paths, definitions: all } = await eventually(async () => {
    const document = JSON.parse(await ask('/openapi/v2')) as Record<'paths' | 'definitions', Record<string, object>>;
    expect(document.paths).toHaveProperty(['/apis/example.com/v1/books']);
    return document;
  });
  expect(paths['/apis/other.com/v1/things']).toBeUndefined();
  expect(all['com.example.v1.Book']).toMatchObject({ properties: { metadata: ref(`${meta}_v2`) } });
  expect([all[`${meta}_v2`], all.unused]).toEqual([definitions[meta], undefined]);
  expect(all[meta]).not.toEqual(definitions[meta]);
  const packed = 'application/com.github.proto-openapi.spec.v2.v1.0+protobuf';
  expect(await ask('/openapi/v2', packed)).toContain('com.example.v1.Book');
  await cluster.client.delete(APIService, { name });
  await eventually(async () => expect(await ask('/openapi/v2')).not.toContain('com.example.v1.Book'));
});

it('a server that has only OpenAPI v2 has a document of v3 that is made of it, as long as it is registered', async () => {
  const schema = { $ref: '#/definitions/com.example.v1.Book' };
  const get = { produces: ['application/json'], responses: { 200: { description: 'OK', schema } } };
  const definitions = { 'com.example.v1.Book': { type: 'object' } };
  extension.answer = ({ url }, response) => {
    if (url === '/openapi/v3') response.statusCode = 404;
    if (url !== '/openapi/v2') return void response.end('{}');
    const info = { title: 'Books', version: 'v1' };
    response.end(
      JSON.stringify({ swagger: '2.0', info, paths: { '/apis/example.com/v1/books': { get } }, definitions }),
    );
  };
  await available();
  const path = 'apis/example.com/v1';
  const urlOf = async (): Promise<string | undefined> =>
    (JSON.parse(await ask('/openapi/v3')) as { paths: Record<string, { serverRelativeURL: string }> }).paths[path]
      ?.serverRelativeURL;
  const url = await eventually(async () => {
    const shown = await urlOf();
    expect(shown).toMatch(/^\/openapi\/v3\/apis\/example\.com\/v1\?hash=[0-9A-F]{128}$/);
    return shown ?? '';
  });
  const own = { $ref: '#/components/schemas/com.example.v1.Book' };
  const content = { 'application/json': { schema: own } };
  expect(JSON.parse(await ask(url))).toEqual({
    openapi: '3.0.0',
    info: { title: 'Books', version: 'v1' },
    paths: { '/apis/example.com/v1/books': { get: { responses: { 200: { description: 'OK', content } } } } },
    components: { schemas: definitions },
  });
  const packed = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
  expect(await ask(url, packed)).toContain('com.example.v1.Book');
  await cluster.client.delete(APIService, { name });
  await eventually(async () => expect(await urlOf()).toBeUndefined());
});

it('other servers are told whom to believe', async () => {
  const target = { namespace: 'kube-system', name: 'extension-apiserver-authentication' };
  const { data = {} } = await cluster.client.get(ConfigMap, target);
  expect(data).toMatchObject({
    'requestheader-allowed-names': '["front-proxy-client"]',
    'requestheader-username-headers': '["X-Remote-User"]',
    'requestheader-uid-headers': '["X-Remote-Uid"]',
    'requestheader-group-headers': '["X-Remote-Group"]',
    'requestheader-extra-headers-prefix': '["X-Remote-Extra-"]',
  });
  expect(data['requestheader-client-ca-file']).toContain('BEGIN CERTIFICATE');
  expect(data['requestheader-client-ca-file']).not.toBe(data['client-ca-file']);
});

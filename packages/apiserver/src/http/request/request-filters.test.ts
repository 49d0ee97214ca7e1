import { connect as connectHttp2 } from 'node:http2';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { unauthenticatedGroup } from '../../authn/authenticator.ts';
import type { AuthorizationAttributes } from '../../authz/authorizer.ts';
import {
  adminToken,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { selfSigned } from '../../testing/self-signed.ts';

const definitions = factDefinitions().filter(({ resource }) => ['configmaps', 'namespaces'].includes(resource));
const configMaps = '/api/v1/namespaces/default/configmaps';
let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startTestServer(openLmdbEngine, { definitions, ...options });
  return server;
}

/** Returns the lines of /metrics that begin with the name. */
async function shown(on: TestServer, name: string): Promise<string[]> {
  const { text } = await on.send('GET', '/metrics');
  return text.split('\n').filter((line) => line.startsWith(name));
}

describe('the numbers of requests', () => {
  it('name verb, dry run, resource, scope and code', async () => {
    const on = await start();
    await on.send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    await on.send('PATCH', `${configMaps}/a?dryRun=All`, {
      body: { data: { k: '1' } },
      headers: { 'content-type': 'application/merge-patch+json' },
    });
    await on.send('GET', '/api/v1/configmaps');
    await on.send('GET', '/api/v1/nothings');
    expect(await shown(on, 'apiserver_request_total')).toEqual(
      [
        'verb="POST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver",code="201"',
        'verb="PATCH",dry_run="All",group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver",code="200"',
        'verb="LIST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="cluster",component="apiserver",code="200"',
        'verb="LIST",dry_run="",group="",version="",resource="",subresource="",scope="cluster",component="apiserver",code="404"',
      ].map((labels) => `apiserver_request_total{${labels}} 1`),
    );
    expect(await shown(on, 'field_validation_request_duration_seconds_count')).toEqual([
      'field_validation_request_duration_seconds_count{field_validation=""} 2',
    ]);
  });

  it('include requests that are refused because there are too many', async () => {
    let release: () => void = () => undefined;
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    let arrived: () => void = () => undefined;
    const first = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const authorize = async ({ verb }: AuthorizationAttributes) => {
      if (verb === 'create') {
        arrived();
        await held;
      }
      return { decision: 'allow' as const, reason: '' };
    };
    const on = await start({ maxMutatingRequestsInflight: 1, authorizer: { authorize } });
    const headers = { authorization: 'Bearer user-token' };
    const create = (name: string) => on.send('POST', configMaps, { body: { metadata: { name } }, headers });
    const pending = create('a');
    await first;
    expect((await create('b')).status).toBe(429);
    release();
    expect((await pending).status).toBe(201);
    expect((await shown(on, 'apiserver_request_total')).filter((line) => line.includes('code="429"'))).toEqual([
      'apiserver_request_total{verb="POST",dry_run="",group="",version="v1",resource="configmaps",subresource="",scope="resource",component="apiserver",code="429"} 1',
    ]);
  });

  it('include the sizes of bodies that were read, but not of those that were too large', async () => {
    const on = await start({ maxBodyBytes: 100_000 });
    const body = { metadata: { name: 'a' }, data: { k: 'x'.repeat(60_000) } };
    await on.send('POST', configMaps, { body });
    await on.send('POST', configMaps, { body: { data: { k: 'x'.repeat(100_000) } } });
    await on.send('GET', `${configMaps}/a`);
    const lines = await shown(on, 'apiserver_request_body_size_bytes');
    const of = (rest: string) => `apiserver_request_body_size_bytes_${rest}`;
    const labels = 'group="",resource="configmaps",verb="create"';
    expect(lines).toContain(of(`bucket{${labels},le="50000"} 0`));
    expect(lines).toContain(of(`bucket{${labels},le="150000"} 1`));
    expect(lines).toContain(of(`sum{${labels}} ${JSON.stringify(body).length}`));
    expect(lines.filter((line) => line.includes('_count'))).toEqual([of(`count{${labels}} 1`)]);
  });

  it('have the sizes of the answers to reads, as they were sent', async () => {
    const on = await start();
    await on.send('POST', configMaps, { body: { metadata: { name: 'a' }, data: { k: 'x'.repeat(20_000) } } });
    const whole = await on.send('GET', `${configMaps}/a`);
    const list = await on.send('GET', configMaps);
    const small = await on.send('GET', configMaps, { headers: { 'accept-encoding': 'gzip' } });
    const watch = await on.send('GET', `${configMaps}?watch=1&timeoutSeconds=1`);
    await on.send('DELETE', `${configMaps}/a`);
    const lines = await shown(on, 'apiserver_response_sizes');
    const labels = (verb: string, scope: string) =>
      `verb="${verb}",group="",version="v1",resource="configmaps",subresource="",scope="${scope}",component="apiserver"`;
    const of = (rest: string) => `apiserver_response_sizes_${rest}`;
    expect(lines).toContain(of(`sum{${labels('GET', 'resource')}} ${whole.bytes.length}`));
    expect(lines).toContain(of(`sum{${labels('LIST', 'namespace')}} ${list.bytes.length + small.bytes.length}`));
    expect(lines).toContain(
      of(`bucket{${labels('LIST', 'namespace')},le="10000"} ${small.bytes.length < 10_000 ? 1 : 0}`),
    );
    expect(lines).toContain(of(`bucket{${labels('LIST', 'namespace')},le="100000"} 2`));
    expect(lines).toContain(of(`sum{${labels('WATCH', 'namespace')}} ${watch.bytes.length}`));
    expect(lines.filter((line) => line.includes('_count{') && line.includes('configmaps'))).toHaveLength(3);
  });

  it('show which deprecated resources were requested', async () => {
    const endpoints = factDefinitions().filter(({ resource }) => resource === 'endpoints');
    const on = await start({ definitions: [...definitions, ...endpoints] });
    await on.send('GET', configMaps);
    expect(await shown(on, 'apiserver_requested_deprecated_apis')).toEqual([]);
    for (const path of [
      '/api/v1/endpoints',
      '/api/v1/namespaces/default/endpoints',
      `/api/v1/namespaces/default/endpoints/a`,
    ])
      await on.send('GET', path);
    expect(await shown(on, 'apiserver_requested_deprecated_apis')).toEqual([
      'apiserver_requested_deprecated_apis{group="",version="v1",resource="endpoints",subresource="",removed_release=""} 1',
    ]);
  });

  it('have the events of watches with their bytes, and the time to the end of the first ones', async () => {
    const clock = new VirtualClock();
    const on = await start({ clock });
    await on.send('POST', configMaps, { body: { metadata: { name: 'a' }, data: { k: 'x'.repeat(2000) } } });
    const watch = await on.stream(`${configMaps}?watch=1&allowWatchBookmarks=true`);
    const seen = [await watch.next(), await watch.next()];
    watch.close();
    const bytes = seen.reduce((sum, event) => sum + JSON.stringify(event).length + 1, 0);
    const labels = '{group="",version="v1",resource="configmaps"}';
    expect(await shown(on, 'apiserver_watch_events_total')).toEqual([`apiserver_watch_events_total${labels} 2`]);
    const sizes = await shown(on, 'apiserver_watch_events_sizes');
    expect(sizes).toContain(
      'apiserver_watch_events_sizes_bucket{group="",version="v1",resource="configmaps",le="1024"} 1',
    );
    expect(sizes).toContain(`apiserver_watch_events_sizes_sum${labels} ${bytes}`);
    expect(await shown(on, 'apiserver_watch_list_duration_seconds_count')).toEqual([
      'apiserver_watch_list_duration_seconds_count{group="",version="v1",resource="configmaps",scope="namespace"} 1',
    ]);
  });
});

describe('who asks', () => {
  it('is unknown when authentication fails, and the request goes no further', async () => {
    const asked: AuthorizationAttributes[] = [];
    const on = await start({
      authentication: { authenticators: [{ authenticate: () => Promise.reject(new Error('no store')) }] },
      authorizer: {
        authorize: (attributes) => {
          asked.push(attributes);
          return { decision: 'allow', reason: '' };
        },
      },
    });
    expect((await on.send('GET', configMaps)).json).toMatchObject({ code: 401, message: 'Unauthorized' });
    expect(asked).toEqual([]);
  });

  it.each([
    ['somebody', `Bearer ${adminToken}`, 200, false],
    ['nobody', '', 200, true],
    ['a stranger in the group of nobody', 'Bearer stranger', 200, true],
    ['bad credentials', 'Bearer bad', 401, true],
  ])('%s on HTTP/2 (%s → %i): the connection is over with the answer: %s', async (_, authorization, status, ends) => {
    const pair = await selfSigned('CN=server');
    const user = { name: 'admin', groups: ['system:masters'] };
    const stranger = { name: 'stranger', groups: [unauthenticatedGroup] };
    const authenticate = ({ authorization: sent = '' }) =>
      sent === '' ? 'none' : sent.endsWith('bad') ? 'invalid' : sent.endsWith('stranger') ? stranger : user;
    const on = await start({ tls: pair, authentication: { authenticators: [{ authenticate }] } });
    const session = connectHttp2(on.url, { ca: pair.cert });
    let isTold = false;
    session.on('goaway', () => {
      isTold = true;
    });
    const stream = session.request({ ':path': '/version', ...(authorization === '' ? {} : { authorization }) });
    const code = await new Promise((resolve) => stream.once('response', (headers) => resolve(headers[':status'])));
    stream.resume();
    await new Promise((resolve) => stream.once('close', resolve));
    if (ends) await new Promise((resolve) => (session.closed ? resolve(0) : session.once('close', resolve)));
    else await new Promise((resolve) => session.ping(resolve));
    expect([code, isTold]).toEqual([status, ends]);
    session.destroy();
  });
});

describe('a permission', () => {
  it('that cannot be checked is an error of the server, in words without markup', async () => {
    const on = await start({ authorizer: { authorize: () => Promise.reject(new Error('ARGH <b>')) } });
    const answer = async (path: string) => {
      const { status, text, headers } = await on.send('GET', path);
      return [status, text, headers['content-type'], headers['x-content-type-options']];
    };
    const plain = ['text/plain; charset=utf-8', 'nosniff'];
    expect(await answer('/get')).toEqual([500, 'Internal Server Error: "/get": ARGH &lt;b&gt;\n', ...plain]);
    expect(await answer('/get?a=&b')).toEqual([
      500,
      'Internal Server Error: "/get?a=&amp;b": ARGH &lt;b&gt;\n',
      ...plain,
    ]);
  });

  it.each([
    ['/whatever', 'forbidden: User "alice" cannot get path "/whatever"', {}],
    ['/<script>', 'forbidden: User "alice" cannot get path "/&lt;script&gt;"', {}],
    [
      '/api/v1/pod',
      'pod is forbidden: User "alice" cannot list resource "pod" in API group "" at the cluster scope',
      { kind: 'pod' },
    ],
    [
      '/api/v1/pod/mypod',
      'pod "mypod" is forbidden: User "alice" cannot get resource "pod" in API group "" at the cluster scope',
      { name: 'mypod', kind: 'pod' },
    ],
    [
      '/apis/v2/v1/namespaces/test/pod/p/quota',
      'pod.v2 "p" is forbidden: User "alice" cannot get resource "pod/quota" in API group "v2" in the namespace "test"',
      { name: 'p', group: 'v2', kind: 'pod' },
    ],
  ])('that is refused: %s', async (path, message, details) => {
    const on = await start({ authorizer: { authorize: () => ({ decision: 'noOpinion', reason: '' }) } });
    const { json, headers } = await on.send('GET', path, { headers: { authorization: 'Bearer user-token' } });
    expect(json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      reason: 'Forbidden',
      details,
      code: 403,
    });
    expect(headers).toMatchObject({ 'content-type': 'application/json', 'x-content-type-options': 'nosniff' });
  });

  it('is asked for with what the URL says', async () => {
    const asked: AuthorizationAttributes[] = [];
    const authorize = (attributes: AuthorizationAttributes) => {
      asked.push(attributes);
      return { decision: 'allow' as const, reason: '' };
    };
    const on = await start({ authorizer: { authorize } });
    const user = { name: 'admin', groups: ['system:masters', 'system:authenticated'] };
    const resource = { type: 'resource', user, version: 'v1', group: '', namespace: '', subresource: '', name: '' };
    for (const [method, path, expected] of [
      ['POST', '/', { type: 'path', user, verb: 'post', path: '/' }],
      ['GET', '/api/', { type: 'path', user, verb: 'get', path: '/api/' }],
      ['GET', '/apis/extensions/', { type: 'path', user, verb: 'get', path: '/apis/extensions/' }],
      ['POST', '/api/v1/nodes/mynode', { ...resource, verb: 'create', resource: 'nodes', name: 'mynode' }],
      [
        'PUT',
        '/api/v1/namespaces/myns/pods/mypod',
        { ...resource, verb: 'update', namespace: 'myns', resource: 'pods', name: 'mypod' },
      ],
      [
        'GET',
        '/apis/batch/v1/namespaces/myns/jobs',
        { ...resource, verb: 'list', group: 'batch', namespace: 'myns', resource: 'jobs' },
      ],
      [
        'GET',
        '/api/v1/configmaps?fieldSelector=metadata.name%3Da%2Cmetadata.namespace%21%3Db&labelSelector=c+in+%28d%29',
        {
          ...resource,
          verb: 'list',
          resource: 'configmaps',
          fieldSelector: {
            requirements: [
              { field: 'metadata.name', operator: '=', value: 'a' },
              { field: 'metadata.namespace', operator: '!=', value: 'b' },
            ],
          },
          labelSelector: { requirements: [{ key: 'c', operator: 'in', values: ['d'] }] },
          name: 'a',
        },
      ],
      [
        'DELETE',
        '/api/v1/configmaps?fieldSelector=&labelSelector=a+in+%28b',
        {
          ...resource,
          verb: 'deletecollection',
          resource: 'configmaps',
          labelSelector: { requirements: [], error: expect.any(TypeError) },
        },
      ],
      ['GET', '/api/v1/configmaps/a?labelSelector=b', { ...resource, verb: 'get', resource: 'configmaps', name: 'a' }],
    ] as const) {
      asked.length = 0;
      await on.send(method, path);
      expect(asked).toEqual([expected]);
    }
  });
});

describe('headers of every answer', () => {
  it.each([
    ['a short one', 'foo-bar-baz'],
    ['a long one', `${'1'.repeat(36)}-${'2'.repeat(36)}`],
  ])('keep the audit id of the client: %s', async (_, id) => {
    const on = await start();
    expect((await on.send('GET', '/version', { headers: { 'audit-id': id } })).headers['audit-id']).toBe(id);
  });

  it('forbid caches, but where there is something to keep', async () => {
    const on = await start();
    const cached = async (path: string, accept = '*/*') =>
      (await on.send('GET', path, { headers: { accept } })).headers['cache-control'];
    expect(await cached('/api/v1/namespaces')).toBe('no-cache, private');
    expect(await cached('/openapi/v2')).toBe('no-cache, private');
    expect(await cached('/apis', 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList')).toBe(
      'public',
    );
  });
});

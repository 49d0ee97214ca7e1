import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readEnvelope } from '../../codec/protobuf-envelope.ts';
import { startTestServer, type TestServer } from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { factTypes } from '../../testing/fact-types.ts';
import { testDefinition } from '../../testing/store-fixture.ts';

const json = 'application/json';
const protobuf = 'application/vnd.kubernetes.protobuf';
const aggregated = (type: string, version = 'v2') =>
  `${type};g=apidiscovery.k8s.io;v=${version};as=APIGroupDiscoveryList`;
const definitions = factDefinitions().filter(({ resource }) => ['configmaps', 'deployments'].includes(resource));

async function start(): Promise<TestServer> {
  return startTestServer(openLmdbEngine, { definitions });
}
const get = (on: TestServer, accept: string, path = '/apis', more: Readonly<Record<string, string>> = {}) =>
  on.send('GET', path, { headers: { accept, ...more } });
const made = async (on: TestServer) =>
  /^aggregator_discovery_aggregation_count_total (\d+)$/m.exec((await on.send('GET', '/metrics')).text)?.[1];

/** Serves a kind of another group, or removes it. */
function install(on: TestServer, group: string, changes: Partial<ReturnType<typeof testDefinition>> = {}): void {
  const store = on.catalog.find('', 'v1', 'configmaps')?.store as never;
  on.catalog.install({ definition: testDefinition({ group, ...changes }), store });
}

let server: TestServer;
beforeAll(async () => {
  server = await start();
});
afterAll(() => server.close());

describe('the document of aggregated discovery', () => {
  it('is all that is served, and read as JSON or protobuf', async () => {
    const plain = await get(server, aggregated(json));
    expect([plain.status, plain.headers['content-type']]).toEqual([200, aggregated(json)]);
    expect(plain.json).toMatchObject({
      kind: 'APIGroupDiscoveryList',
      apiVersion: 'apidiscovery.k8s.io/v2',
      metadata: {},
      items: [
        {
          metadata: { name: 'apps' },
          versions: [
            {
              version: 'v1',
              freshness: 'Current',
              resources: [{ resource: 'deployments', scope: 'Namespaced', singularResource: 'deployment' }],
            },
          ],
        },
      ],
    });
    const packed = await get(server, aggregated(protobuf));
    expect([packed.status, packed.headers['content-type']]).toEqual([200, aggregated(protobuf)]);
    const kind = { group: 'apidiscovery.k8s.io', version: 'v2', kind: 'APIGroupDiscoveryList' };
    expect(readEnvelope(packed.bytes, { types: factTypes, expected: kind })).toMatchObject(plain.json);
    expect(packed.headers.etag).toBe(plain.headers.etag);
    expect((await get(server, aggregated(json), '/api')).json.items).toMatchObject([
      { versions: [{ resources: [{ resource: 'configmaps' }] }] },
    ]);
  });

  it.each([
    [`${json};foo=bar`, 'APIGroupList'],
    ['', 'APIGroupList'],
    [json, 'APIGroupList'],
    [`${json},${aggregated(json)}`, 'APIGroupList'],
    [aggregated(json), 'APIGroupDiscoveryList'],
    [`${aggregated(json)},${json}`, 'APIGroupDiscoveryList'],
    [`${aggregated(json)};profile=nopeer`, 'APIGroupDiscoveryList'],
    [`${aggregated(json)};profile=foo`, 'APIGroupDiscoveryList'],
    // The header of client-go, for servers of all ages. The beta is gone since 1.35.
    [`${aggregated(json)},${aggregated(json, 'v2beta1')},${json}`, 'APIGroupDiscoveryList'],
    [`${aggregated(json, 'v2beta1')},${json}`, 'APIGroupList'],
  ])('is answered to who asks for it first: Accept "%s" gets %s', async (accept, kind) => {
    expect((await get(server, accept)).json.kind).toBe(kind);
  });

  it.each([
    [protobuf, 'APIGroupList'],
    [`${aggregated(protobuf)},${protobuf}`, 'APIGroupDiscoveryList'],
    [`${aggregated(protobuf, 'v2beta1')},${protobuf}`, 'APIGroupList'],
  ])('is told from the plain list in protobuf too: Accept "%s" gets %s', async (accept, kind) => {
    const answer = await get(server, accept);
    expect(readEnvelope(answer.bytes, { types: factTypes, expected: { group: '', version: '', kind: '' } }).kind).toBe(
      kind,
    );
  });

  it('is gone in its beta, which nothing else stands for', async () => {
    expect((await get(server, aggregated(json, 'v2beta1'))).json).toMatchObject({ kind: 'Status', code: 406 });
  });
});

describe('the ETag of the document', () => {
  it('depends on nothing but what is served', async () => {
    const [one, two] = await Promise.all([start(), start()]);
    const etags = async () =>
      (await Promise.all([get(one, aggregated(json)), get(two, aggregated(json))])).map(({ headers }) => headers.etag);
    const [first, same] = await etags();
    expect(first).toBe(same);
    install(one, 'a.io');
    const [more, still] = await etags();
    expect([more === first, still === first]).toEqual([false, true]);
    install(two, 'a.io');
    const [both, too] = await etags();
    expect([both, too]).toEqual([more, more]);
    for (const on of [one, two]) on.catalog.remove('a.io', 'v1', 'configmaps');
    expect(await etags()).toEqual([first, first]);
    await Promise.all([one.close(), two.close()]);
  });

  it.each(['"wrong"', 'wrong', '*'])('that is another one is answered with the document: %s', async (etag) => {
    const answer = await get(server, aggregated(json), '/apis', { 'if-none-match': etag });
    expect([answer.status, answer.json.kind]).toEqual([200, 'APIGroupDiscoveryList']);
  });

  it('that is still right needs no document', async () => {
    const { headers } = await get(server, aggregated(json));
    const again = await get(server, aggregated(json), '/apis', { 'if-none-match': String(headers.etag) });
    expect([again.status, again.text, again.headers.etag]).toEqual([304, '', headers.etag]);
  });

  it('that was right once gets the new document', async () => {
    const on = await start();
    const { headers } = await get(on, aggregated(json));
    install(on, 'a.io');
    const again = await get(on, aggregated(json), '/apis', { 'if-none-match': String(headers.etag) });
    expect(again.status).toBe(200);
    expect(again.json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual([
      'apps',
      'a.io',
    ]);
    expect(again.headers.etag).not.toBe(headers.etag);
    await on.close();
  });
});

describe('what changes in discovery', () => {
  it('is there at once, is replaced and not added, and goes', async () => {
    const on = await start();
    const groups = async () => {
      const [list, document] = [await get(on, json), await get(on, aggregated(json))];
      const named = document.json.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
      expect(list.json.groups.map(({ name }: { name: string }) => name)).toEqual(named);
      return named;
    };
    expect(await groups()).toEqual(['apps']);
    install(on, 'x.io');
    install(on, 'b.io', { version: 'v1beta1' });
    expect(await groups()).toEqual(['apps', 'b.io', 'x.io']);
    install(on, 'x.io', { kind: 'Other' });
    expect(await groups()).toEqual(['apps', 'b.io', 'x.io']);
    expect((await get(on, json, '/apis/x.io/v1')).json.resources).toMatchObject([{ kind: 'Other' }]);
    on.catalog.remove('b.io', 'v1beta1', 'configmaps');
    expect(await groups()).toEqual(['apps', 'x.io']);
    await on.close();
  });

  it('is the same for all who ask meanwhile', async () => {
    const on = await start();
    const names = ['apps', 'b.io', 'c.io'];
    const answers = await Promise.all(
      Array.from({ length: 60 }, async (_, i) => {
        if (i === 20) install(on, 'b.io');
        if (i === 40) install(on, 'c.io');
        return get(on, aggregated(json));
      }),
    );
    const etags = new Map<string, string>();
    for (const { json: document, headers } of answers) {
      const found = document.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
      expect(found).toEqual(names.slice(0, found.length));
      const etag = String(headers.etag);
      expect(etags.get(etag) ?? String(found)).toBe(String(found));
      etags.set(etag, String(found));
    }
    await on.close();
  });

  it('makes a new document, and nothing else does', async () => {
    const on = await start();
    expect(await made(on)).toBe('0');
    for (let i = 0; i < 3; i++) await get(on, aggregated(json));
    expect(await made(on)).toBe('1');
    install(on, 'a.io');
    for (let i = 0; i < 3; i++) await get(on, aggregated(json));
    expect(await made(on)).toBe('2');
    await on.close();
  });
});

it('a large document is made once for all who ask at the same time', async () => {
  const on = await start();
  for (let group = 0; group < 400; group++) install(on, `g${group}.io`);
  const answers = await Promise.all(Array.from({ length: 12 }, () => get(on, aggregated(json))));
  expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
  expect(await made(on)).toBe('1');
  await on.close();
});

describe('the order of discovery', () => {
  it.each([
    [
      ['v1alpha1', 'v2beta1', 'v1', 'v1beta1', 'v2'],
      ['v2', 'v1', 'v2beta1', 'v1beta1', 'v1alpha1'],
    ],
    [
      ['foo1', 'v11alpha2', 'v10', 'foo10', 'v3beta1', 'v11beta2', 'v12alpha1', 'v2'],
      ['v10', 'v2', 'v11beta2', 'v3beta1', 'v12alpha1', 'v11alpha2', 'foo1', 'foo10'],
    ],
  ])('has the preferred version first: %j', async (versions, sorted) => {
    const on = await start();
    for (const version of versions) install(on, 'a.io', { version });
    const { json: document } = await get(on, aggregated(json));
    expect(document.items[1].versions.map(({ version }: { version: string }) => version)).toEqual(sorted);
    const group = (await get(on, json, '/apis/a.io')).json;
    expect(group.versions.map(({ version }: { version: string }) => version)).toEqual(sorted);
    expect(group.preferredVersion.version).toBe(sorted[0]);
    await on.close();
  });

  it('has groups by the places of their resources, then others by their names', async () => {
    const on = await start();
    for (const group of ['z.io', 'a.io']) install(on, group);
    for (const [place, group] of ['autoscaling', 'batch', 'policy'].entries())
      install(on, group, { discoveryPlace: { group: 100 + place, version: 0 } });
    const { json: list } = await get(on, json);
    expect(list.groups.map(({ name }: { name: string }) => name)).toEqual([
      'apps',
      'autoscaling',
      'batch',
      'policy',
      'a.io',
      'z.io',
    ]);
    await on.close();
  });

  it('has the versions of a group by their places too, whatever else is served of it', async () => {
    const on = await start();
    for (const version of ['v3alpha1', 'v1', 'v2']) install(on, 'autoscaling', { version });
    const { json: group } = await get(on, json, '/apis/autoscaling');
    expect(group.versions.map(({ version }: { version: string }) => version)).toEqual(['v2', 'v1', 'v3alpha1']);
    await on.close();
  });
});

it('clients are told to come back to where they asked', async () => {
  const { json: versions } = await server.send('GET', '/api', { headers: { host: 'asked.example:6443' } });
  expect(versions).toEqual({
    kind: 'APIVersions',
    versions: ['v1'],
    serverAddressByClientCIDRs: [{ clientCIDR: '0.0.0.0/0', serverAddress: 'asked.example:6443' }],
  });
});

describe('documents of discovery, version and OpenAPI', () => {
  const produced = '406: Not Acceptable\n\nAvailable representations: application/json';
  const all = `${produced}, application/yaml, application/vnd.kubernetes.protobuf`;
  const only =
    'only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf';

  // Recorded behaviour: the router refuses documents with their own routes, the aggregator refuses its own.
  it.each([
    ['/api', all, {}],
    ['/api/v1', all, {}],
    ['/apis/apps/v1', all, {}],
    ['/version', produced, {}],
    ['/apis', only, undefined],
    ['/apis/apps', only, undefined],
  ])('are refused in a form that they do not have: %s', async (path, message, details) => {
    const { status, json: refusal } = await get(server, 'text/html', path);
    expect([status, refusal.message, refusal.reason, refusal.details]).toEqual([
      406,
      message,
      'NotAcceptable',
      details,
    ]);
  });

  it.each([
    ['/apis', 200],
    ['/apis/apps', 200],
    ['/api', 405],
    ['/api/v1', 405],
    ['/apis/apps/v1', 405],
    ['/version', 405],
  ])('come whatever the method where the aggregator gives them: POST %s is %d', async (path, status) => {
    expect((await server.send('POST', path)).status).toBe(status);
  });

  it('are matched to Accept without its parameters where they have a route', async () => {
    expect((await get(server, aggregated(json), '/version')).status).toBe(200);
    expect((await get(server, 'application/yaml', '/version')).status).toBe(406);
  });

  it('come in YAML too when they are aggregated', async () => {
    const yaml = aggregated('application/yaml');
    const { headers, text } = await get(server, yaml, '/api');
    expect([headers['content-type'], text.split('\n')[0]]).toEqual([yaml, 'apiVersion: apidiscovery.k8s.io/v2']);
  });

  it.each(['*/*', 'text/html', 'application/yaml'])(
    'the index of OpenAPI v3 is a text for everyone: %s',
    async (accept) => {
      const { status, headers } = await get(server, accept, '/openapi/v3');
      expect([status, headers['content-type']]).toEqual([200, 'text/plain; charset=utf-8']);
    },
  );

  it.each([
    ['/openapi/v3/', json, 404],
    ['/openapi/v3/apis/none/v1', json, 404],
    ['/openapi/v3/apis/apps/v1', 'application/yaml', 406],
    ['/openapi/v2', 'application/yaml', 406],
  ])('of OpenAPI are refused without a word: %s as %s is %d', async (path, accept, status) => {
    const answer = await get(server, accept, path);
    expect([answer.status, answer.text, answer.headers['content-type']]).toEqual([status, '', undefined]);
  });

  it.each(['*', '"a", ETAG', 'W/ETAG'])('of OpenAPI are not sent to who has them: %s', async (tags) => {
    for (const path of ['/openapi/v2', '/openapi/v3/apis/apps/v1']) {
      const { etag } = (await get(server, json, path)).headers;
      const again = await get(server, json, path, { 'if-none-match': tags.replace('ETAG', String(etag)) });
      expect([again.status, again.text]).toEqual([304, '']);
    }
  });

  it('of OpenAPI depend on Accept, v2 on the encoding too', async () => {
    expect((await get(server, json, '/openapi/v2')).headers.vary).toBe('Accept-Encoding, Accept');
    expect((await get(server, json, '/openapi/v3/apis/apps/v1')).headers.vary).toBe('Accept');
  });
});

it('the group of the aggregator has a route of its own, for GET alone; the others come whatever the method', async () => {
  const on = await startTestServer(openLmdbEngine, {
    definitions: [...definitions, ...factDefinitions().filter(({ resource }) => resource === 'apiservices')],
  });
  try {
    const statuses = [];
    for (const group of ['apiregistration.k8s.io', 'apps']) {
      for (const method of ['GET', 'POST', 'HEAD']) statuses.push((await on.send(method, `/apis/${group}`)).status);
    }
    expect(statuses).toEqual([200, 405, 405, 200, 200, 200]);
    const accept = 'text/plain';
    const refused = (await get(on, accept, '/apis/apiregistration.k8s.io')).json.message;
    expect(refused).toMatch(/^406: Not Acceptable/);
  } finally {
    await on.close();
  }
});

describe('an OpenAPI v3 document', () => {
  const packed = 'application/com.github.proto-openapi.spec.v3.v1.0+protobuf';
  it.each([
    [packed, packed],
    [packed.replace('.v1.0', '@v1.0'), packed],
    [`${packed}, application/json`, packed],
    ['application/json', json],
    ['*/*', json],
  ])('is answered to "%s" as %s, under one ETag', async (accept, type) => {
    const answer = await get(server, accept, '/openapi/v3/apis/apps/v1');
    const plain = await get(server, json, '/openapi/v3/apis/apps/v1');
    expect([answer.status, answer.headers['content-type'], answer.headers.etag]).toEqual([
      200,
      type,
      plain.headers.etag,
    ]);
    // Field 1 of the message, the version of OpenAPI, comes first.
    const head = type === packed ? '\n\u00053.0.0' : '{"openapi":"3.0.0"';
    expect(Buffer.from(answer.bytes).toString('utf8').slice(0, head.length)).toBe(head);
  });

  it('has no empty list, which Go would leave out when it writes the document again', async () => {
    expect((await get(server, json, '/openapi/v3/apis/apps/v1')).text).not.toMatch(/\[\]|"content":\{\}/);
  });
});

import { VirtualClock } from '@kapstan/api/testing';
import { AuditBackends, type AuditLogTarget, type AuditMode } from '@kapstan/apiserver';
import type { AuditLevel, AuditPolicy } from '@kapstan/apiserver/internal';
import type { TestRequest, TestServer, TestServerOptions } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';
import { defaultAuthorizer } from '../testing/rbac-fixture.ts';

const served = ['configmaps', 'namespaces', 'endpoints', 'pods', 'secrets', 'deployments'];
const definitions = builtinResources().filter(({ resource }) => served.includes(resource));
const configMaps = '/api/v1/namespaces/default/configmaps';
let server: TestServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

// biome-ignore lint/suspicious/noExplicitAny: events, whose shape the tests assert
type Line = Record<string, any>;

interface Audited extends TestServer {
  /** Events of all requests so far. */
  readonly events: readonly Line[];
  /** Sends a request and returns its events without the first. */
  ask(method: string, path: string, request?: TestRequest): Promise<readonly Line[]>;
}

async function start(
  policy: AuditLevel | AuditPolicy = 'RequestResponse',
  {
    mode,
    append,
    maxObjectBytes,
    ...options
  }: TestServerOptions & { mode?: AuditMode; append?: AuditLogTarget['append']; maxObjectBytes?: number } = {},
): Promise<Audited> {
  const events: Line[] = [];
  const target = {
    append:
      append ??
      (async (lines: Uint8Array) => {
        const texts = Buffer.from(lines).toString().trimEnd().split('\n');
        events.push(...texts.map((text) => JSON.parse(text)));
      }),
  };
  const backends = new AuditBackends({ log: { target, mode }, maxObjectBytes });
  const rules = typeof policy === 'string' ? { rules: [{ level: policy }] } : policy;
  const audit = { policy: rules, backends };
  server = await startKubernetesServer(openLmdbEngine, {
    definitions,
    authorizer: defaultAuthorizer(),
    metrics: [backends],
    audit,
    ...options,
  });
  const running = server;
  return {
    ...running,
    events,
    ask: async (method, path, request) => {
      const from = events.length;
      await running.send(method, path, request);
      return events.slice(from).filter(({ stage }) => stage !== 'RequestReceived');
    },
  };
}

const asAlice = { authorization: 'Bearer user-token' };
const alice = { username: 'alice', groups: ['system:authenticated'] };
const status = (code: number, more: object = {}) => ({ metadata: {}, ...more, code });
const failure = (code: number, reason: string, message: string) =>
  status(code, { status: 'Failure', reason, message: expect.stringContaining(message) });

describe('a request', () => {
  it('leaves an event when it came and one when it is answered, in the shape of kube-apiserver', async () => {
    const clock = new VirtualClock();
    const { send, events } = await start('RequestResponse', { clock });
    const headers = { 'audit-id': 'my-id', 'x-forwarded-for': '10.1.2.3, nonsense, 10.2.2.2', 'x-real-ip': '10.9.9.9' };
    const answer = await send('GET', '/api/v1/namespaces?limit=1', { headers });
    expect(answer.headers['audit-id']).toBe('my-id');
    const received = {
      kind: 'Event',
      apiVersion: 'audit.k8s.io/v1',
      level: 'RequestResponse',
      auditID: 'my-id',
      stage: 'RequestReceived',
      requestURI: '/api/v1/namespaces?limit=1',
      verb: 'list',
      user: { username: 'admin', groups: ['system:masters', 'system:authenticated'] },
      sourceIPs: ['10.1.2.3', '10.2.2.2', '10.9.9.9', '127.0.0.1'],
      userAgent: 'tester/1.0',
      objectRef: { resource: 'namespaces', apiVersion: 'v1' },
      requestReceivedTimestamp: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/),
      stageTimestamp: events[0]?.requestReceivedTimestamp,
    };
    expect(events).toEqual([
      received,
      {
        ...received,
        stage: 'ResponseComplete',
        stageTimestamp: expect.any(String),
        responseStatus: status(200),
        responseObject: answer.json,
        annotations: { 'authorization.k8s.io/decision': 'allow', 'authorization.k8s.io/reason': '' },
      },
    ]);
  });

  it('gets an id when it has none, which the answer names', async () => {
    const { send, events } = await start();
    const { headers } = await send('GET', '/version');
    expect(headers['audit-id']).toMatch(/^[0-9a-f-]{36}$/);
    expect(events.map(({ auditID }) => auditID)).toEqual(Array(2).fill(headers['audit-id']));
  });

  it('is recorded before its answer is sent', async () => {
    const { send, events } = await start('Metadata');
    for (let i = 1; i <= 20; i++) {
      await send('GET', '/version');
      expect(events).toHaveLength(2 * i);
    }
  });

  // Recorded from kube-apiserver 1.36.3 with the same policy.
  it.each([
    [
      'a create',
      'POST',
      configMaps,
      { metadata: { name: 'b' }, data: { k: 'v' } },
      {
        objectRef: { resource: 'configmaps', namespace: 'default', name: 'b', apiVersion: 'v1' },
        requestObject: { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'b' }, data: { k: 'v' } },
        responseObject: expect.objectContaining({ kind: 'ConfigMap' }),
        responseStatus: status(201),
      },
    ],
    [
      'a create with defaults',
      'POST',
      '/api/v1/namespaces',
      { metadata: { name: 'n' } },
      {
        requestObject: expect.objectContaining({
          metadata: { name: 'n', labels: { 'kubernetes.io/metadata.name': 'n' } },
        }),
      },
    ],
    [
      'a create without a name',
      'POST',
      configMaps,
      { metadata: { generateName: 'gen-' } },
      {
        objectRef: { resource: 'configmaps', namespace: 'default', apiVersion: 'v1' },
      },
    ],
    [
      'an update',
      'PUT',
      `${configMaps}/a`,
      { metadata: { name: 'a', uid: '' }, data: { k: '2' } },
      {
        requestObject: expect.objectContaining({ data: { k: '2' } }),
        responseStatus: status(200),
      },
    ],
    [
      'a body that is none',
      'POST',
      configMaps,
      '{bad',
      {
        requestObject: undefined,
        responseStatus: failure(400, 'BadRequest', 'unrecognized'),
      },
    ],
    [
      'what is invalid',
      'POST',
      configMaps,
      { metadata: { name: 'Bad_Name' } },
      {
        objectRef: expect.objectContaining({ name: 'Bad_Name' }),
        requestObject: expect.objectContaining({ metadata: { name: 'Bad_Name' } }),
        responseStatus: {
          ...failure(422, 'Invalid', 'is invalid'),
          details: expect.objectContaining({ kind: 'ConfigMap' }),
        },
      },
    ],
    [
      'a delete with options',
      'DELETE',
      `${configMaps}/a`,
      { propagationPolicy: 'Background' },
      {
        requestObject: { kind: 'DeleteOptions', apiVersion: 'meta.k8s.io/__internal', propagationPolicy: 'Background' },
        responseStatus: status(200, {
          status: 'Success',
          details: expect.objectContaining({ name: 'a', kind: 'configmaps' }),
        }),
        responseObject: expect.objectContaining({ kind: 'Status', status: 'Success' }),
      },
    ],
    ['a delete without', 'DELETE', `${configMaps}/a`, undefined, { requestObject: undefined }],
    [
      'a document of discovery',
      'GET',
      '/apis/apps/v1',
      undefined,
      {
        objectRef: undefined,
        responseObject: expect.objectContaining({ kind: 'APIResourceList' }),
      },
    ],
    ['the version', 'GET', '/version', undefined, { responseObject: undefined, responseStatus: status(200) }],
    [
      'a path that nobody serves',
      'GET',
      '/nothing',
      undefined,
      { responseObject: undefined, responseStatus: status(404) },
    ],
    [
      'a method that nobody serves',
      'OPTIONS',
      `${configMaps}/a`,
      undefined,
      { verb: '', responseStatus: expect.objectContaining({ code: 405 }) },
    ],
    [
      'what is deprecated',
      'GET',
      '/api/v1/endpoints',
      undefined,
      {
        annotations: {
          'authorization.k8s.io/decision': 'allow',
          'authorization.k8s.io/reason': '',
          'k8s.io/deprecated': 'true',
        },
      },
    ],
  ])('is recorded with its objects: %s', async (_, method, path, body, expected) => {
    const { send, ask } = await start();
    await send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    const events = await ask(method, path, { body });
    expect(events).toHaveLength(1);
    for (const [name, value] of Object.entries(expected)) expect(events[0]?.[name]).toEqual(value);
  });

  it.each([
    ['merge-patch+json', '{ "data": {\n "k": "3" } }', { data: { k: '3' } }],
    ['json-patch+json', '[{"op":"add","path":"/data","value":{}}]', [{ op: 'add', path: '/data', value: {} }]],
    [
      'apply-patch+yaml',
      'apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}',
      { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } },
    ],
    ['merge-patch+json', '{bad', undefined],
  ])('is recorded with its patch: %s %j', async (type, body, requestObject) => {
    const { send, ask } = await start();
    await send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    const headers = { 'content-type': `application/${type}` };
    const [event] = await ask('PATCH', `${configMaps}/a?fieldManager=m`, { headers, body });
    expect(event?.requestObject).toEqual(requestObject);
  });

  it.each([
    ['', 'ConfigMapList'],
    ['application/yaml', 'ConfigMapList'],
    ['application/vnd.kubernetes.protobuf', 'ConfigMapList'],
    ['application/json;as=Table;g=meta.k8s.io;v=v1', 'Table'],
    ['application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1', 'PartialObjectMetadataList'],
  ])('is recorded with its list in JSON, whatever was asked for: %s', async (accept, kind) => {
    const { send, ask } = await start();
    for (const name of ['a', 'b']) await send('POST', configMaps, { body: { metadata: { name } } });
    const [event] = await ask('GET', `${configMaps}?pretty=true`, { headers: { accept } });
    expect(event?.responseObject).toMatchObject({ kind });
    expect(event?.responseObject[kind === 'Table' ? 'rows' : 'items']).toHaveLength(2);
  });

  it.each(['configmaps', 'configmaps/a'])('leaves managed fields out when the policy says so: %s', async (path) => {
    const { send, events } = await start({ rules: [{ level: 'RequestResponse' }], omitManagedFields: true });
    const body = { metadata: { name: 'a', managedFields: [] }, data: { k: 'v' } };
    const created = await send('POST', configMaps, { body });
    expect(created.json.metadata.managedFields).toHaveLength(1);
    await send('GET', `/api/v1/namespaces/default/${path}`);
    expect(events).toHaveLength(4);
    expect(JSON.stringify(events)).not.toContain('managedFields');
  });

  it.each(['application/json', 'application/json;as=Table;v=v1;g=meta.k8s.io', 'application/yaml'])(
    'whose answer is too large is recorded without it: %s',
    async (accept) => {
      const { send, ask } = await start('RequestResponse', { maxObjectBytes: 4000 });
      const labels = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`label-${at}`, 'v'.repeat(60)]));
      for (const name of ['a', 'b', 'c']) await send('POST', configMaps, { body: { metadata: { name, labels } } });
      const [large] = await ask('GET', configMaps, { headers: { accept } });
      expect(large).toMatchObject({ level: 'RequestResponse', stage: 'ResponseComplete', responseStatus: status(200) });
      expect(large?.annotations).toMatchObject({ 'audit.k8s.io/truncated': 'true' });
      expect(large).not.toHaveProperty('responseObject');
      const [small] = await ask('GET', `${configMaps}?limit=1`);
      expect(small?.responseObject.items).toHaveLength(1);
      expect(small?.annotations).not.toHaveProperty(['audit.k8s.io/truncated']);
    },
  );

  it('whose object is too large is recorded without it, also without the one that came', async () => {
    const { ask } = await start('RequestResponse', { maxObjectBytes: 4000 });
    const body = { metadata: { name: 'a' }, data: { k: 'v'.repeat(5000) } };
    for (const [method, path] of [
      ['POST', configMaps],
      ['GET', `${configMaps}/a`],
    ] as const) {
      const [event] = await ask(method, path, method === 'POST' ? { body } : {});
      expect(event?.annotations).toMatchObject({ 'audit.k8s.io/truncated': 'true' });
      expect(event).not.toHaveProperty('requestObject');
      expect(event).not.toHaveProperty('responseObject');
    }
  });

  it('that takes long says where the time went, but for watches', async () => {
    const clock = new VirtualClock();
    const authorizer = {
      authorize: async () => {
        await clock.advance(700);
        return { decision: 'allow', reason: '' } as const;
      },
    };
    const { ask, stream, events } = await start('Metadata', { clock, authorizer });
    const [event] = await ask('GET', '/version');
    expect(event?.annotations).toMatchObject({
      'apiserver.latency.k8s.io/authorization': '700ms',
      'apiserver.latency.k8s.io/total': '700ms',
    });
    const watch = await stream(`${configMaps}?watch=1&timeoutSeconds=1`);
    const ended = watch.next();
    await clock.advance(1_000);
    await ended;
    const last = events.at(-1);
    expect([last?.verb, last?.stage, Object.keys(last?.annotations)]).toEqual([
      'watch',
      'ResponseComplete',
      ['authorization.k8s.io/decision', 'authorization.k8s.io/reason'],
    ]);
  });
});

describe('the level of a rule', () => {
  it.each([
    ['None', []],
    ['Metadata', []],
    ['Request', ['requestObject']],
    ['RequestResponse', ['requestObject', 'responseObject']],
  ] as const)('%s decides what is kept of a secret', async (level, kept) => {
    const { ask } = await start(level);
    const body = { metadata: { name: 's' }, data: { password: 'dG9wc2VjcmV0' } };
    const events = await ask('POST', '/api/v1/namespaces/default/secrets', { body });
    expect(events).toHaveLength(level === 'None' ? 0 : 1);
    for (const event of events) {
      expect(Object.keys(event).filter((name) => name.endsWith('Object'))).toEqual(kept);
      expect(event.objectRef.name).toBe('s');
    }
    expect(JSON.stringify(events).includes('dG9wc2VjcmV0')).toBe(kept.length > 0);
  });

  it('is counted, and its stages may be left out', async () => {
    const { send, events } = await start({ rules: [{ level: 'Metadata', omitStages: ['RequestReceived'] }] });
    await send('GET', '/version');
    expect(events.map(({ stage }) => stage)).toEqual(['ResponseComplete']);
    const { text } = await send('GET', '/metrics');
    expect(text).toContain('apiserver_audit_level_total{level="Metadata"} 2\n');
    expect(text).toContain('apiserver_audit_event_total 1\n');
  });
});

describe('who asks', () => {
  it('and is refused is recorded with the decision', async () => {
    const { ask } = await start('Metadata');
    const [event] = await ask('GET', `${configMaps}/a`, { headers: asAlice });
    expect(event).toMatchObject({
      user: alice,
      responseStatus: {
        ...failure(403, 'Forbidden', 'User "alice" cannot get'),
        details: { name: 'a', kind: 'configmaps' },
      },
      annotations: { 'authorization.k8s.io/decision': 'forbid', 'authorization.k8s.io/reason': '' },
    });
  });

  it('and is not known leaves one event, that of the refusal', async () => {
    const { send, events } = await start('Metadata');
    await send('GET', '/version', { headers: { authorization: 'Bearer nope' } });
    expect(events).toHaveLength(1);
    expect(events[0]).toMatchObject({
      stage: 'ResponseStarted',
      user: {},
      responseStatus: failure(401, 'Unauthorized', 'Unauthorized'),
    });
    await send('GET', '/version', { headers: { authorization: '' } });
    expect(events[2]?.user).toEqual({ username: 'system:anonymous', groups: ['system:unauthenticated'] });
  });

  it('as somebody else is recorded as both', async () => {
    const { ask } = await start('Metadata');
    const headers = { 'impersonate-user': 'bob', 'impersonate-group': 'g1', 'impersonate-extra-scopes': 'x' };
    const [event] = await ask('GET', `${configMaps}/a`, { headers });
    expect(event).toMatchObject({
      user: { username: 'admin' },
      impersonatedUser: { username: 'bob', groups: ['g1', 'system:authenticated'], extra: { scopes: ['x'] } },
    });
    const [refused] = await ask('GET', `${configMaps}/a`, { headers: { ...headers, ...asAlice } });
    expect(refused).not.toHaveProperty('impersonatedUser');
    expect(refused).not.toHaveProperty('annotations');
  });
});

describe('a watch', () => {
  it('is recorded when it begins and when it ends', async () => {
    const { stream, events } = await start('RequestResponse');
    const watch = await stream(`${configMaps}?watch=1&timeoutSeconds=1&fieldSelector=metadata.name%3Da`);
    expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseStarted']);
    expect(await watch.next()).toBeUndefined();
    expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
    expect(events[2]).toMatchObject({ verb: 'watch', objectRef: { name: 'a' }, responseStatus: status(200) });
  });

  it('is recorded once when its client goes away', async () => {
    const { stream, events } = await start('Metadata');
    const watch = await stream(`${configMaps}?watch=1`);
    watch.close();
    while (events.length < 3) await new Promise((resolve) => setImmediate(resolve));
    expect(events[2]).toMatchObject({ stage: 'ResponseComplete', responseStatus: status(200) });
  });
});

describe('what goes wrong', () => {
  it('in the server is a stage of its own', async () => {
    const { send, catalog, events } = await start('Metadata');
    const entry = catalog.find('', 'v1', 'configmaps');
    const broken = {
      ...entry,
      store: { ...entry?.store, list: () => (undefined as unknown as { a: () => never }).a() },
    };
    catalog.install(broken as never);
    expect((await send('GET', configMaps)).status).toBe(500);
    expect(events.map(({ stage }) => stage)).toEqual(['RequestReceived', 'Panic']);
    expect(events[1]?.responseStatus).toEqual(failure(500, 'InternalError', "APIServer panic'd: "));
  });

  const append = async (): Promise<never> => {
    throw new Error('no space left on device');
  };

  it.each(['blocking', 'batch'] as const)('in the log stops no request: %s', async (mode) => {
    const { send } = await start('Metadata', { mode, append });
    expect((await send('GET', '/version')).status).toBe(200);
    const { text } = await send('GET', '/metrics');
    expect(text).toMatch(/apiserver_audit_error_total\{plugin="log"\} [2-4]\n/);
  });

  it('in the log stops requests in mode blocking-strict, and is counted', async () => {
    const { send } = await start(
      { rules: [{ level: 'None', nonResourceURLs: ['/metrics'] }, { level: 'Metadata' }] },
      { mode: 'blocking-strict', append },
    );
    const refused = await send('GET', '/version');
    expect(refused).toMatchObject({
      status: 500,
      text: 'Internal Server Error: "/version": failed to store audit event\n',
    });
    expect((await send('GET', '/metrics')).text).toContain('apiserver_audit_requests_rejected_total 1\n');
  });
});

// Unusual paths and headers, answered as recorded from a kube-apiserver 1.36.

import { bearerAuthenticator, mastersAuthorizer } from '@kapstan/apiserver';
import type { TestServer } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

let server: TestServer;
beforeAll(async () => {
  server = await startKubernetesServer(openLmdbEngine);
});
afterAll(() => server.close());

const text = 'text/plain; charset=utf-8';
const json = 'application/json';
const noKind = (path: string): string =>
  `Internal Server Error: "${path}": failed to create RequestInfo: unable to determine kind and namespace from url, ${path}\n`;

describe('a path', () => {
  it.each([
    ['/api/v1/watch', 500, text, noKind('/api/v1/watch')],
    ['/apis/apps/v1/watch/', 500, text, noKind('/apis/apps/v1/watch/')],
    ['/version/x', 404, json, '"message":"the server could not find the requested resource"'],
    ['/apis//v1', 404, text, '404 page not found\n'],
    ['/apis//', 404, text, '404 page not found\n'],
    ['/apis///', 404, text, '404 page not found\n'],
    ['/apis//apps/v1', 404, text, '404 page not found\n'],
    ['/apis//apps/v1/deployments', 404, text, '404 page not found\n'],
    ['/apis/', 200, json, '"kind":"APIGroupList"'],
    ['/api//', 200, json, '"kind":"APIVersions"'],
    ['/version//', 200, json, '"major":"1"'],
    ['/api/v1/namespaces/default/pods//log', 400, json, '"message":"name must be provided"'],
    [
      '/api/v1/namespaces/default/pods/x//log',
      404,
      json,
      '"message":"the server could not find the requested resource"',
    ],
    ['/api/v1/namespaces/default/configmaps/a%ffb', 404, json, '"message":"configmaps \\"a\\\\xffb\\" not found"'],
    ['/api/v1/namespaces/default/configmaps/%c3%28', 404, json, '"name":"\ufffd("'],
    ['/api/v1/namespaces/default/configmaps/%zz', 400, text, ''],
    ['/healthz/log', 200, text, 'ok'],
    ['/livez/log', 200, text, 'ok'],
    ['/metrics/slis', 200, 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores', ''],
  ])('%s', async (path, status, type, part) => {
    const answer = await server.send('GET', path);
    expect([answer.status, answer.headers['content-type']]).toEqual([status, type]);
    if (type === json) expect(JSON.stringify(answer.json)).toContain(part);
    else expect(answer.text).toContain(part);
  });

  it.each(['/openapi/v2', '/openapi/v3/apis/apps/v1'])(
    '%s says whose interface it describes, not which build',
    async (path) => {
      expect((await server.send('GET', path)).json.info).toEqual({ title: 'Kubernetes', version: '1.36' });
    },
  );

  it('of the version is answered in JSON, whatever is liked better', async () => {
    const accept = 'application/json;q=0.1, application/yaml';
    const { headers, json: version } = await server.send('GET', '/version', { headers: { accept } });
    expect([headers['content-type'], version.minor]).toEqual([json, '36']);
  });
});

it.each([
  ['', ['b', 'c']],
  ['&limit=1', ['b']],
])('a list goes on behind a forged name of 50 KB, and shows no key of the store%s', async (limit, names) => {
  const path = '/api/v1/namespaces/forged/configmaps';
  for (const name of ['b', 'c']) {
    const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name } };
    await server.send('POST', path, { body });
  }
  const position = { v: 'meta.k8s.io/v1', rv: -1, start: 'a'.repeat(50_000) };
  const token = Buffer.from(JSON.stringify(position)).toString('base64url');
  const { status, text: shown, json: list } = await server.send('GET', `${path}?continue=${token}${limit}`);
  const found = list.items.map(({ metadata }: { metadata: { name: string } }) => metadata.name);
  expect([status, found]).toEqual([200, names]);
  const next = Buffer.from(list.metadata.continue ?? '', 'base64url').toString();
  expect(`${shown}${next}`).not.toContain('/registry');
});

describe('a body', () => {
  const path = '/api/v1/namespaces/default/configmaps?dryRun=All';
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'a' } };
  it.each([
    ['application/json; foo', 415],
    ['application/json; a b=c', 415],
    ['application/json; charset=utf-8', 201],
    ['application/json; charset="utf-8";', 201],
    ['application/json;', 201],
  ])('of type %s is %d', async (type, expected) => {
    const { status } = await server.send('POST', path, { body, headers: { 'content-type': type } });
    expect(status).toBe(expected);
  });

  it('that is created in play has no version as a Table', async () => {
    const headers = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io' };
    const { status, json: table } = await server.send('POST', path, { body, headers });
    expect([status, table.kind, table.metadata]).toEqual([201, 'Table', {}]);
  });

  it('that is JSON and said to be protobuf is quoted as text', async () => {
    const headers = { 'content-type': 'application/vnd.kubernetes.protobuf' };
    const { status, json: refusal } = await server.send('POST', path, { body, headers });
    expect([status, refusal.message]).toEqual([
      400,
      'the object provided is unrecognized (must be of type ConfigMap): provided data does not appear to be a protobuf message, expected prefix [107 56 115 0] ({"apiVersion":"v1","kind":"Con ...)',
    ]);
  });

  it('is refused for a manager that cannot be printed, in the spelling of Go', async () => {
    const { status, json: refusal } = await server.send('POST', `${path}&fieldManager=a%00b`, { body });
    expect([status, refusal.message]).toEqual([
      422,
      'CreateOptions.meta.k8s.io "" is invalid: fieldManager: Invalid value: "a\\x00b": invalid character U+0000 (at position 1)',
    ]);
  });
});

it('an owner who is named twice is told of before admission, but of a patch after it', async () => {
  const path = '/api/v1/namespaces/default/configmaps';
  const owner = { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' };
  const metadata = { name: 'owned', ownerReferences: [owner, owner] };
  const body = { apiVersion: 'v1', kind: 'ConfigMap', metadata };
  const patch = (type: string) => ({ body, headers: { 'content-type': type } });
  const answers = [
    await server.send('POST', path, { body }),
    await server.send('PUT', `${path}/owned`, { body }),
    await server.send('PATCH', `${path}/owned`, patch('application/merge-patch+json')),
  ];
  const seen = answers.map(({ headers, json: { metadata: meta } }) => [
    String(headers.warning).includes('after mutating admission happens'),
    meta.ownerReferences,
  ]);
  expect(seen).toEqual([
    [false, [owner]],
    [false, [owner]],
    [true, [owner]],
  ]);
  expect(answers.every(({ headers }) => headers.warning !== undefined)).toBe(true);
});

it('a secret for TLS whose key does not fit is taken with a warning', async () => {
  const stringData = { 'tls.crt': 'x', 'tls.key': 'y' };
  const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name: 't' }, type: 'kubernetes.io/tls', stringData };
  const { status, headers } = await server.send('POST', '/api/v1/namespaces/default/secrets', { body });
  expect([status, headers.warning]).toEqual([201, '299 - "tls: failed to find any PEM data in certificate input"']);
});

it('who is nobody is refused what he asked for, and told that a token behind two spaces is none', async () => {
  const authenticators = [bearerAuthenticator({ apiAudiences: [], authenticators: [] })];
  const strict = await startKubernetesServer(openLmdbEngine, {
    authorizer: mastersAuthorizer,
    authentication: { authenticators, anonymous: true },
  });
  try {
    const warning =
      '299 - "the provided Authorization header contains extra space before the bearer token, and is ignored"';
    const headers = { authorization: 'Bearer  token' };
    for (const path of ['/healthz', '/nope', '/api/v1/pods']) {
      const answer = await strict.send('GET', path, { headers });
      expect([path, answer.status, answer.headers.warning]).toEqual([path, 403, warning]);
    }
    // The path has no resource here, so the answer names none.
    expect((await strict.send('GET', '/api/v1//configmaps', { headers })).json.details).toEqual({ name: 'configmaps' });
  } finally {
    await strict.close();
  }
});

it('who writes what nobody enforces is warned of it, and who reads it or writes another part is not', async () => {
  const writeWarnings = new Map([['resourcequotas', 'resourcequotas have no effect']]);
  const on = await startKubernetesServer(openLmdbEngine, { writeWarnings });
  try {
    const path = '/api/v1/namespaces/default/resourcequotas';
    const body = { apiVersion: 'v1', kind: 'ResourceQuota', metadata: { name: 'q' }, spec: { hard: { pods: '1' } } };
    const merge = {
      body: { metadata: { labels: { a: 'b' } } },
      headers: { 'content-type': 'application/merge-patch+json' },
    };
    const answers = {
      created: await on.send('POST', path, { body }),
      patched: await on.send('PATCH', `${path}/q`, merge),
      read: await on.send('GET', `${path}/q`),
      status: await on.send('PATCH', `${path}/q/status`, merge),
      other: await on.send('POST', '/api/v1/namespaces/default/configmaps', {
        body: { ...body, kind: 'ConfigMap', spec: undefined },
      }),
      deleted: await on.send('DELETE', `${path}/q`),
    };
    const warning = '299 - "resourcequotas have no effect"';
    const seen = Object.entries(answers).map(([name, { headers }]) => [name, headers.warning]);
    expect(Object.fromEntries(seen)).toEqual({ created: warning, patched: warning });
  } finally {
    await on.close();
  }
});

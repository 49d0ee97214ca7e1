// Tests that the same request over HTTP and through the in-process client gets the same refusal, member by member.
import { isStatusError, type KubernetesObject, type Resource, resource } from '@kapstan/api';
import { FieldManager, InProcessClient, objectPatching } from '@kapstan/apiserver';
import { defaultStrategy } from '@kapstan/apiserver/internal';
import type { TestRequest, TestServer } from '@kapstan/apiserver/testing';
import { testDefinition } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { lastValueFrom } from 'rxjs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { virtualResource } from '../builtin/virtual-resource.ts';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

type Any = KubernetesObject & Record<string, unknown>;
interface HttpCall extends TestRequest {
  readonly send: readonly [method: string, path: string];
}
type Row = readonly [name: string, inProcess: (client: InProcessClient) => Promise<unknown>, http: HttpCall];

const token = (group: string, kind: string, scope?: 'Cluster'): Resource<Any> =>
  resource<Any>({ group, version: 'v1', kind, scope });
const ConfigMap = token('', 'ConfigMap');
const Namespace = token('', 'Namespace', 'Cluster');
const Deployment = token('apps', 'Deployment');
// Resources with wrong names: the client passes them on, and the server refuses them.
const Lost = token('', 'ConfigMap', 'Cluster');
const Other = resource<Any>({ group: '', version: 'v1', kind: 'Secret', plural: 'configmaps' });
const Widget = token('x.io', 'Widget');
const Review = resource<Any>({
  group: 'authorization.k8s.io',
  version: 'v1',
  kind: 'SubjectAccessReview',
  scope: 'Cluster',
});

const maps = '/api/v1/namespaces/default/configmaps';
const deployments = '/apis/apps/v1/namespaces/default/deployments';
const widgets = '/apis/x.io/v1/namespaces/default/widgets';
const patchType = (type: string) => ({ 'content-type': `application/${type}` });
const merge = patchType('merge-patch+json');
const json = patchType('json-patch+json');
const strategic = patchType('strategic-merge-patch+json');
const apply = patchType('apply-patch+yaml');

const a = { name: 'a', namespace: 'default' };
const inDefault = { namespace: a.namespace };
const map = (metadata: Any['metadata'] = a, more: object = {}): Any => ({
  apiVersion: 'v1',
  kind: 'ConfigMap',
  metadata: { ...metadata },
  ...more,
});
const widget = (metadata: Any['metadata'] = a, more: object = {}): Any => ({
  apiVersion: 'x.io/v1',
  kind: 'Widget',
  metadata: { ...metadata },
  ...more,
});

const reads: readonly Row[] = [
  ['get: missing', (c) => c.get(ConfigMap, { ...a, name: 'no' }), { send: ['GET', `${maps}/no`] }],
  [
    'get: bad version',
    (c) => c.get(ConfigMap, a, { resourceVersion: 'x' }),
    { send: ['GET', `${maps}/a?resourceVersion=x`] },
  ],
  ['get: no namespace', (c) => c.get(Lost, { name: 'a' }), { send: ['GET', '/api/v1/configmaps/a'] }],
  ['get: unknown part', (c) => c.get(ConfigMap, a, { subresource: 'x' }), { send: ['GET', `${maps}/a/x`] }],
  [
    'get: unknown part of a custom kind',
    (c) => c.get(Widget, a, { subresource: 'x' }),
    { send: ['GET', `${widgets}/a/x`] },
  ],
  [
    'get: scale of a missing one',
    (c) => c.get(Deployment, a, { subresource: 'scale' }),
    { send: ['GET', `${deployments}/a/scale`] },
  ],
  [
    'get: of what is only created',
    (c) => c.get(Review, { name: 'a' }),
    { send: ['GET', '/apis/authorization.k8s.io/v1/subjectaccessreviews/a'] },
  ],
  [
    'list: of what is only created',
    (c) => c.listPage(Review),
    { send: ['GET', '/apis/authorization.k8s.io/v1/subjectaccessreviews'] },
  ],
  [
    'list: bad labels',
    (c) => c.listPage(ConfigMap, { ...inDefault, labelSelector: '!!' }),
    { send: ['GET', `${maps}?labelSelector=!!`] },
  ],
  [
    'list: bad fields',
    (c) => c.listPage(ConfigMap, { ...inDefault, fieldSelector: 'data.x=1' }),
    { send: ['GET', `${maps}?fieldSelector=data.x%3D1`] },
  ],
  [
    'list: a match without a version',
    (c) => c.listPage(ConfigMap, { ...inDefault, resourceVersionMatch: 'Exact' }),
    { send: ['GET', `${maps}?resourceVersionMatch=Exact`] },
  ],
  [
    'list: bad version',
    (c) => c.listPage(ConfigMap, { ...inDefault, resourceVersion: 'x' }),
    { send: ['GET', `${maps}?resourceVersion=x`] },
  ],
  [
    'list: bad token',
    (c) => c.listPage(ConfigMap, { ...inDefault, limit: 1, continue: 'x' }),
    { send: ['GET', `${maps}?limit=1&continue=x`] },
  ],
  [
    'watch: initial events without a match',
    (c) => lastValueFrom(c.listerWatcher(ConfigMap).watch({ ...inDefault, sendInitialEvents: true })),
    { send: ['GET', `${maps}?watch=1&sendInitialEvents=true`] },
  ],
  [
    'watch: bad fields',
    (c) => lastValueFrom(c.listerWatcher(ConfigMap).watch({ ...inDefault, fieldSelector: 'data.x=1' })),
    { send: ['GET', `${maps}?watch=1&fieldSelector=data.x%3D1`] },
  ],
];

const creates: readonly Row[] = [
  ['create: there already', (c) => c.create(ConfigMap, map()), { send: ['POST', maps], body: map() }],
  [
    'create: no namespace',
    (c) => c.create(Lost, map({ name: 'b' })),
    { send: ['POST', '/api/v1/configmaps'], body: map({ name: 'b' }) },
  ],
  [
    'create: no name',
    (c) => c.create(ConfigMap, map({ namespace: 'default' })),
    { send: ['POST', maps], body: map({}) },
  ],
  [
    'create: bad name',
    (c) => c.create(ConfigMap, map({ ...a, name: 'A_' })),
    { send: ['POST', maps], body: map({ name: 'A_' }) },
  ],
  [
    'create: with a version',
    (c) => c.create(ConfigMap, map({ ...a, name: 'b', resourceVersion: '5' })),
    { send: ['POST', maps], body: map({ name: 'b', resourceVersion: '5' }) },
  ],
  [
    'create: wrong type',
    (c) => c.create(ConfigMap, map(a, { data: { k: 1 } })),
    { send: ['POST', maps], body: map(a, { data: { k: 1 } }) },
  ],
  [
    'create: unknown field, strict',
    (c) => c.create(ConfigMap, map(a, { x: 1 }), { fieldValidation: 'Strict' }),
    { send: ['POST', `${maps}?fieldValidation=Strict`], body: map(a, { x: 1 }) },
  ],
  [
    'create: bad manager and validation',
    (c) => c.create(ConfigMap, map(), { fieldManager: 'x\n'.repeat(100), fieldValidation: 'Maybe' as never }),
    { send: ['POST', `${maps}?fieldManager=${'x%0A'.repeat(100)}&fieldValidation=Maybe`], body: map() },
  ],
  [
    'create: another kind',
    (c) => c.create(Other, { ...map(), kind: 'Secret' }),
    { send: ['POST', maps], body: { ...map(), kind: 'Secret' } },
  ],
  [
    'create: a part that takes none',
    (c) => c.createSubresource(ConfigMap, { ...a, subresource: 'x' }, { body: map() }),
    { send: ['POST', `${maps}/a/x`], body: map() },
  ],
  [
    'create: a status',
    (c) => c.createSubresource(Namespace, { name: 'default', subresource: 'status' }, { body: { metadata: {} } }),
    { send: ['POST', '/api/v1/namespaces/default/status'], body: { metadata: {} } },
  ],
];

const updates: readonly Row[] = [
  [
    'update: missing',
    (c) => c.update(ConfigMap, map({ ...a, name: 'no' })),
    { send: ['PUT', `${maps}/no`], body: map({ name: 'no' }) },
  ],
  [
    'update: a stale version',
    (c) => c.update(ConfigMap, map({ ...a, resourceVersion: '1' })),
    { send: ['PUT', `${maps}/a`], body: map({ ...a, resourceVersion: '1' }) },
  ],
  [
    'update: a bad version',
    (c) => c.update(ConfigMap, map({ ...a, resourceVersion: 'x' })),
    { send: ['PUT', `${maps}/a`], body: map({ ...a, resourceVersion: 'x' }) },
  ],
  [
    'update: another uid',
    (c) => c.update(ConfigMap, map({ ...a, uid: 'x' })),
    { send: ['PUT', `${maps}/a`], body: map({ ...a, uid: 'x' }) },
  ],
  [
    'update: no version where one is needed',
    (c) => c.update(Widget, widget()),
    { send: ['PUT', `${widgets}/a`], body: widget() },
  ],
  [
    'update: no namespace',
    (c) => c.update(Lost, map({ name: 'a' })),
    { send: ['PUT', '/api/v1/configmaps/a'], body: map({ name: 'a' }) },
  ],
  [
    'update: scale of a missing one',
    (c) => c.update(Deployment, { metadata: a, spec: { replicas: 1 } }, { subresource: 'scale' }),
    { send: ['PUT', `${deployments}/a/scale`], body: { metadata: a, spec: { replicas: 1 } } },
  ],
  [
    'update: a part that is not there',
    (c) => c.update(ConfigMap, map(), { subresource: 'status' }),
    { send: ['PUT', `${maps}/a/status`], body: map() },
  ],
  [
    'update: a stale version, dry run',
    (c) => c.update(ConfigMap, map({ ...a, resourceVersion: '1' }), { dryRun: true }),
    { send: ['PUT', `${maps}/a?dryRun=All`], body: map({ ...a, resourceVersion: '1' }) },
  ],
];

const nameChange = { metadata: { name: 'other' } };
const namespaceChange = { metadata: { namespace: 'other' } };
const patches: readonly Row[] = [
  [
    'patch: missing',
    (c) => c.patch(ConfigMap, { ...a, name: 'no' }, { type: 'merge', body: {} }),
    { send: ['PATCH', `${maps}/no`], headers: merge, body: {} },
  ],
  [
    'patch: another name',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: nameChange }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: nameChange },
  ],
  [
    'patch: no name',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: { metadata: { name: null } } }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: { metadata: { name: null } } },
  ],
  [
    'patch: another namespace',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: namespaceChange }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: namespaceChange },
  ],
  [
    'patch: wrong type',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: { data: { k: 1 } } }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: { data: { k: 1 } } },
  ],
  [
    'patch: no object',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: [1] }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: [1] },
  ],
  [
    'patch: a failed test',
    (c) => c.patch(ConfigMap, a, { type: 'json', body: [{ op: 'test', path: '/data/k', value: 'no' }] }),
    { send: ['PATCH', `${maps}/a`], headers: json, body: [{ op: 'test', path: '/data/k', value: 'no' }] },
  ],
  [
    'patch: an unknown operation',
    (c) => c.patch(ConfigMap, a, { type: 'json', body: [{ op: 'x' }] }),
    { send: ['PATCH', `${maps}/a`], headers: json, body: [{ op: 'x' }] },
  ],
  [
    'patch: strategic, bad directive',
    (c) => c.patch(ConfigMap, a, { type: 'strategic', body: { data: { $patch: 'x' } } }),
    { send: ['PATCH', `${maps}/a`], headers: strategic, body: { data: { $patch: 'x' } } },
  ],
  [
    'patch: strategic on a custom kind',
    (c) => c.patch(Widget, a, { type: 'strategic', body: {} }),
    { send: ['PATCH', `${widgets}/a`], headers: strategic, body: {} },
  ],
  [
    'patch: a stale version',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: { metadata: { resourceVersion: '1' } } }),
    { send: ['PATCH', `${maps}/a`], headers: merge, body: { metadata: { resourceVersion: '1' } } },
  ],
  [
    'patch: unknown part',
    (c) => c.patch(ConfigMap, a, { type: 'merge', body: {} }, { subresource: 'x' }),
    { send: ['PATCH', `${maps}/a/x`], headers: merge, body: {} },
  ],
  [
    'patch: scale of a missing one',
    (c) => c.patch(Deployment, a, { type: 'merge', body: {} }, { subresource: 'scale' }),
    { send: ['PATCH', `${deployments}/a/scale`], headers: merge, body: {} },
  ],
  [
    'apply: a conflict',
    (c) => c.apply(ConfigMap, map(a, { data: { k: 'mine' } }), { fieldManager: 'm' }),
    { send: ['PATCH', `${maps}/a?fieldManager=m`], headers: apply, body: map(a, { data: { k: 'mine' } }) },
  ],
  [
    'apply: an unknown field',
    (c) => c.apply(ConfigMap, map(a, { x: 1 }), { fieldManager: 'm' }),
    { send: ['PATCH', `${maps}/a?fieldManager=m`], headers: apply, body: map(a, { x: 1 }) },
  ],
  [
    'apply: to scale',
    (c) => c.apply(Deployment, { metadata: a }, { fieldManager: 'm', subresource: 'scale' }),
    { send: ['PATCH', `${deployments}/a/scale?fieldManager=m`], headers: apply, body: { metadata: a } },
  ],
  [
    'apply: the status of a missing one',
    (c) => c.apply(Deployment, { metadata: a }, { fieldManager: 'm', subresource: 'status' }),
    {
      send: ['PATCH', `${deployments}/a/status?fieldManager=m`],
      headers: apply,
      body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: a },
    },
  ],
];

const deletes: readonly Row[] = [
  ['delete: missing', (c) => c.delete(ConfigMap, { ...a, name: 'no' }), { send: ['DELETE', `${maps}/no`] }],
  ['delete: no namespace', (c) => c.delete(Lost, { name: 'a' }), { send: ['DELETE', '/api/v1/configmaps/a'] }],
  [
    'delete: another uid',
    (c) => c.delete(ConfigMap, a, { preconditions: { uid: 'x' } }),
    { send: ['DELETE', `${maps}/a`], body: { preconditions: { uid: 'x' } } },
  ],
  [
    'delete: unknown propagation, dry run',
    (c) => c.delete(ConfigMap, a, { propagationPolicy: 'Sideways' as never, dryRun: true }),
    { send: ['DELETE', `${maps}/a?propagationPolicy=Sideways&dryRun=All`] },
  ],
  [
    'delete: what is only created',
    (c) => c.delete(Review, { name: 'a' }),
    { send: ['DELETE', '/apis/authorization.k8s.io/v1/subjectaccessreviews/a'] },
  ],
  [
    'deletecollection: all namespaces',
    (c) => c.deleteCollection(ConfigMap),
    { send: ['DELETE', '/api/v1/configmaps'] },
  ],
  ['deletecollection: namespaces', (c) => c.deleteCollection(Namespace), { send: ['DELETE', '/api/v1/namespaces'] }],
  [
    'deletecollection: bad labels',
    (c) => c.deleteCollection(ConfigMap, { ...inDefault, labelSelector: '!!' }),
    { send: ['DELETE', `${maps}?labelSelector=!!`] },
  ],
  [
    'deletecollection: a match without a version',
    (c) => c.deleteCollection(ConfigMap, { ...inDefault, resourceVersionMatch: 'Exact' }),
    { send: ['DELETE', `${maps}?resourceVersionMatch=Exact`] },
  ],
];

let server: TestServer;
let client: InProcessClient;
beforeAll(async () => {
  const wanted = ['configmaps', 'namespaces', 'deployments', 'subjectaccessreviews'];
  const custom = testDefinition({
    group: 'x.io',
    resource: 'widgets',
    kind: 'Widget',
    listKind: 'WidgetList',
    isCustom: true,
    schema: { preserveUnknownFields: true },
    strategy: defaultStrategy,
  });
  const definitions = [...builtinResources().filter(({ resource: name }) => wanted.includes(name)), custom];
  server = await startKubernetesServer(openLmdbEngine, { definitions });
  server.catalog.install(virtualResource({ id: 'authorization.k8s.io/v1/subjectaccessreviews', answer: (o) => o }));
  client = new InProcessClient({
    catalog: server.catalog,
    user: { name: 'admin', groups: ['system:masters'] },
    fieldManager: 'tester',
    patching: objectPatching(new FieldManager()),
  });
  await client.create(Namespace, { metadata: { name: 'default' } });
  await client.create(ConfigMap, map(a, { data: { k: 'v' } }));
  await client.create(Widget, widget());
});
afterAll(() => server.close());

async function refusedInProcess(call: Promise<unknown>): Promise<unknown> {
  const error = await call.then(
    (answer) => ({ answer }),
    (reason: unknown) => reason,
  );
  return isStatusError(error)
    ? JSON.parse(JSON.stringify(error.status, (_, value) => (value === '' ? undefined : value)))
    : error;
}

describe.each([
  ['reads', reads],
  ['creates', creates],
  ['updates', updates],
  ['patches', patches],
  ['deletes', deletes],
] as const)('%s are refused alike in process and over HTTP', (_, rows) => {
  it.each(rows)('%s', async (_name, inProcess, { send: [method, path], ...request }) => {
    const answer = await server.send(method, path, request);
    expect(answer.status).toBeGreaterThanOrEqual(400);
    expect(await refusedInProcess(inProcess(client))).toEqual(answer.json);
  });
});

import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bind, createToken, evict, getScale, updateScale } from './subresources.ts';
import { json, ScriptedServer } from './testing/scripted-server.ts';
import { WireClient as Client } from './testing/wire-client.ts';

interface ConfigMap extends KubernetesObject {
  data?: Record<string, string>;
}
const ConfigMap = resource<ConfigMap>({ group: '', version: 'v1', kind: 'ConfigMap' });
const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const Deployment = resource({ group: 'apps', version: 'v1', kind: 'Deployment' });

const answered = {
  kind: 'ConfigMap',
  apiVersion: 'v1',
  metadata: { name: 'a', namespace: 'n', resourceVersion: '7' },
  data: { x: '1' },
};
const target = { namespace: 'n', name: 'a' };

describe('Client', () => {
  let server: ScriptedServer;
  let client: Client;
  beforeEach(async () => {
    server = await ScriptedServer.start();
    client = new Client({ server: server.url, token: 't' });
  });
  afterEach(async () => {
    await client.close();
    await server[Symbol.asyncDispose]();
  });

  describe('verbs', () => {
    const cm = (): ConfigMap => ({ metadata: { name: 'a', namespace: 'n' }, data: { x: '1' } });
    const cases: readonly [string, () => Promise<unknown>, { line: string; type?: string; body?: unknown }][] = [
      ['get', () => client.get(ConfigMap, target), { line: 'GET /api/v1/namespaces/n/configmaps/a' }],
      [
        'get of a version',
        () => client.get(ConfigMap, target, { resourceVersion: '0' }),
        { line: 'GET /api/v1/namespaces/n/configmaps/a?resourceVersion=0' },
      ],
      [
        'get of a subresource',
        () => client.get(Deployment, target, { subresource: 'scale' }),
        { line: 'GET /apis/apps/v1/namespaces/n/deployments/a/scale' },
      ],
      [
        'get of a cluster-scoped object',
        () => client.get(Node, { name: 'system:x' }),
        { line: 'GET /api/v1/nodes/system%3Ax' },
      ],
      [
        'create',
        () => client.create(ConfigMap, cm(), { fieldManager: 'me', dryRun: true, fieldValidation: 'Strict' }),
        {
          line: 'POST /api/v1/namespaces/n/configmaps?dryRun=All&fieldManager=me&fieldValidation=Strict',
          type: 'application/json',
          body: { apiVersion: 'v1', kind: 'ConfigMap', ...cm() },
        },
      ],
      [
        'update',
        () => client.update(ConfigMap, cm()),
        {
          line: 'PUT /api/v1/namespaces/n/configmaps/a',
          type: 'application/json',
          body: { apiVersion: 'v1', kind: 'ConfigMap', ...cm() },
        },
      ],
      [
        'update of the status',
        () => client.update(Deployment, { metadata: target }, { subresource: 'status' }),
        {
          line: 'PUT /apis/apps/v1/namespaces/n/deployments/a/status',
          type: 'application/json',
          body: { apiVersion: 'apps/v1', kind: 'Deployment', metadata: target },
        },
      ],
      [
        'update of the scale, whose kind is its own',
        () =>
          client.update(
            Deployment,
            { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: target },
            { subresource: 'scale' },
          ),
        {
          line: 'PUT /apis/apps/v1/namespaces/n/deployments/a/scale',
          type: 'application/json',
          body: { apiVersion: 'autoscaling/v1', kind: 'Scale', metadata: target },
        },
      ],
      [
        'merge patch',
        () => client.patch(ConfigMap, target, { type: 'merge', body: { data: null } }),
        { line: 'PATCH /api/v1/namespaces/n/configmaps/a', type: 'application/merge-patch+json', body: { data: null } },
      ],
      [
        'JSON patch',
        () =>
          client.patch(
            ConfigMap,
            target,
            { type: 'json', body: [{ op: 'remove', path: '/data' }] },
            { fieldManager: 'me' },
          ),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me',
          type: 'application/json-patch+json',
          body: [{ op: 'remove', path: '/data' }],
        },
      ],
      [
        'mergePatch()',
        () => client.mergePatch(ConfigMap, target, { data: null }, { dryRun: true }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?dryRun=All',
          type: 'application/merge-patch+json',
          body: { data: null },
        },
      ],
      [
        'jsonPatch()',
        () => client.jsonPatch(ConfigMap, target, [{ op: 'remove', path: '/data' }], { fieldManager: 'me' }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me',
          type: 'application/json-patch+json',
          body: [{ op: 'remove', path: '/data' }],
        },
      ],
      [
        'strategicPatch() of the status',
        () => client.strategicPatch(Deployment, target, { x: 1 }, { subresource: 'status' }),
        {
          line: 'PATCH /apis/apps/v1/namespaces/n/deployments/a/status',
          type: 'application/strategic-merge-patch+json',
          body: { x: 1 },
        },
      ],
      [
        'strategic patch',
        () => client.patch(Deployment, target, { type: 'strategic', body: {} }, { subresource: 'status' }),
        {
          line: 'PATCH /apis/apps/v1/namespaces/n/deployments/a/status',
          type: 'application/strategic-merge-patch+json',
          body: {},
        },
      ],
      [
        'apply',
        () =>
          client.apply(ConfigMap, cm(), {
            fieldManager: 'me',
            force: true,
            owner: { apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' },
          }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me&force=true',
          type: 'application/apply-patch+yaml',
          body: {
            apiVersion: 'v1',
            kind: 'ConfigMap',
            metadata: { ...cm().metadata, ownerReferences: [{ apiVersion: 'v1', kind: 'Pod', name: 'p', uid: 'u' }] },
            data: { x: '1' },
          },
        },
      ],
      ['delete', () => client.delete(ConfigMap, target), { line: 'DELETE /api/v1/namespaces/n/configmaps/a' }],
      [
        'delete with options',
        () =>
          client.delete(ConfigMap, target, {
            gracePeriodSeconds: 0,
            preconditions: { uid: 'u' },
            propagationPolicy: 'Foreground',
            dryRun: true,
          }),
        {
          line: 'DELETE /api/v1/namespaces/n/configmaps/a',
          type: 'application/json',
          body: {
            kind: 'DeleteOptions',
            apiVersion: 'v1',
            gracePeriodSeconds: 0,
            preconditions: { uid: 'u' },
            propagationPolicy: 'Foreground',
            dryRun: ['All'],
          },
        },
      ],
      [
        'deleteCollection',
        () => client.deleteCollection(ConfigMap, { namespace: 'n', labelSelector: 'a=b', propagationPolicy: 'Orphan' }),
        {
          line: 'DELETE /api/v1/namespaces/n/configmaps?labelSelector=a%3Db',
          type: 'application/json',
          body: { kind: 'DeleteOptions', apiVersion: 'v1', propagationPolicy: 'Orphan' },
        },
      ],
      [
        'createSubresource',
        () =>
          client.createSubresource(
            ConfigMap,
            { ...target, subresource: 'eviction' },
            { body: { kind: 'Eviction', apiVersion: 'policy/v1' } },
          ),
        {
          line: 'POST /api/v1/namespaces/n/configmaps/a/eviction',
          type: 'application/json',
          body: { kind: 'Eviction', apiVersion: 'policy/v1' },
        },
      ],
    ];
    it.each(cases)('sends %s as kubectl would', async (_, call, expected) => {
      server.always(json(answered));
      const result = await call();
      if (result !== undefined) expect(result).toEqual(answered);
      const { method, path, query, headers, body } = server.last;
      const search = new URLSearchParams(query).toString();
      expect(`${method} ${path}${search === '' ? '' : `?${search}`}`).toBe(expected.line);
      expect(headers['content-type']).toBe(expected.type);
      expect(headers.accept).toBe('application/json');
      expect(headers.authorization).toBe('Bearer t');
      expect(body === '' ? undefined : JSON.parse(body)).toEqual(expected.body);
    });
  });

  describe('refuses before it asks anybody', () => {
    const noToken = /^a call takes a resource, such as Pod of '@kapstan\/kinds\/core\/v1' .*, not /;
    const object = { metadata: target };
    it.each<[string, (token: never) => Promise<unknown>]>([
      ['get', (token) => client.get(token, target)],
      ['list', (token) => Promise.resolve(client.list(token))],
      ['create', (token) => client.create(token, object)],
      ['update', (token) => client.update(token, object)],
      ['patch', (token) => client.patch(token, target, { type: 'merge', body: {} })],
      ['apply', (token) => client.apply(token, object, { fieldManager: 'me' })],
      ['delete', (token) => client.delete(token, target)],
      ['deleteCollection', (token) => client.deleteCollection(token)],
      ['watch', async (token) => client.watch(token)],
    ])('%s of what is no token', async (_, call) => {
      for (const wrong of ['pods', undefined, null, {}, class Pod {}])
        await expect(call(wrong as never)).rejects.toThrow(noToken);
      expect(server.requests).toHaveLength(0);
    });

    it.each<[string, (object: KubernetesObject) => Promise<unknown>]>([
      ['create', (wrong) => client.create(Deployment, wrong)],
      ['update', (wrong) => client.update(Deployment, wrong)],
      ['update of the status', (wrong) => client.update(Deployment, wrong, { subresource: 'status' })],
      ['apply', (wrong) => client.apply(Deployment, wrong, { fieldManager: 'me' })],
    ])('%s with an object of another kind or version', async (_, call) => {
      const failure = (text: string) => ({
        name: 'TypeError',
        message: `deployments.apps "a": the object is a ${text}`,
      });
      await expect(call(answered)).rejects.toMatchObject(failure('ConfigMap of v1'));
      const beta = { kind: 'Deployment', apiVersion: 'apps/v1beta1', metadata: target };
      await expect(call(beta)).rejects.toMatchObject(failure('Deployment of apps/v1beta1'));
      expect(server.requests).toHaveLength(0);
    });

    const body = { metadata: {} };
    it.each<[string, (wrong: never) => Promise<unknown>]>([
      ['get', (wrong) => client.get(ConfigMap, wrong)],
      ['get of the status', (wrong) => client.get(ConfigMap, wrong, { subresource: 'status' })],
      ['get of metadata', (wrong) => client.metadata.get(ConfigMap, wrong)],
      ['delete', (wrong) => client.delete(ConfigMap, wrong)],
      ['patch', (wrong) => client.patch(ConfigMap, wrong, { type: 'merge', body: {} })],
      ['jsonPatch', (wrong) => client.jsonPatch(ConfigMap, wrong, [])],
      ['update', (wrong) => client.update(ConfigMap, { metadata: wrong })],
      ['apply', (wrong) => client.apply(ConfigMap, { metadata: wrong }, { fieldManager: 'me' })],
      [
        'createSubresource',
        (wrong: object) =>
          client.createSubresource(ConfigMap, { ...target, name: '', ...wrong, subresource: 'x' }, { body }),
      ],
      ['getScale', (wrong) => getScale(client, Deployment, wrong)],
      ['updateScale', (wrong) => updateScale(client, Deployment, { scale: { metadata: wrong } })],
      ['evict', (wrong) => evict(client, wrong)],
      ['bind', (wrong) => bind(client, wrong, { node: 'n' })],
      ['createToken', (wrong) => createToken(client, wrong)],
      ['podLog', (wrong) => client.podLog(wrong)],
      ['exec', (wrong) => client.exec(wrong, { command: ['ls'] })],
      ['attach', (wrong) => client.attach(wrong)],
      ['dialPort', (wrong) => client.dialPort(wrong, 80)],
      ['portForward', (wrong) => client.portForward(wrong, { ports: [':80'] })],
    ])('%s of an object without a name that is a string', async (_, call) => {
      for (const name of [undefined, null, '', 5, {}, ['a']])
        await expect(call({ namespace: 'n', name } as never)).rejects.toMatchObject({
          name: 'TypeError',
          message: expect.stringMatching(/name (may not be empty|is required|must be)/),
        });
      for (const wrong of ['a', undefined, null, ['a'], {}])
        await expect(call(wrong as never)).rejects.toMatchObject({
          name: 'TypeError',
          message: expect.stringMatching(/must be an object|name (may not be empty|is required|must be)/),
        });
      expect(server.requests).toHaveLength(0);
    });

    it('options of a collection that are not an object, and subresources and namespaces that are not strings', async () => {
      const refusals: [Promise<unknown>, string][] = [
        [client.deleteCollection(Node, 'a' as never), 'options, such as { namespace }, must be an object, not "a"'],
        [client.listPage(Node, 'a' as never), 'options, such as { namespace }, must be an object, not "a"'],
        [client.create(ConfigMap, undefined as never), 'what is written must be an object, not undefined'],
        [client.get(ConfigMap, { name: 'a', namespace: 5 as never }), 'namespace must be a string, not 5'],
        [client.get(ConfigMap, target, { subresource: null as never }), 'subresource must be a string, not null'],
        [client.createSubresource(ConfigMap, target as never, { body }), 'subresource must be a string, not undefined'],
      ];
      for (const [call, message] of refusals) await expect(call).rejects.toMatchObject({ name: 'TypeError', message });
      expect(server.requests).toHaveLength(0);
    });

    it('an object in no namespace, by name', async () => {
      const nowhere = { name: 'a' };
      const refusals: [Promise<unknown>, string][] = [
        [
          client.create(ConfigMap, { metadata: nowhere }),
          'configmaps "a": an empty namespace may not be set during creation',
        ],
        [client.create(Deployment, {}), 'deployments.apps: an empty namespace may not be set during creation'],
        [
          client.get(Deployment, nowhere),
          'deployments.apps "a": an empty namespace may not be set when a resource name is provided',
        ],
      ];
      for (const [call, message] of refusals) await expect(call).rejects.toMatchObject({ name: 'TypeError', message });
      expect(server.requests).toHaveLength(0);
    });
  });

  it('asks before each attempt of a call, also those that it repeats, whether it may go', async () => {
    const busy = json({ kind: 'Status', code: 429 }, { status: 429, headers: { 'retry-after': '0' } });
    const asked: number[] = [];
    const lastAllowed = { count: 2 };
    const beforeAttempt = (): void => {
      asked.push(server.requests.length);
      if (asked.length > lastAllowed.count) throw new Error('leads no more');
    };
    const body: KubernetesObject = { metadata: target };
    const calls: readonly (() => Promise<unknown>)[] = [
      () => client.create(ConfigMap, body, { beforeAttempt }),
      () => client.update(ConfigMap, body, { beforeAttempt }),
      () => client.patch(ConfigMap, target, { type: 'merge', body: {} }, { beforeAttempt }),
      () => client.apply(ConfigMap, body, { fieldManager: 'm', beforeAttempt }),
      () => client.delete(ConfigMap, target, { beforeAttempt }),
      () => client.deleteCollection(ConfigMap, { namespace: 'n', beforeAttempt }),
      () => evict(client, target, { beforeAttempt }),
      () => client.get(ConfigMap, target, { beforeAttempt }),
      () => client.listPage(ConfigMap, { beforeAttempt }),
    ];
    server.always(busy);
    for (const call of calls) {
      asked.length = 0;
      const before = server.requests.length;
      await expect(call()).rejects.toThrow('leads no more');
      expect(asked.map((sent) => sent - before)).toEqual([0, 1, 2]);
    }
  });

  it('sends a scale where a scale belongs', async () => {
    server.always(json(answered));
    const scale = { kind: 'Scale', apiVersion: 'autoscaling/v1', metadata: target };
    await client.update<KubernetesObject>(Deployment, scale, { subresource: 'scale' });
    expect(JSON.parse(server.last.body)).toEqual(scale);
  });
});

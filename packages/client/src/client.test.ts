import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from './client.ts';
import { json, ScriptedServer } from './testing/scripted-server.ts';

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
          client.patch(ConfigMap, target, {
            type: 'json',
            body: [{ op: 'remove', path: '/data' }],
            fieldManager: 'me',
          }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me',
          type: 'application/json-patch+json',
          body: [{ op: 'remove', path: '/data' }],
        },
      ],
      [
        'mergePatch()',
        () => client.mergePatch(ConfigMap, target, { body: { data: null }, dryRun: true }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?dryRun=All',
          type: 'application/merge-patch+json',
          body: { data: null },
        },
      ],
      [
        'jsonPatch()',
        () => client.jsonPatch(ConfigMap, target, { body: [{ op: 'remove', path: '/data' }], fieldManager: 'me' }),
        {
          line: 'PATCH /api/v1/namespaces/n/configmaps/a?fieldManager=me',
          type: 'application/json-patch+json',
          body: [{ op: 'remove', path: '/data' }],
        },
      ],
      [
        'strategicPatch() of the status',
        () => client.strategicPatch(Deployment, target, { body: { x: 1 }, subresource: 'status' }),
        {
          line: 'PATCH /apis/apps/v1/namespaces/n/deployments/a/status',
          type: 'application/strategic-merge-patch+json',
          body: { x: 1 },
        },
      ],
      [
        'strategic patch',
        () => client.patch(Deployment, target, { type: 'strategic', body: {}, subresource: 'status' }),
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
});

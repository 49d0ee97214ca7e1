import { resource, type UnstructuredObject } from '@kapstan/api';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Client } from './client.ts';
import { bind, createToken, evict, getScale, updateScale } from './subresources.ts';
import { json, type ScriptedServer, status } from './testing/scripted-server.ts';
import { servedClient } from './testing/served-client.ts';

const Deployment = resource<UnstructuredObject>({ group: 'apps', version: 'v1', kind: 'Deployment' });
const target = { namespace: 'n', name: 'a' };
const scale = {
  apiVersion: 'autoscaling/v1',
  kind: 'Scale',
  metadata: { ...target, resourceVersion: '7' },
  spec: { replicas: 3 },
};

describe('subresources of built-in kinds', () => {
  let server: ScriptedServer;
  let client: Client;
  beforeEach(async () => {
    ({ server, client } = await servedClient());
  });
  const sent = () => {
    const { method, path, query, body } = server.last;
    return { line: `${method} ${path}`, query, body: body === '' ? undefined : JSON.parse(body) };
  };

  it('getScale reads the scale of any kind', async () => {
    server.next(json(scale));
    expect((await getScale(client, Deployment, { ...target, resourceVersion: '0' })).spec?.replicas).toBe(3);
    expect(sent()).toEqual({
      line: 'GET /apis/apps/v1/namespaces/n/deployments/a/scale',
      query: { resourceVersion: '0' },
      body: undefined,
    });
  });

  it('updateScale writes a Scale, never the kind that is scaled', async () => {
    server.next(json(scale));
    const { apiVersion: _, kind: __, ...bare } = scale;
    await updateScale(client, Deployment, { scale: bare, dryRun: true });
    expect(sent()).toEqual({
      line: 'PUT /apis/apps/v1/namespaces/n/deployments/a/scale',
      query: { dryRun: 'All' },
      body: scale,
    });
  });

  it.each<[string, () => Promise<unknown>, string]>([
    [
      'a dry run in small letters',
      () => evict(client, target, { dryrun: true } as never),
      'evict: unknown option "dryrun"; did you mean "dryRun"?',
    ],
    ['options that are null', () => evict(client, target, null as never), 'options of evict() must be an object'],
    ['no target', () => evict(client, undefined as never), 'a target, such as { namespace, name }, must be an object'],
    ['no node', () => bind(client, target, {} as never), 'node must be a string, not undefined'],
    [
      'a node of another name',
      () => bind(client, target, { node: 'x', nodeName: 'y' } as never),
      'bind: unknown option "nodeName"; it takes signal, ',
    ],
    [
      'an audience alone',
      () => createToken(client, target, { audience: 'a' } as never),
      'createToken: unknown option "audience"; did you mean "audiences"?',
    ],
  ])('reject at once: %s', async (_what, call, text) => {
    const error = await call().catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as TypeError).message).toContain(text);
    expect(server.requests).toHaveLength(0);
  });

  it('evict asks by policy/v1 and passes on the refusal of a budget', async () => {
    server.next(json({ kind: 'Status', apiVersion: 'v1', status: 'Success' }, { status: 201 }));
    await evict(client, target, { gracePeriodSeconds: 0, preconditions: { uid: 'u' }, dryRun: true });
    expect(sent()).toMatchObject({
      line: 'POST /api/v1/namespaces/n/pods/a/eviction',
      body: {
        apiVersion: 'policy/v1',
        kind: 'Eviction',
        metadata: target,
        deleteOptions: { gracePeriodSeconds: 0, preconditions: { uid: 'u' }, dryRun: ['All'] },
      },
    });
    const refusal = "Cannot evict pod as it would violate the pod's disruption budget.";
    server.next(json(status(429, 'TooManyRequests', refusal), { status: 429 }));
    await expect(evict(client, target)).rejects.toMatchObject({ code: 429, message: refusal });
    expect(sent().body).toEqual({ apiVersion: 'policy/v1', kind: 'Eviction', metadata: target });
  });

  it('bind names the node', async () => {
    server.next(json({ kind: 'Status', apiVersion: 'v1', status: 'Success' }, { status: 201 }));
    await bind(client, target, { node: 'worker-1' });
    expect(sent()).toMatchObject({
      line: 'POST /api/v1/namespaces/n/pods/a/binding',
      body: { apiVersion: 'v1', kind: 'Binding', metadata: target, target: { kind: 'Node', name: 'worker-1' } },
    });
  });

  it('createToken gives a token of a service account', async () => {
    server.next(json({ kind: 'TokenRequest', apiVersion: 'authentication.k8s.io/v1', status: { token: 't' } }));
    const options = { audiences: ['vault'], expirationSeconds: 600 };
    expect((await createToken(client, target, options)).status?.token).toBe('t');
    expect(sent()).toMatchObject({
      line: 'POST /api/v1/namespaces/n/serviceaccounts/a/token',
      body: { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: options },
    });
  });

  it('all of them heed a signal', async () => {
    const signal = AbortSignal.abort(new Error('stop'));
    for (const call of [
      getScale(client, Deployment, { ...target, signal }),
      updateScale(client, Deployment, { scale, signal }),
      evict(client, target, { signal }),
      bind(client, target, { node: 'x', signal }),
      createToken(client, target, { signal }),
    ])
      await expect(call).rejects.toThrow('stop');
    expect(server.requests).toEqual([]);
  });
});

import { mkdtempSync, rmSync } from 'node:fs';
import { request } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Overview, RequestItem } from '@kapstan/inspector';
import { ConfigMap, Namespace, Secret, ServiceAccount } from '@kapstan/kinds/core/v1';
import { ClusterRole, ClusterRoleBinding } from '@kapstan/kinds/rbac.authorization.k8s.io/v1';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ControlPlane, startControlPlane } from '../index.ts';

const lookerToken = 'looker-token';
let dataDir: string;
let server: ControlPlane;
beforeAll(async () => {
  dataDir = mkdtempSync(join(tmpdir(), 'kapstan-inspect-'));
  const tokens = { text: `${lookerToken},looker,1\n`, fileName: 'tokens' };
  server = await startControlPlane({ dataDir, inspect: { port: 0 }, tokens, controlLoops: ['*'] });
  await server.client.create(ConfigMap, {
    metadata: { name: 'shown', namespace: 'default' },
    data: { password: 'hunter2' },
  });
  await server.client.create(Secret, { metadata: { name: 'hidden-name', namespace: 'default' } });
});
afterAll(async () => {
  await server.close();
  rmSync(dataDir, { recursive: true, force: true });
});

function send(
  path: string,
  token = server.token,
  method = 'GET',
): Promise<{ readonly status: number; readonly headers: object; readonly text: string }> {
  return new Promise((resolve, reject) => {
    const options = { method, ca: server.caCert, headers: { authorization: `Bearer ${token}` } };
    const sent = request(`${server.url}${path}`, options, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
        if (path.endsWith('/live')) sent.destroy();
      });
      response.on('close', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject).end();
  });
}

const overview = async (): Promise<Overview> => JSON.parse((await send('/inspect/v1/overview')).text);
const fromListener = (path: string, headers: Record<string, string> = {}) =>
  fetch(new URL(path, server.inspectorUrl), { headers });

describe('the inspector of a server', () => {
  it('shows caches and the store to an admin, as JSON and as a page', async () => {
    const { sections, subject } = await overview();
    expect(subject).toBe('server');
    expect(sections.caches?.items.find(({ resource }) => resource === 'configmaps')).toMatchObject({ state: 'ready' });
    expect(sections.store?.items[0]).toMatchObject({ name: 'main', numbers: { revision: expect.any(Number) } });
    const page = await send('/inspect/');
    expect(page.text).toContain('<!doctype html>');
    expect(page.headers).toMatchObject({ 'x-frame-options': 'DENY', 'cache-control': 'no-store' });
  });

  it('shows its control loops with their queues and informers, without keys', async () => {
    await server.client.create(Namespace, { metadata: { name: 'looped' } });
    const loopsOf = async () => (await overview()).sections.loops?.items ?? [];
    await vi.waitFor(async () => {
      const accounts = (await loopsOf()).find(({ name }) => name === 'serviceaccount-controller');
      expect(accounts).toMatchObject({ phase: 'running', restarts: 0 });
      expect(accounts?.queues).toMatchObject([{ name: 'serviceaccounts', waiting: 0, running: 0, failures: 0 }]);
      expect(accounts?.queues[0]?.runs).toBeGreaterThan(0);
    });
    const { informers, loops, election } = (await overview()).sections;
    expect(informers?.items.find(({ kind }) => kind === 'Namespace')).toMatchObject({ phase: 'live', hasSynced: true });
    expect(loops?.items.map(({ name }) => name)).toEqual(
      expect.arrayContaining(['namespace-controller', 'garbage-collector-controller']),
    );
    expect(JSON.stringify(loops)).not.toContain('looped');
    expect(election).toBeUndefined();
  });

  it('is live over the port of the API too', async () => {
    const { headers, text } = await send('/inspect/v1/live');
    expect(headers).toMatchObject({ 'content-type': 'text/event-stream; charset=utf-8' });
    expect(text).toMatch(/^event: overview\ndata: \{/);
  });

  it('is there for nobody else, unless a rule gives /inspect/*, and changes nothing', async () => {
    expect((await send('/inspect/v1/overview', lookerToken)).status).toBe(403);
    await server.client.create(ClusterRole, {
      metadata: { name: 'looker' },
      rules: [{ verbs: ['get'], nonResourceURLs: ['/inspect/*'] }],
    });
    await server.client.create(ClusterRoleBinding, {
      metadata: { name: 'looker' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looker' },
      subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: 'looker' }],
    });
    for (let tries = 0; tries < 100 && (await send('/inspect/v1/overview', lookerToken)).status === 403; tries++);
    expect((await send('/inspect/v1/overview', lookerToken)).status).toBe(200);
    expect((await send('/inspect/v1/overview', server.token, 'POST')).status).toBe(405);
  });

  it('refuses bad queries with a Status', async () => {
    expect(JSON.parse((await send('/inspect/v1/caches?limit=0')).text)).toMatchObject({
      kind: 'Status',
      code: 400,
      reason: 'BadRequest',
    });
    expect(JSON.parse((await send('/inspect/v1/caches?limit=2')).text)).toMatchObject({
      items: { length: 2 },
      continue: '2',
    });
  });

  it('shows the request that asks, with its user and steps', async () => {
    const { items } = JSON.parse((await send('/inspect/v1/requests')).text) as {
      readonly items: readonly RequestItem[];
    };
    const own = items.find(({ resource }) => resource === '/inspect/v1/requests');
    expect(own).toMatchObject({ verb: 'get', user: expect.any(String), status: 0 });
    expect(own?.steps.map(({ step }) => step)).toEqual([
      'authentication',
      'waiting for a seat',
      'authorization',
      'handler',
    ]);
  });

  it('counts watchers by user', async () => {
    const opened = request(`${server.url}/api/v1/configmaps?watch=1`, {
      ca: server.caCert,
      headers: { authorization: `Bearer ${server.token}` },
    });
    await new Promise<void>((resolve) => {
      opened.once('response', (response) => response.once('data', () => resolve())).end();
    });
    const { items } = JSON.parse((await send('/inspect/v1/users')).text);
    expect(items).toEqual([
      {
        user: expect.stringMatching(/admin/),
        watches: 1,
        waitingEvents: expect.any(Number),
        waitingBytes: expect.any(Number),
      },
    ]);
    opened.on('error', () => undefined).destroy();
  });

  it('has an address for a browser, whose documents need its token', async () => {
    const [, token = ''] = server.inspectorUrl.split('#token=');
    expect(server.inspectorUrl).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/inspect\/#token=[\w-]{32}$/);
    expect((await fromListener('/inspect/')).status).toBe(200);
    expect((await fromListener('/inspect/v1/overview')).status).toBe(401);
    expect((await fromListener('/inspect/v1/overview', { authorization: `Bearer ${token}` })).status).toBe(200);
    expect((await fromListener('/inspect/v1/overview', { authorization: `Bearer ${server.token}` })).status).toBe(401);
  });

  it('has no value and no name of a Secret', async () => {
    await send('/api/v1/namespaces/default/secrets/hidden-name');
    await send('/api/v1/namespaces/default/configmaps/shown');
    const text = JSON.stringify(await overview());
    expect(text).not.toMatch(/hunter2|hidden-name/);
  });
});

it('a server without the inspector has no such pages', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'kapstan-inspect-'));
  const other = await startControlPlane({ dataDir: directory });
  try {
    expect(other.inspectorUrl).toBe('');
    const client = other.client;
    await client.list(ServiceAccount, { limit: 1 });
    const status = await new Promise((resolve, reject) => {
      const options = { ca: other.caCert, headers: { authorization: `Bearer ${other.token}` } };
      request(`${other.url}/inspect/v1/overview`, options, (response) => resolve(response.resume().statusCode))
        .on('error', reject)
        .end();
    });
    expect(status).toBe(404);
  } finally {
    await other.close();
    rmSync(directory, { recursive: true, force: true });
  }
});

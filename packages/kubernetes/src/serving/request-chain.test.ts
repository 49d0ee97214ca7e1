import { request } from 'node:http';
import { connect } from 'node:http2';
import { get as httpsGet } from 'node:https';
import type { CallSignal } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import type { ServedResource } from '@kapstan/apiserver';
import { certificateAuthenticator } from '@kapstan/apiserver';
import { adminToken, type TestServer, type TestServerOptions, type TestStream } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';
import { defaultAuthorizer } from '../testing/rbac-fixture.ts';

const definitions = builtinResources().filter(({ resource }) => ['configmaps', 'namespaces'].includes(resource));
const configMaps = '/api/v1/namespaces/default/configmaps';
let server: TestServer | undefined;

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startKubernetesServer(openLmdbEngine, { definitions, ...options });
  return server;
}
afterEach(async () => {
  await server?.close();
  server = undefined;
});

/** Makes every list wait until the test releases it. */
function holdLists(on: TestServer): {
  waiting: () => number;
  release: () => void;
  signals: (CallSignal | undefined)[];
} {
  const served = on.catalog.find('', 'v1', 'configmaps') as ServedResource;
  const gates: (() => void)[] = [];
  const signals: (CallSignal | undefined)[] = [];
  const real = served.store;
  const store: ServedResource['store'] = {
    create: (context, object) => real.create(context, object),
    get: (context, name, options) => real.get(context, name, options),
    list: async (context, request) => {
      signals.push(context.signal);
      await new Promise<void>((resolve) => gates.push(resolve));
      return real.list(context, request);
    },
    watch: (context, request, sink) => real.watch(context, request, sink),
    update: (context, request) => real.update(context, request),
    delete: (context, name, request) => real.delete(context, name, request),
    deleteCollection: (context, request, select) => real.deleteCollection(context, request, select),
  };
  on.catalog.install({ definition: served.definition, store });
  const release = (): void => {
    for (const open of gates.splice(0)) open();
  };
  return { waiting: () => gates.length, release, signals };
}

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

describe('who may do what', () => {
  it('asks the authorizer before it looks whether the path exists', async () => {
    const { send } = await start({ authorizer: defaultAuthorizer() });
    const asUser = { headers: { authorization: 'Bearer user-token' } };
    expect((await send('GET', '/api/v1/nothings', asUser)).json).toMatchObject({
      code: 403,
      message:
        'nothings is forbidden: User "alice" cannot list resource "nothings" in API group "" at the cluster scope',
    });
    expect((await send('GET', '/healthz', { headers: { authorization: 'Bearer bad' } })).json).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message: 'Unauthorized',
      reason: 'Unauthorized',
      code: 401,
    });
    expect((await send('GET', '/livez', { headers: { authorization: '' } })).text).toBe('ok');
  });

  it('lets system:masters act as someone else', async () => {
    const { send } = await start({ authorizer: defaultAuthorizer() });
    const asBob = await send('GET', configMaps, { headers: { 'impersonate-user': 'bob' } });
    expect(asBob.json.message).toContain('User "bob" cannot list resource "configmaps"');
    const headers = { authorization: 'Bearer user-token', 'impersonate-user': 'bob' };
    expect((await send('GET', '/version', { headers })).json.message).toBe(
      'forbidden: User "alice" cannot impersonate-on:user-info:get path "/version"',
    );
  });
});

describe('limits', () => {
  it('refuses requests beyond the number in flight, but for system:masters and watches', async () => {
    const running = await start({ maxRequestsInflight: 1 });
    const lists = holdLists(running);
    const asUser = { headers: { authorization: 'Bearer user-token' } };
    const first = running.send('GET', configMaps, asUser);
    await until(() => lists.waiting() === 1);
    const second = await running.send('GET', configMaps, asUser);
    expect([second.status, second.headers['retry-after'], second.text]).toEqual([
      429,
      '1',
      'Too many requests, please try again later.\n',
    ]);
    const watch = await running.stream(`${configMaps}?watch=1`, { authorization: 'Bearer user-token' });
    expect(watch.status).toBe(200);
    watch.close();
    expect((await running.send('GET', '/version')).status).toBe(200);
    lists.release();
    expect((await first).status).toBe(200);
    expect((await running.send('GET', '/version', asUser)).status).toBe(200);
  });

  it('gives up on a request that takes too long', async () => {
    const clock = new VirtualClock();
    const running = await start({ clock, requestTimeoutMs: 60_000 });
    const lists = holdLists(running);
    const pending = running.send('GET', configMaps);
    await until(() => lists.waiting() === 1);
    clock.advance(60_000);
    expect((await pending).json).toMatchObject({
      code: 504,
      message: 'Timeout: request did not complete within requested timeout - context deadline exceeded',
    });
    expect(lists.signals[0]?.aborted).toBe(true);
    lists.release();
  });

  it('aborts the call to the store when the client goes away', async () => {
    const running = await start();
    const lists = holdLists(running);
    const stream = running.stream(configMaps).catch((error: Error) => error);
    await until(() => lists.waiting() === 1);
    await running.send('GET', '/version');
    expect(lists.signals[0]?.aborted).toBe(false);
    lists.release();
    await stream;
  });
});

describe('closing', () => {
  it('waits for running requests and ends watches', async () => {
    const running = await start();
    const lists = holdLists(running);
    const watch = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    const pending = running.send('GET', configMaps);
    await until(() => lists.waiting() === 1);
    const closed = running.close();
    server = undefined;
    expect(await watch.next()).toBeUndefined();
    lists.release();
    expect((await pending).status).toBe(200);
    await closed;
    await expect(running.send('GET', '/version')).rejects.toThrow('ECONNREFUSED');
  });

  it('ends a watch too that was still being authenticated when it began', async () => {
    let authenticated: () => void = () => undefined;
    let asked = 0;
    const authenticate = async () => {
      asked++;
      await new Promise<void>((resolve) => {
        authenticated = resolve;
      });
      return { name: 'admin', groups: ['system:masters'] };
    };
    const clock = new VirtualClock();
    const running = await start({ clock, authentication: { authenticators: [{ authenticate }] } });
    const watch = running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    await until(() => asked === 1);
    const closed = running.close();
    server = undefined;
    authenticated();
    expect(await (await watch).next()).toBeUndefined();
    await closed;
  });

  it('cuts requests that do not end in time', async () => {
    const running = await start({ drainMs: 20 });
    const lists = holdLists(running);
    const pending = running.send('GET', configMaps).catch((error: Error) => error.message);
    await until(() => lists.waiting() === 1);
    const closed = running.close();
    server = undefined;
    expect(await pending).toMatch(/socket hang up|ECONNRESET/);
    lists.release();
    await closed;
  });
});

describe('watches', () => {
  it('end after their time, or after the server’s', async () => {
    const clock = new VirtualClock();
    const running = await start({ clock, minWatchMs: 1000, random: () => 0.5 });
    const short = await running.stream(`${configMaps}?watch=1&timeoutSeconds=1&resourceVersion=1`);
    const long = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    clock.advance(1000);
    expect(await short.next()).toBeUndefined();
    clock.advance(499);
    const body = { metadata: { name: 'a' } };
    await running.send('POST', configMaps, { body });
    expect(await long.next()).toMatchObject({ type: 'ADDED' });
    clock.advance(1);
    expect(await long.next()).toBeUndefined();
  });

  it('with a time below 0 are over at once: an error and nothing else comes', async () => {
    const clock = new VirtualClock();
    const running = await start({ clock });
    await running.send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    const before = clock.pendingTimers;
    const watch = await running.stream(`${configMaps}?watch=1&timeoutSeconds=-1`);
    expect(await watch.next()).toBeUndefined();
    const refused = await running.stream(`${configMaps}?watch=1&timeoutSeconds=-1&resourceVersion=x`);
    expect(await refused.next()).toMatchObject({ kind: 'Status', code: 500 });
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(before));
  });

  it('leave no timer behind when their client goes away (I9)', async () => {
    const clock = new VirtualClock();
    const running = await start({ clock });
    const before = clock.pendingTimers;
    const watch = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    expect(clock.pendingTimers).toBeGreaterThan(before);
    watch.close();
    const metrics = async () => (await running.send('GET', '/metrics')).text;
    await vi.waitFor(async () => expect(await metrics()).not.toMatch(/^apiserver_longrunning_requests [^0]/m));
    await vi.waitFor(() => expect(clock.pendingTimers).toBe(before));
  });

  it('send the present state first, and the bookmark only to those who want it', async () => {
    const running = await start();
    await running.send('POST', configMaps, { body: { metadata: { name: 'a' } } });
    const watch = await running.stream(`${configMaps}?watch=1&allowWatchBookmarks=true`);
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { kind: 'ConfigMap', metadata: { name: 'a' } } });
    expect(await watch.next()).toEqual({
      type: 'BOOKMARK',
      object: {
        kind: 'ConfigMap',
        apiVersion: 'v1',
        metadata: { resourceVersion: expect.any(String), annotations: { 'k8s.io/initial-events-end': 'true' } },
      },
    });
    const plain = await running.stream(`${configMaps}?watch=1`);
    expect(await plain.next()).toMatchObject({ type: 'ADDED' });
    await running.send('DELETE', `${configMaps}/a`);
    expect(await plain.next()).toMatchObject({ type: 'DELETED' });
    watch.close();
    plain.close();
  });

  it('answer what cannot be watched before they begin', async () => {
    const running = await start();
    const bad = await running.send('GET', `${configMaps}?watch=1&resourceVersion=abc`);
    expect(bad.json).toMatchObject({
      code: 500,
      message: 'resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc": invalid syntax',
    });
    const yaml = await running.send('GET', `${configMaps}?watch=1`, { headers: { accept: 'application/yaml' } });
    expect(yaml.status).toBe(406);
    const field = await running.send('GET', `${configMaps}?watch=1&fieldSelector=data.x%3D1`);
    expect(field.json).toMatchObject({ code: 400 });
  });

  const big = (n: number, size: number) => ({
    body: { metadata: { name: `c${n}` }, data: { k: 'x'.repeat(size) } },
  });
  const readAll = async (stream: TestStream, count: number): Promise<number> => {
    let seen = 0;
    while (seen < count && (await stream.next()) !== undefined) seen++;
    return seen;
  };

  it('end for a client that does not read, without harm to others', async () => {
    const clock = new VirtualClock();
    const running = await start({ maxWatchBufferBytes: 256 * 1024, clock });
    const slow = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    const quick = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    slow.response.pause();
    const seen = readAll(quick, 60);
    for (let i = 0; i < 60; i++) await running.send('POST', configMaps, big(i, 200_000));
    expect(await seen).toBe(60);
    const metrics = async () => (await running.send('GET', '/metrics')).text;
    expect(await metrics()).toContain('apiserver_terminated_watchers_total{group="",resource="configmaps"} 1');
    // The client's socket is full and does not even take the end, so the connection is cut.
    await clock.advance(10_000);
    expect(await metrics()).toContain('apiserver_longrunning_requests 1');
    const broken = await readAll(slow, 60).catch((error: Error) => error.message);
    expect(broken).toBe('aborted');
    quick.close();
  });

  it('go on through a replay and through events that are larger than what may wait', async () => {
    const running = await start({ maxWatchBufferBytes: 1_048_576 });
    for (let i = 0; i < 6; i++) await running.send('POST', configMaps, big(i, 1_000_000));
    const resumed = await running.stream(`${configMaps}?watch=1&resourceVersion=1`);
    expect(await readAll(resumed, 6)).toBe(6);
    await Promise.all(Array.from({ length: 6 }, (_, i) => running.send('POST', configMaps, big(100 + i, 1_000_000))));
    expect(await readAll(resumed, 6)).toBe(6);
    expect((await running.send('GET', '/metrics')).text).not.toContain('apiserver_terminated_watchers_total{');
    resumed.close();
  });
});

describe('client certificates', () => {
  it('name the user, or are refused when nobody trusted signed them', async () => {
    const { selfSigned } = await import('@kapstan/apiserver/testing');
    const serving = await selfSigned('CN=127.0.0.1');
    const trusted = await selfSigned('CN=alice+O=dev');
    const stranger = await selfSigned('CN=mallory+O=system:masters');
    const running = await start({
      tls: { cert: serving.cert, key: serving.key, clientCa: trusted.cert },
      authentication: { authenticators: [certificateAuthenticator] },
      authorizer: defaultAuthorizer(),
    });
    const ask = async (pair?: { cert: string; key: string }) => {
      const options = { ca: serving.cert, agent: false as const, ...pair };
      const text = await new Promise<string>((resolve, reject) => {
        const request = httpsGet(`${running.url}${configMaps}`, options, (response) => {
          let body = '';
          response.on('data', (chunk) => (body += String(chunk))).on('end', () => resolve(body));
        });
        request.on('error', reject);
      });
      return JSON.parse(text) as { code: number; message: string };
    };
    expect((await ask(trusted)).message).toContain('User "alice" cannot list resource "configmaps"');
    expect(await ask(stranger)).toMatchObject({ code: 401, message: 'Unauthorized' });
    expect((await ask()).message).toContain('User "system:anonymous" cannot list');
  });
});

describe('HTTP/2', () => {
  it('is spoken over TLS, as is HTTP/1.1', async () => {
    const { selfSigned } = await import('@kapstan/apiserver/testing');
    const tls = await selfSigned('CN=127.0.0.1');
    const running = await start({ tls: { cert: tls.cert, key: tls.key } });
    const session = connect(running.url, { ca: tls.cert });
    const headers = { authorization: `Bearer ${adminToken}` };
    const stream = session.request({ ':path': '/version', ...headers });
    const status = await new Promise((resolve) => stream.once('response', (answer) => resolve(answer[':status'])));
    expect(status).toBe(200);
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    expect(JSON.parse(text)).toMatchObject({ major: '1', minor: '36' });
    const watch = session.request({ ':path': `${configMaps}?watch=1&resourceVersion=1`, ...headers });
    const post = session.request({
      ':path': configMaps,
      ':method': 'POST',
      'content-type': 'application/json',
      ...headers,
    });
    post.resume().end(JSON.stringify({ metadata: { name: 'a' } }));
    const line = await new Promise((resolve) => watch.once('data', (chunk) => resolve(JSON.parse(String(chunk)))));
    expect(line).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
    expect(session.remoteSettings.maxConcurrentStreams).toBe(250);
    const ended = new Promise((resolve) => watch.once('end', resolve));
    watch.resume();
    await Promise.all([running.close(), ended]);
    server = undefined;
    session.close();
  });
});

describe('a body that does not come whole', () => {
  it('frees its place when the connection is lost, and writes nothing', async () => {
    const on = await start({ maxMutatingRequestsInflight: 1 });
    // The limit does not hold for system:masters.
    const headers = { authorization: 'Bearer user-token', 'content-type': 'application/json' };
    const sent = request(`${on.url}${configMaps}`, { method: 'POST', headers: { ...headers, 'content-length': 1000 } });
    sent.on('error', () => undefined);
    sent.write('{"metadata":{"name":"half"');
    const create = () => on.send('POST', configMaps, { headers, body: { metadata: { name: 'whole' } } });
    while ((await create()).status !== 429) await on.send('DELETE', `${configMaps}/whole`);
    sent.destroy();
    while ((await create()).status === 429);
    const { items } = (await on.send('GET', configMaps)).json;
    expect(items.map(({ metadata }: { metadata: { name: string } }) => metadata.name)).toEqual(['whole']);
  });
});

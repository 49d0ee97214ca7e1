import { Agent, type IncomingHttpHeaders, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ServedResource } from '../../registry/definition/catalog.ts';
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
const watchPath = `${configMaps}?watch=1&resourceVersion=1`;
let server: TestServer | undefined;
let clock: VirtualClock;

async function start(
  options: Omit<TestServerOptions, 'drainMs'> & { readonly drainMs?: number | undefined } = {},
): Promise<TestServer> {
  clock = new VirtualClock();
  server = await startTestServer(openLmdbEngine, {
    definitions,
    clock,
    drainMs: 20_000,
    ...options,
  } as TestServerOptions);
  return server;
}
afterEach(async () => {
  const closed = server?.close();
  server = undefined;
  if (closed !== undefined) await clock.advance(120_000);
  await closed;
});

const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

/** Makes lists wait until they are released. */
function holdLists(on: TestServer): { waiting(): number; release(): void } {
  const served = on.catalog.find('', 'v1', 'configmaps') as ServedResource;
  const gates: (() => void)[] = [];
  vi.spyOn(served.store, 'list').mockImplementationOnce(async (context, listing) => {
    await new Promise<void>((resolve) => gates.push(resolve));
    return served.store.list(context, listing);
  });
  return { waiting: () => gates.length, release: () => gates.pop()?.() };
}

describe('a server that is told to stop, with a delay', () => {
  it('fails /readyz at once, and serves old and new connections as before until the delay is over', async () => {
    const on = await start({ shutdown: { delayMs: 5_000 } });
    const agent = new Agent({ keepAlive: true });
    expect(await getOver(agent, on, '/readyz')).toMatchObject({ status: 200 });
    expect((await on.send('GET', '/readyz?verbose')).text).toBe(
      '[+]ping ok\n[+]log ok\n[+]shutdown ok\nreadyz check passed\n',
    );
    const watch = await on.stream(watchPath);
    const closed = on.close();
    server = undefined;
    expect((await on.send('GET', '/readyz')).text).toBe(
      '[+]ping ok\n[+]log ok\n[-]shutdown failed: reason withheld\nreadyz check failed\n',
    );
    expect((await on.send('GET', '/readyz/shutdown')).text).toBe('internal server error: process is shutting down\n');
    for (const path of ['/livez', '/healthz']) expect((await on.send('GET', path)).text).toBe('ok');
    await clock.advance(4_999);
    expect(await getOver(agent, on, '/version')).toMatchObject({ status: 200 });
    await on.send('POST', configMaps, { body: { metadata: { name: 'late' } } });
    expect(await watch.next()).toMatchObject({ object: { metadata: { name: 'late' } } });
    await clock.advance(1);
    expect(await watch.next()).toBeUndefined();
    await closed;
    await expect(on.send('GET', '/version')).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  it('has no shutdown check at the other endpoints', async () => {
    const on = await start();
    for (const path of ['/livez/shutdown', '/healthz/shutdown']) expect((await on.send('GET', path)).status).toBe(404);
    expect((await on.send('GET', '/')).json.paths).toContain('/readyz/shutdown');
  });
});

describe('a server that drains', () => {
  it('lets requests run for as long as a request may take, unless an option says otherwise', async () => {
    const on = await start({ requestTimeoutMs: 60_000, drainMs: undefined });
    const lists = holdLists(on);
    const pending = on.send('GET', configMaps);
    await until(() => lists.waiting() === 1);
    const closed = on.close();
    server = undefined;
    await clock.advance(59_999);
    lists.release();
    expect((await pending).status).toBe(200);
    await closed;
  });

  it('answers with 503 what still comes on a connection, but for probes', async () => {
    const on = await start({ shutdown: { watchGraceMs: 10_000 } });
    const [first, second, third] = [pipeline(on), pipeline(on), pipeline(on)];
    for (const wire of [first, second, third]) {
      wire.send(watchPath);
      await until(() => wire.answers().length === 1);
    }
    const closed = on.close();
    server = undefined;
    first.send('/version', { accept: 'application/yaml' });
    await until(() => first.answers().length === 2);
    second.send('/livez');
    await clock.advance(5);
    await until(() => second.answers().length === 2);
    expect(second.answers()[1]).toMatch(/^HTTP\/1.1 200 OK/);
    await clock.advance(5);
    await closed;
    const [head, body] = (first.answers()[1] ?? '').split('\r\n\r\n');
    const lines = head?.toLowerCase().split('\r\n') ?? [];
    expect(lines[0]).toBe('http/1.1 503 service unavailable');
    for (const line of ['retry-after: 1', 'content-type: application/json', 'x-content-type-options: nosniff'])
      expect(lines).toContain(line);
    const status = { kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Failure' };
    const why = { message: 'apiserver is shutting down', reason: 'ServiceUnavailable', code: 503 };
    expect(JSON.parse(body ?? '')).toEqual({ ...status, ...why });
  });

  it('does not wait for an answer whose connection was lost while it waited for its turn', async () => {
    const on = await start();
    const lists = holdLists(on);
    const wire = pipeline(on);
    wire.send(configMaps);
    wire.send('/version');
    await until(() => lists.waiting() === 1);
    const closed = on.close();
    server = undefined;
    lists.release();
    await closed;
    expect(wire.answers()).toHaveLength(1);
  });
});

describe('a server that sends Retry-After', () => {
  it('goes on listening while requests run, and sends all others away with their connection', async () => {
    const on = await start({ shutdown: { sendsRetryAfter: true } });
    const lists = holdLists(on);
    const pending = on.send('GET', configMaps);
    await until(() => lists.waiting() === 1);
    const watch = await on.stream(watchPath);
    const closed = on.close();
    server = undefined;
    expect(await watch.next()).toBeUndefined();
    const agent = new Agent({ keepAlive: true });
    const refused = await getOver(agent, on, '/version');
    expect(refused).toMatchObject({
      status: 429,
      text: 'The apiserver is shutting down, please try again later.\n',
      headers: { 'retry-after': '5', connection: 'close', 'content-type': 'text/plain; charset=utf-8' },
    });
    expect(refused.headers['audit-id']).toBeTypeOf('string');
    expect(refused.headers['cache-control']).toBeUndefined();
    expect((await on.send('GET', watchPath)).status).toBe(429);
    for (const path of ['/livez', '/healthz', '/livez/ping', '/metrics'])
      expect((await on.send('GET', path)).status).toBe(200);
    expect((await on.send('GET', '/readyz')).status).toBe(500);
    const itself = { headers: { 'user-agent': 'kube-apiserver/v1.36.0 (linux/amd64)' } };
    expect((await on.send('GET', '/version', itself)).status).toBe(200);
    lists.release();
    expect((await pending).status).toBe(200);
    await closed;
    await expect(on.send('GET', '/livez')).rejects.toThrow('ECONNREFUSED');
    agent.destroy();
  });

  it('waits no longer than requests may take', async () => {
    const on = await start({ shutdown: { sendsRetryAfter: true }, drainMs: 3_000 });
    const lists = holdLists(on);
    const pending = on.send('GET', configMaps).catch((error: Error) => error.message);
    await until(() => lists.waiting() === 1);
    const closed = on.close();
    server = undefined;
    expect((await on.send('GET', '/version')).status).toBe(429);
    await clock.advance(3_000);
    await clock.advance(2_000);
    expect(await pending).toMatch(/socket hang up|ECONNRESET/);
    lists.release();
    await closed;
  });

  it('sends an HTTP/2 client away with GOAWAY', async () => {
    const { cert, key } = await selfSigned('CN=127.0.0.1');
    const on = await start({ shutdown: { sendsRetryAfter: true }, tls: { cert, key } });
    const lists = holdLists(on);
    const session = connectHttp2(on.url, { ca: cert });
    const headers = { authorization: `Bearer ${adminToken}` };
    const held = session.request({ ':path': configMaps, ...headers });
    const heldStatus = statusOf(held);
    await until(() => lists.waiting() === 1);
    const closed = on.close();
    server = undefined;
    const goaway = new Promise((resolve) => session.once('goaway', resolve));
    const late = session.request({ ':path': '/version', ...headers });
    expect(await statusOf(late)).toBe(429);
    expect(await goaway).toBe(0);
    lists.release();
    expect(await heldStatus).toBe(200);
    await closed;
  });
});

describe('watches with a grace at the end', () => {
  it('end 200 a second, and go on until it is their turn', async () => {
    const on = await start({ shutdown: { watchGraceMs: 10_000 } });
    const watches = await Promise.all(Array.from({ length: 5 }, () => on.stream(watchPath)));
    const ended: number[] = [];
    const ends = watches.map(async (watch, i) => {
      while ((await watch.next()) !== undefined);
      ended.push(i);
    });
    const open = async () =>
      /^apiserver_longrunning_requests (\d+)$/m.exec((await on.send('GET', '/metrics')).text)?.[1];
    await vi.waitFor(async () => expect(await open()).toBe('5'));
    const closed = on.close();
    server = undefined;
    await until(() => ended.length === 1);
    for (const count of [2, 3, 4, 5]) {
      await clock.advance(4);
      expect(ended.length).toBe(count - 1);
      await clock.advance(1);
      await until(() => ended.length === count);
    }
    await Promise.all(ends);
    await closed;
  });
});

describe('/livez', () => {
  it('takes a part of the start for healthy while the start may last, and nothing else', async () => {
    const broken = { check: () => new Error('not finished') };
    const on = await start({
      livezGraceMs: 10_000,
      healthChecks: [
        { name: 'poststarthook/x', isPartOfStart: true, ...broken },
        { name: 'fine', check: () => undefined },
      ],
    });
    await clock.advance(10_000);
    expect((await on.send('GET', '/livez?verbose')).text).toContain('[+]poststarthook/x ok\n');
    expect((await on.send('GET', '/readyz')).text).toContain('[-]poststarthook/x failed');
    expect((await on.send('GET', '/healthz')).text).toContain('[-]poststarthook/x failed');
    await clock.advance(1);
    expect((await on.send('GET', '/livez')).text).toContain('[-]poststarthook/x failed');
  });

  it('gives no grace to checks that are not part of the start, and none by default', async () => {
    const check = () => new Error('down');
    const on = await start({ livezGraceMs: 10_000, healthChecks: [{ name: 'etcd', check }] });
    expect((await on.send('GET', '/livez')).status).toBe(500);
    await on.close();
    const other = await start({ healthChecks: [{ name: 'x', isPartOfStart: true, check }] });
    await clock.advance(1);
    expect((await other.send('GET', '/livez')).status).toBe(500);
  });
});

interface Answer {
  readonly status: number;
  readonly text: string;
  readonly headers: IncomingHttpHeaders;
}

function getOver(agent: Agent, on: TestServer, path: string): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${adminToken}` };
    request(`${on.url}${path}`, { agent, headers }, (response) => {
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text, headers: response.headers }));
    })
      .on('error', reject)
      .end();
  });
}

/** One connection on which requests are sent without waiting for answers. */
function pipeline(on: TestServer) {
  const socket = connect(Number(new URL(on.url).port), '127.0.0.1');
  let received = '';
  socket.on('data', (chunk) => (received += String(chunk))).on('error', () => undefined);
  return {
    send: (path: string, headers: Readonly<Record<string, string>> = {}): void => {
      const all = { host: 'x', authorization: `Bearer ${adminToken}`, ...headers };
      const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
      socket.write(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`);
    },
    answers: () => received.split(/(?=HTTP\/1\.1 )/).filter((text) => text !== ''),
  };
}

function statusOf(stream: ReturnType<ReturnType<typeof connectHttp2>['request']>): Promise<unknown> {
  stream.resume();
  return new Promise((resolve, reject) => {
    stream.once('response', (headers) => resolve(headers[':status']));
    stream.once('error', reject);
  });
}

import diagnosticsChannel from 'node:diagnostics_channel';
import { EventEmitter, getEventListeners, once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { isTooManyRequests, isUnauthorized, resource, type WriteObserver } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { firstValueFrom } from 'rxjs';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ClientConfig, ClientOptions } from '../config/client-config.ts';
import type { Credentials } from '../credentials/credentials.ts';
import { type Answer, json, ScriptedServer, status, text } from '../testing/scripted-server.ts';
import { connectionTimers } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import type { RequestDiagnostics } from './request-diagnostics.ts';

const ConfigMap = resource({ group: '', version: 'v1', kind: 'ConfigMap' });
const object = { kind: 'ConfigMap', apiVersion: 'v1', metadata: { name: 'a', namespace: 'n', resourceVersion: '7' } };
const target = { namespace: 'n', name: 'a' };
const refuse = (code: number, retryAfter?: string): Answer =>
  json(status(code, 'TooManyRequests', `wait ${code}`), {
    status: code,
    headers: retryAfter === undefined ? {} : { 'retry-after': retryAfter },
  });
/** Accepts connections and sends nothing, so no TLS handshake ends. */
async function silentPort(): Promise<
  AsyncDisposable & { readonly port: number; readonly connected: Promise<unknown> }
> {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket.on('error', () => undefined)));
  const connected = once(server, 'connection');
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const dispose = async (): Promise<void> => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  };
  return { port: (server.address() as AddressInfo).port, connected, [Symbol.asyncDispose]: dispose };
}

const reset: Answer = (_, request) => void request.socket.resetAndDestroy();

describe('the transport', () => {
  let server: ScriptedServer;
  let clock: VirtualClock;
  const clients: Client[] = [];
  const connect = (options: ClientOptions = {}, config: Partial<ClientConfig> = {}): Client => {
    const client = new Client({ server: server.url, ...config }, { clock, ...options });
    clients.push(client);
    return client;
  };
  /** Advances virtual time one second at a time until the call has ended. */
  const finish = async <T>(call: Promise<T>): Promise<T | Error> => {
    let isOver = false;
    const result = call.catch((error: Error) => error).finally(() => (isOver = true));
    while (!isOver) {
      await settle();
      // The first timer is the deadline; over HTTP/2 a second one checks for a dead peer. Time stands still while the first connection
      // opens.
      const own = 1 + connectionTimers(server.sockets.size);
      const hasWait = clock.pendingTimers > own && (server.requests.length > 0 || connectionTimers(1) === 0);
      if (hasWait) await clock.advance(1000);
    }
    return await result;
  };
  beforeEach(async () => {
    server = await ScriptedServer.start();
    clock = new VirtualClock();
  });
  afterEach(async () => {
    for (const client of clients.splice(0)) await client.close();
    await server[Symbol.asyncDispose]();
    expect(clock.pendingTimers).toBe(0);
  });

  describe('retries', () => {
    it.each([
      [429, '0'],
      [429, '2'],
      [500, '1'],
      [503, '1'],
      [504, '1'],
    ])('an answer %i with Retry-After %s, for any verb and with its whole body', async (code, retryAfter) => {
      server.next(refuse(code, retryAfter), refuse(code, retryAfter)).always(json(object));
      const startMs = clock.monotonicNow();
      expect(await finish(connect().create(ConfigMap, object))).toEqual(object);
      expect(server.requests.map((request) => JSON.parse(request.body))).toEqual([object, object, object]);
      expect(clock.monotonicNow() - startMs).toBeGreaterThanOrEqual(2000 * Number(retryAfter));
    });

    it.each([
      ['429 without Retry-After', refuse(429)],
      ['429 with an HTTP date', refuse(429, 'Wed, 21 Oct 2026 07:28:00 GMT')],
      ['404 with Retry-After', refuse(404, '1')],
      ['500 without Retry-After', refuse(500)],
    ])('not %s', async (_, answer) => {
      server.always(answer);
      expect(await finish(connect().get(ConfigMap, target))).toMatchObject({ name: 'StatusError' });
      expect(server.requests).toHaveLength(1);
    });

    it.each([0, 1, 10])('at most %i times, then gives the last answer', async (maxRetries) => {
      server.always(refuse(429, '1'));
      const error = await finish(connect({ maxRetries }).get(ConfigMap, target));
      expect(isTooManyRequests(error)).toBe(true);
      expect(server.requests).toHaveLength(maxRetries + 1);
    });

    it('a GET whose connection was reset, after a second, and no other verb', async () => {
      server.next(reset).always(json(object));
      expect(await finish(connect().get(ConfigMap, target))).toEqual(object);
      expect(clock.monotonicNow()).toBeGreaterThanOrEqual(1000);
      server.next(reset);
      expect(await finish(connect().create(ConfigMap, object))).toMatchObject({ code: 'ECONNRESET' });
    });

    it('no refused connection', async () => {
      const client = connect();
      await server[Symbol.asyncDispose]();
      expect(await finish(client.get(ConfigMap, target))).toMatchObject({
        name: 'TransportError',
        code: 'ECONNREFUSED',
        message: expect.stringMatching(
          /^GET https?:\/\/127\.0\.0\.1:\d+\/api\/v1\/namespaces\/n\/configmaps\/a: connect ECONNREFUSED/,
        ),
      });
      expect(clock.monotonicNow()).toBe(0);
    });

    it('until the deadline, whose error names that of the last attempt', async () => {
      server.always(refuse(429, '20'));
      const error = (await finish(connect().get(ConfigMap, target))) as Error;
      expect(error).toMatchObject({ code: 'ETIMEDOUT', cause: { code: 429 } });
      expect(error.message).toMatch(/no answer within 30000 ms - error from a previous attempt: wait 429$/);
    });

    it('until the signal aborts, with its reason', async () => {
      server.always(refuse(503, '60'));
      const controller = new AbortController();
      const call = connect({ timeoutMs: 0 }).get(ConfigMap, target, { signal: controller.signal });
      while (clock.pendingTimers === 0) await settle();
      const reason = new Error('changed my mind');
      controller.abort(reason);
      await expect(call).rejects.toBe(reason);
    });
  });

  describe('deadlines and signals', () => {
    const calls: readonly [string, number, (client: Client, signal?: AbortSignal) => Promise<unknown>][] = [
      ['get', 30_000, (client, signal) => client.get(ConfigMap, target, signal && { signal })],
      ['listPage', 120_000, (client, signal) => client.listPage(ConfigMap, signal && { signal })],
      ['list', 120_000, async (client, signal) => await client.list(ConfigMap, signal && { signal })],
      ['create', 30_000, (client, signal) => client.create(ConfigMap, object, signal && { signal })],
      ['update', 30_000, (client, signal) => client.update(ConfigMap, object, signal && { signal })],
      [
        'patch',
        30_000,
        (client, signal) => client.patch(ConfigMap, target, { type: 'merge', body: {} }, signal && { signal }),
      ],
      [
        'apply',
        30_000,
        (client, signal) => client.apply(ConfigMap, object, { fieldManager: 'm', ...(signal && { signal }) }),
      ],
      ['delete', 30_000, (client, signal) => client.delete(ConfigMap, target, signal && { signal })],
      ['deleteCollection', 120_000, (client, signal) => client.deleteCollection(ConfigMap, signal && { signal })],
      [
        'createSubresource',
        30_000,
        (client, signal) =>
          client.createSubresource(ConfigMap, { ...target, subresource: 'x' }, { body: {}, ...(signal && { signal }) }),
      ],
      ['raw', 30_000, (client, signal) => client.raw({ path: '/healthz', ...(signal && { signal }) })],
      ['podLog', 60_000, (client, signal) => client.podLog(target, signal && { signal })],
    ];
    const asked = (answer: Answer): Promise<void> =>
      new Promise((resolve) => {
        server.always((response, request) => {
          void answer(response, request);
          resolve();
        });
      });

    it.each(calls)('%s fails when no headers have come by its time', async (_, timeoutMs, call) => {
      const silent = asked(() => undefined);
      const result = call(connect()).catch((error: unknown) => error);
      await silent;
      await clock.advance(timeoutMs - 1);
      expect(clock.pendingTimers).toBe(1 + connectionTimers(1));
      await clock.advance(1);
      expect(await result).toMatchObject({ code: 'ETIMEDOUT', message: expect.stringContaining(`${timeoutMs} ms`) });
    });

    it.each(calls)('%s rejects with the reason of its signal', async (_, __, call) => {
      const silent = asked(() => undefined);
      const controller = new AbortController();
      const result = call(connect(), controller.signal).catch((error: unknown) => error);
      await silent;
      const reason = new Error('stop');
      controller.abort(reason);
      expect(await result).toBe(reason);
      await expect(call(connect(), controller.signal)).rejects.toBe(reason);
    });

    it('keeps its time also when the connection never comes to stand', async () => {
      await using silent = await silentPort();
      const client = connect({ timeoutMs: 5000 }, { server: `https://127.0.0.1:${silent.port}` });
      const call = client.get(ConfigMap, target).catch((error: unknown) => error);
      const controller = new AbortController();
      const watch = firstValueFrom(client.watch(ConfigMap, { signal: controller.signal })).catch((e: unknown) => e);
      await silent.connected;
      const reason = new Error('stop');
      controller.abort(reason);
      expect(await watch).toBe(reason);
      await clock.advance(5000);
      expect(await call).toMatchObject({ code: 'ETIMEDOUT' });
    });

    it('fails when the body stops half-way', async () => {
      const half = asked((response) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"kind":');
      });
      const result = connect()
        .get(ConfigMap, target, { timeoutMs: 5000 })
        .catch((error: unknown) => error);
      await half;
      await settle();
      await clock.advance(5000);
      expect(await result).toMatchObject({ code: 'ETIMEDOUT' });
    });

    it('has a code for a body that breaks off and for one that is not JSON', async () => {
      server.next((response, request) => {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '100' });
        response.write('{"kind":', () => request.socket.destroy());
      });
      expect(await finish(connect().get(ConfigMap, target))).toMatchObject({ code: 'ECONNRESET' });
      server.next(text('oops'), text(''));
      await expect(connect().get(ConfigMap, target)).rejects.toMatchObject({ code: 'EBADMSG' });
      await expect(connect().get(ConfigMap, target)).rejects.toThrow(
        '0-length response with status code: 200 and content type: text/plain',
      );
    });
  });

  describe('credentials', () => {
    it('are asked for at each request and once more after a 401', async () => {
      let token = 1;
      const seen: unknown[] = [];
      const credentials: Credentials = {
        headers: () => ({ authorization: `Bearer ${token}` }),
        onUnauthorized: (used) => {
          seen.push(used);
          token++;
          return true;
        },
      };
      server.next(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 })).always(json(object));
      expect(await finish(connect({}, { credentials }).get(ConfigMap, target))).toEqual(object);
      expect(server.requests.map(({ headers }) => headers.authorization)).toEqual(['Bearer 1', 'Bearer 2']);
      expect(seen).toEqual([{ authorization: 'Bearer 1' }]);
    });

    it('are refreshed once a call, not for ever', async () => {
      const credentials: Credentials = { headers: () => ({}), onUnauthorized: () => true };
      server.always(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }));
      expect(isUnauthorized(await finish(connect({}, { credentials }).get(ConfigMap, target)))).toBe(true);
      expect(server.requests).toHaveLength(2);
    });

    it('that are refreshed cost no retry', async () => {
      const credentials: Credentials = { headers: () => ({}), onUnauthorized: () => true };
      server.next(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }), refuse(429, '1'));
      server.always(json(object));
      expect(await finish(connect({ maxRetries: 1 }, { credentials }).get(ConfigMap, target))).toEqual(object);
      expect(server.requests).toHaveLength(3);
      server.next(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }));
      expect(await finish(connect({ maxRetries: 0 }, { credentials }).get(ConfigMap, target))).toEqual(object);
    });

    describe.each<[string, (never: () => Promise<never>) => Credentials]>([
      ['headers', (never) => ({ headers: never })],
      ['certificate', (never) => ({ headers: () => ({}), clientCertificate: never })],
      ['refresh after a 401', (never) => ({ headers: () => ({}), onUnauthorized: never })],
    ])('whose %s never come', (_, credentialsWith) => {
      const hang = (): { readonly asked: Promise<unknown>; readonly credentials: Credentials } => {
        const asking = new EventEmitter();
        const never = (): Promise<never> => {
          asking.emit('asked');
          return new Promise(() => undefined);
        };
        return { asked: once(asking, 'asked'), credentials: credentialsWith(never) };
      };
      beforeEach(() => {
        server.always(json(status(401, 'Unauthorized', 'Unauthorized'), { status: 401 }));
      });

      it.each<[string, (client: Client, signal: AbortSignal) => Promise<unknown>]>([
        ['call', (client, signal) => client.get(ConfigMap, target, { signal })],
        ['list', (client, signal) => client.listPage(ConfigMap, { signal })],
        ['watch', (client, signal) => firstValueFrom(client.watch(ConfigMap, { signal }))],
      ])('end a %s with its signal', async (_verb, open) => {
        const { asked, credentials } = hang();
        const controller = new AbortController();
        const call = open(connect({}, { credentials }), controller.signal).catch((error: unknown) => error);
        await asked;
        controller.abort(new Error('enough'));
        expect(await call).toMatchObject({ message: 'enough' });
      });

      it('end a call with its deadline', async () => {
        const { asked, credentials } = hang();
        const call = connect({}, { credentials }).get(ConfigMap, target, { timeoutMs: 100 });
        const error = call.catch((thrown: unknown) => thrown);
        await asked;
        await clock.advance(100);
        expect(await error).toMatchObject({ code: 'ETIMEDOUT' });
      });
    });

    it('that cannot be had fail the call', async () => {
      const credentials: Credentials = { headers: () => Promise.reject(new Error('vault is sealed')) };
      await expect(connect({}, { credentials }).get(ConfigMap, target)).rejects.toThrow(
        'getting credentials: vault is sealed',
      );
    });

    it('impersonate with one header a group and escaped extra keys', async () => {
      server.always(json(object));
      const impersonate = { user: 'bob', uid: '7', groups: ['a', 'b'], extra: { 'example.com/scope%': ['x', 'y'] } };
      await connect({}, { impersonate, username: 'u', password: 'p:q' }).get(ConfigMap, target);
      const raw = server.last.rawHeaders;
      const values = (name: string): string[] =>
        raw.filter((_, at) => at % 2 === 1 && raw[at - 1]?.toLowerCase() === name);
      expect(values('impersonate-user')).toEqual(['bob']);
      expect(values('impersonate-uid')).toEqual(['7']);
      expect(values('impersonate-group')).toEqual(['a', 'b']);
      expect(values('impersonate-extra-example.com%2fscope%25')).toEqual(['x', 'y']);
      expect(values('authorization')).toEqual([`Basic ${Buffer.from('u:p:q').toString('base64')}`]);
    });
  });

  it('puts the path of the server URL before every path and sends the user agent', async () => {
    server.always(json(object));
    await connect({ userAgent: 'me/1' }, { server: `${server.url}/clusters/one/` }).get(ConfigMap, target);
    expect(server.last.path).toBe('/clusters/one/api/v1/namespaces/n/configmaps/a');
    expect(server.last.headers['user-agent']).toBe('me/1');
    await connect().get(ConfigMap, target);
    expect(server.last.headers['user-agent']).toMatch(/^[\w.-]+\/kapstan-\d+\.\d+\.\d+ \(\w+\/\w+\)$/);
  });

  it('keeps the slash at the end of a raw path, also after a server URL with a path', async () => {
    server.always(json(object));
    for (const path of ['/apis/', '/apis', '/']) {
      await connect().raw({ path });
      expect(server.last.path).toBe(path);
    }
    await connect({}, { server: `${server.url}/clusters/one/` }).raw({ path: '/apis/', query: { a: '1' } });
    expect([server.last.path, server.last.query]).toEqual(['/clusters/one/apis/', { a: '1' }]);
  });

  it('uses its connections again for calls one after another', async () => {
    server.always(json(object));
    const client = connect();
    for (let i = 0; i < 50; i++) await client.get(ConfigMap, target);
    // A call that begins in the same turn in which another ends may find its connection still busy.
    expect(server.connections).toBeLessThanOrEqual(2);
  });

  it('keeps within the rate limit, whose bucket starts full', async () => {
    server.always(json(object));
    const client = connect({ rateLimit: { qps: 2, burst: 3 } });
    const calls = Promise.all(Array.from({ length: 5 }, () => client.get(ConfigMap, target)));
    while (server.requests.length < 3) await settle();
    await settle();
    expect(server.requests).toHaveLength(3);
    await clock.advance(500);
    while (server.requests.length < 4) await settle();
    expect(clock.pendingTimers).toBeGreaterThan(0);
    await clock.advance(500);
    await calls;
    expect(server.requests).toHaveLength(5);
  });

  it('opens a watch at once, whatever the rate limit; its next attempt waits', async () => {
    server.next(json(object), refuse(429, '0')).always(json(object));
    const client = connect({ rateLimit: { qps: 1, burst: 1 } });
    await client.get(ConfigMap, target);
    const subscription = client.watch(ConfigMap).subscribe({ error: () => undefined });
    while (server.requests.length < 2) await settle();
    for (let turns = 0; turns < 5; turns++) await settle();
    expect(server.requests).toHaveLength(2);
    await clock.advance(1000);
    while (server.requests.length < 3) await settle();
    subscription.unsubscribe();
  });

  it('leaves no listener at the signal of a call that is over', async () => {
    server.next(json(object)).always(refuse(404));
    const { signal } = new AbortController();
    const client = connect();
    await client.get(ConfigMap, target, { signal });
    await expect(client.get(ConfigMap, target, { signal })).rejects.toThrow();
    await expect(firstValueFrom(client.watch(ConfigMap, { signal }))).rejects.toThrow();
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('waits at a signal with one listener, however many calls and watches share it, and ends them all', async () => {
    server.always(() => undefined);
    const controller = new AbortController();
    const { signal } = controller;
    const client = connect();
    const rounds = Array.from({ length: 12 }, () => [
      client.get(ConfigMap, target, { signal }),
      client.watchEvents(ConfigMap, { signal }).next(),
      firstValueFrom(client.watch(ConfigMap, { signal })),
      client.exec(target, { command: ['x'], signal }),
    ]);
    const outcomes = Promise.allSettled(rounds.flat());
    expect(getEventListeners(signal, 'abort')).toHaveLength(1);
    controller.abort(new Error('all of them'));
    for (const outcome of await outcomes) expect(outcome).toMatchObject({ reason: { message: 'all of them' } });
    expect(getEventListeners(signal, 'abort')).toHaveLength(0);
  });

  it('hands warnings with code 299 to the handler, by default to the logger, once each', async () => {
    const headers = { warning: '299 - "old \\"API\\"", 299 - "second", 199 - "not this"' };
    server.always(json(object, { headers }));
    const texts: string[] = [];
    await connect({ onWarning: (warning) => texts.push(warning) }).get(ConfigMap, target);
    expect(texts).toEqual(['old "API"', 'second']);
    const logged: string[] = [];
    const ignore = (): void => undefined;
    const logger = { debug: ignore, info: ignore, warn: (line: string) => void logged.push(line), error: ignore };
    const client = connect({ logger });
    await client.get(ConfigMap, target);
    await client.get(ConfigMap, target);
    expect(logged).toEqual(['Warning: old "API"', 'Warning: second']);
  });

  it('publishes each attempt on its diagnostics channel, without the query', async () => {
    const seen: RequestDiagnostics[] = [];
    const listen = (message: unknown): void => void seen.push(message as RequestDiagnostics);
    diagnosticsChannel.subscribe('kapstan:client:request', listen);
    server.next(refuse(429, '0')).always(json({ metadata: {}, items: [] }));
    await finish(connect().listPage(ConfigMap, { labelSelector: 'secret=x' }));
    diagnosticsChannel.unsubscribe('kapstan:client:request', listen);
    expect(seen).toMatchObject([
      { method: 'GET', path: '/api/v1/configmaps', status: 429, attempt: 0 },
      { method: 'GET', path: '/api/v1/configmaps', status: 200, attempt: 1 },
    ]);
  });

  it('reports successful writes to observers, and nothing else', async () => {
    const seen: unknown[] = [];
    const writeObserver: WriteObserver = {
      observeWrite: (token, name, resourceVersion) => void seen.push([token.kind, name, resourceVersion]),
    };
    server.always(json(object));
    const client = connect({ writeObserver });
    await client.get(ConfigMap, target);
    await client.create(ConfigMap, object, { dryRun: true });
    expect(seen).toEqual([]);
    await client.update(ConfigMap, object);
    server.next(json({ kind: 'Status', apiVersion: 'v1', metadata: {}, status: 'Success' }));
    expect(await client.delete(ConfigMap, target)).toBeUndefined();
    server.next(refuse(409));
    await expect(client.update(ConfigMap, object)).rejects.toThrow('wait 409');
    expect(seen).toEqual([['ConfigMap', target, '7']]);
  });

  it('refuses calls after close()', async () => {
    const client = connect();
    await client.close();
    await client.close();
    await expect(client.get(ConfigMap, target)).rejects.toThrow('the client is closed');
  });
});

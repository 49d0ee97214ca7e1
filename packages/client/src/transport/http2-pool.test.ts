import { once } from 'node:events';
import {
  constants,
  createSecureServer,
  type Http2SecureServer,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { AddressInfo, Socket } from 'node:net';
import { type KubernetesObject, type Logger, resource, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import { Client } from '../client.ts';
import type { ClientOptions } from '../config/client-config.ts';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { http2Limits } from './http2-health.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a', resourceVersion: '1' } };
const target = { name: 'a' };
const event = `${JSON.stringify({ type: 'ADDED', object: node })}\n`;
const { NGHTTP2_ENHANCE_YOUR_CALM, NGHTTP2_REFUSED_STREAM, NGHTTP2_CANCEL, NGHTTP2_NO_ERROR } = constants;

type Play = (stream: ServerHttp2Stream, headers: Readonly<Record<string, unknown>>) => void;

let authority: TestAuthority;
beforeAll(async () => {
  authority = await testAuthority();
});

/** A server whose sessions and streams a test plays itself. */
interface Stage {
  readonly url: string;
  readonly server: Http2SecureServer;
  readonly sessions: ServerHttp2Session[];
  readonly sockets: Socket[];
  /** Methods and paths in order of arrival. */
  readonly seen: string[];
  readonly open: Set<ServerHttp2Stream>;
  play: Play;
}

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const answer: Play = (stream, headers) => {
  const isWatch = String(headers[':path']).includes('watch=');
  stream.respond({ ':status': 200, 'content-type': 'application/json' });
  if (isWatch) stream.write(event);
  else stream.end(JSON.stringify(node));
};

async function start(settings: Readonly<Record<string, unknown>> = {}): Promise<Stage> {
  const pair = await authority.issue('server', ['127.0.0.1']);
  const server = createSecureServer({ ...pair, settings, maxSessionMemory: 64 });
  const stage: Stage = { url: '', server, sessions: [], sockets: [], seen: [], open: new Set(), play: answer };
  server.on('secureConnection', (socket: Socket) => void stage.sockets.push(socket.on('error', () => undefined)));
  server.on('session', (session) => void stage.sessions.push(session.on('error', () => undefined)));
  server.on('stream', (stream, headers) => {
    stage.seen.push(`${headers[':method']} ${headers[':path']}`);
    stage.open.add(stream.on('error', () => undefined));
    stream.once('close', () => stage.open.delete(stream)).resume();
    stage.play(stream, headers);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    for (const socket of stage.sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return Object.assign(stage, { url: `https://127.0.0.1:${(server.address() as AddressInfo).port}` });
}

function connect({ url }: Pick<Stage, 'url'>, options: ClientOptions = {}): Client {
  const client = new Client({ server: url, tls: { ca: authority.ca } }, { http2: true, ...options });
  closers.push(() => client.close());
  return client;
}

const settle = (): Promise<unknown> => new Promise(setImmediate);
const until = async (isTrue: () => boolean): Promise<void> => {
  while (!isTrue()) await settle();
};

/** Advances virtual time until the work is over. */
async function finish<T>(clock: VirtualClock, work: Promise<T>): Promise<T | { readonly code?: unknown }> {
  let isOver = false;
  const done = work
    .catch((error: { readonly code?: unknown }) => error)
    .finally(() => {
      isOver = true;
    });
  while (!isOver) {
    await settle();
    await clock.advance(250);
  }
  return await done;
}

describe('a client over HTTP/2', () => {
  it('carries calls and watches on one connection', async () => {
    const stage = await start();
    const client = connect(stage);
    const watches = Array.from({ length: 50 }, () => client.watchEvents(Node));
    await Promise.all(watches.map((watch) => watch.next()));
    expect(await client.get(Node, target)).toEqual(node);
    expect([stage.sockets.length, stage.open.size]).toEqual([1, 50]);
    for (const watch of watches) await watch.return();
    await until(() => stage.open.size === 0);
    expect(stage.sockets.length).toBe(1);
  });

  it('opens another connection when the server takes no more streams on one', async () => {
    const stage = await start({ maxConcurrentStreams: 5 });
    const client = connect(stage);
    const watches = Array.from({ length: 12 }, () => client.watchEvents(Node));
    await Promise.all(watches.map((watch) => watch.next()));
    expect(stage.sockets.length).toBe(3);
    expect(await client.get(Node, target)).toEqual(node);
    expect(stage.sockets.length).toBe(3);
    for (let turn = 0; turn < 20; turn++) await settle();
    // A free place is used before a connection is opened.
    const last = Array.from({ length: 3 }, () => client.watchEvents(Node));
    await Promise.all(last.map((watch) => watch.next()));
    await watches[0]?.return();
    await until(() => stage.open.size === 14);
    for (let turn = 0; turn < 20; turn++) await settle();
    await client.watchEvents(Node).next();
    expect([stage.open.size, stage.sockets.length]).toEqual([15, 3]);
  });

  it('lets running watches go on after a graceful GOAWAY, and opens a new connection for what comes', async () => {
    const stage = await start();
    const client = connect(stage);
    const watch = client.watchEvents(Node);
    await watch.next();
    const [old] = [...stage.open];
    stage.sessions[0]?.goaway(NGHTTP2_NO_ERROR, 2 ** 31 - 1);
    await settle();
    expect(await client.get(Node, target)).toEqual(node);
    expect(stage.sockets.length).toBe(2);
    old?.write(event);
    expect((await watch.next()).value).toMatchObject({ type: 'ADDED' });
    old?.end();
    expect(await watch.next()).toEqual({ done: true, value: undefined });
    await until(() => stage.sessions[0]?.destroyed === true);
  });

  it.each([
    ['NO_ERROR', NGHTTP2_NO_ERROR],
    ['ENHANCE_YOUR_CALM', NGHTTP2_ENHANCE_YOUR_CALM],
  ])('sends again what a GOAWAY with %s says was not processed, also a create', async (_, code) => {
    const stage = await start();
    const client = connect(stage);
    await client.get(Node, target);
    stage.play = (stream) => {
      stage.play = answer;
      // Only stream 1, the first get, was processed.
      stream.session?.goaway(code, 1);
    };
    expect(await client.create(Node, node)).toEqual(node);
    expect(stage.seen).toEqual(['GET /api/v1/nodes/a', 'POST /api/v1/nodes', 'POST /api/v1/nodes']);
  });

  it('does not send a create again that the leaving server may have processed', async () => {
    const stage = await start();
    const client = connect(stage, { maxRetries: 0 });
    stage.play = (stream) => stream.session?.goaway(NGHTTP2_ENHANCE_YOUR_CALM, stream.id);
    await expect(client.create(Node, node)).rejects.toMatchObject({ name: 'TransportError', code: 'ECONNRESET' });
    expect(stage.seen).toHaveLength(1);
  });

  it('sends a refused stream again: at once, then ever later, six times', async () => {
    const clock = new VirtualClock();
    const stage = await start();
    const client = connect(stage, { clock, timeoutMs: 0, maxRetries: 0 });
    let refusals = 1;
    stage.play = (stream, headers) => {
      if (refusals-- > 0) stream.close(NGHTTP2_REFUSED_STREAM);
      else answer(stream, headers);
    };
    expect(await client.create(Node, node)).toEqual(node);
    expect([stage.seen.length, clock.monotonicNow()]).toEqual([2, 0]);
    refusals = Number.POSITIVE_INFINITY;
    expect(await finish(clock, client.create(Node, node))).toMatchObject({ code: 'ECONNRESET' });
    expect(stage.seen.length).toBe(2 + 7);
    // 1 + 2 + 4 + 8 + 16 s, and up to a tenth more.
    expect(clock.monotonicNow()).toBeGreaterThanOrEqual(31_000);
    expect(clock.monotonicNow()).toBeLessThan(36_000);
  });

  it.each([
    ['resets the stream without an error', NGHTTP2_NO_ERROR],
    ['cancels the stream', NGHTTP2_CANCEL],
    ['resets the stream with an error', constants.NGHTTP2_INTERNAL_ERROR],
  ])('takes no answer for whole when the server %s', async (_, code) => {
    const stage = await start();
    const client = connect(stage, { maxRetries: 0 });
    stage.play = (stream) => {
      stream.respond({ ':status': 200, 'content-type': 'text/plain' });
      // The data exceed the window, so the reset overtakes the end that Node writes before it.
      stream.write(Buffer.alloc(6 * 1024 * 1024, 'x'));
      void settle().then(() => stream.close(code));
    };
    await expect(client.raw({ path: '/x' })).rejects.toMatchObject({ name: 'TransportError', code: 'ECONNRESET' });
    const log = await client.rawStream({ path: '/x' });
    await expect(log.toArray()).rejects.toMatchObject({ code: expect.stringMatching(/^E/) });
    expect(stage.sockets.length).toBe(1);
  });

  it('finds a peer that is gone by a ping, and sends what is next over a new connection', async () => {
    const clock = new VirtualClock();
    const stage = await start();
    const client = connect(stage, { clock });
    const watch = client.watchEvents(Node);
    await watch.next();
    const next = watch.next().catch((error: unknown) => error);
    // The socket stays open, but sends nothing.
    stage.sockets[0]?.pause();
    (stage.sockets[0] as unknown as { _handle: { readStop(): void } })._handle.readStop();
    await clock.advance(59_999);
    expect(stage.sockets.length).toBe(1);
    await clock.advance(1);
    const message = expect.stringContaining('http2: client connection lost');
    expect(await next).toMatchObject({ name: 'TransportError', code: 'ECONNRESET', message });
    expect(await client.get(Node, target)).toEqual(node);
    expect(stage.sockets.length).toBe(2);
  });

  it('keeps a silent connection whose pings are answered, and gives up one that is unused for 90 s', async () => {
    const clock = new VirtualClock();
    const stage = await start();
    const client = connect(stage, { clock });
    let pings = 0;
    const watch = client.watchEvents(Node);
    await watch.next();
    stage.sessions[0]?.on('ping', () => pings++);
    for (let seconds = 0; seconds < 600; seconds++) {
      await clock.advance(1000);
      for (let turn = 0; turn < 5; turn++) await settle();
    }
    expect([pings > 10, stage.sockets[0]?.destroyed]).toEqual([true, false]);
    await watch.return();
    await clock.advance(120_000);
    await until(() => stage.sockets[0]?.destroyed === true);
    expect(clock.pendingTimers).toBe(0);
  });

  it('is not held up by a watch that nobody reads', async () => {
    const stage = await start();
    const client = connect(stage);
    let written = 0;
    stage.play = (stream, headers) => {
      if (!String(headers[':path']).includes('watch=')) return answer(stream, headers);
      stream.respond({ ':status': 200, 'content-type': 'application/json' });
      const line = `${JSON.stringify({ type: 'ADDED', object: { ...node, data: 'x'.repeat(65_536) } })}\n`;
      const more = (): void => {
        while (!stream.destroyed && written < 200_000_000) {
          written += line.length;
          if (!stream.write(line)) return void stream.once('drain', more);
        }
      };
      more();
    };
    const slow = client.watchEvents(Node);
    await slow.next();
    await once([...stage.open][0] as ServerHttp2Stream, 'drain').catch(() => undefined);
    let before = -1;
    while (before !== written) {
      before = written;
      for (let turn = 0; turn < 50; turn++) await client.get(Node, target);
    }
    // The limit covers the stream's window of 4 MiB and the buffers on both sides.
    expect(written).toBeLessThan(16 * 1024 * 1024);
    expect(stage.sockets.length).toBe(1);
    await slow.return();
  });

  it('speaks HTTP/1.1 with a server that does not know better, and asks again after five minutes', async () => {
    const clock = new VirtualClock();
    const { createServer } = await import('node:https');
    const pair = await authority.issue('server', ['127.0.0.1']);
    const versions: string[] = [];
    const old = createServer({ ...pair, ALPNProtocols: ['http/1.1'] }, (request, response) => {
      versions.push(request.httpVersion);
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(node));
    });
    let connections = 0;
    old.on('connection', () => connections++);
    await new Promise<void>((resolve) => old.listen(0, '127.0.0.1', resolve));
    const client = connect({ url: `https://127.0.0.1:${(old.address() as AddressInfo).port}` }, { clock });
    closers.push(async () => {
      old.closeAllConnections();
      await new Promise((resolve) => old.close(resolve));
    });
    for (let call = 0; call < 3; call++) await client.get(Node, target);
    expect(versions).toEqual(['1.1', '1.1', '1.1']);
    const before = connections;
    await clock.advance(299_000);
    await client.get(Node, target);
    expect(connections).toBe(before);
    await clock.advance(1000);
    await client.get(Node, target);
    expect(connections).toBeGreaterThan(before);
  });

  it('is an HTTP/1.1 client where the variable says so', async () => {
    const stage = await start();
    vi.stubEnv('DISABLE_HTTP2', '1');
    try {
      await expect(connect(stage, { maxRetries: 0 }).get(Node, target)).rejects.toMatchObject({
        name: 'TransportError',
      });
    } finally {
      vi.unstubAllEnvs();
    }
    expect(await connect(stage).get(Node, target)).toEqual(node);
  });

  it('opens one connection for calls that begin together, and none for calls that are all given up', async () => {
    const stage = await start();
    const client = connect(stage);
    const controller = new AbortController();
    const calls = Array.from({ length: 20 }, () => client.get(Node, target, { signal: controller.signal }));
    const outcomes = Promise.allSettled(calls);
    controller.abort(new Error('enough'));
    expect((await outcomes).map(({ status }) => status)).toEqual(Array(20).fill('rejected'));
    await Promise.all(Array.from({ length: 20 }, () => client.get(Node, target)));
    expect([stage.sessions.length, stage.seen.length]).toEqual([1, 20]);
  });

  it('does not reset the stream of an answer that it has read to its end', async () => {
    const stage = await start();
    const client = connect(stage);
    const codes: (number | undefined)[] = [];
    stage.play = (stream, headers) => {
      stream.once('close', () => codes.push(stream.rstCode));
      answer(stream, headers);
    };
    for (let call = 0; call < 20; call++) await client.get(Node, target);
    await until(() => codes.length === 20);
    expect(new Set(codes)).toEqual(new Set([NGHTTP2_NO_ERROR]));
  });

  it('goes on after many large bodies that the server refused before it read them', async () => {
    const stage = await start();
    stage.play = (stream, headers) => {
      if (headers[':method'] === 'GET') return answer(stream, headers);
      stream.respond({ ':status': 403, 'content-type': 'application/json' });
      stream.end('{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403}');
      stream.close(NGHTTP2_NO_ERROR);
    };
    const client = connect(stage, { maxRetries: 0 });
    const large = { metadata: { name: 'a', annotations: { text: 'x'.repeat(2_900_000) } } };
    for (let round = 0; round < 30; round++)
      await expect(client.create(Node, large)).rejects.toMatchObject({ code: 403 });
    expect(await client.get(Node, target)).toMatchObject(node);
  });

  it('gives up a server that takes no request on any connection', async () => {
    const stage = await start({ maxConcurrentStreams: 0 });
    const clock = new VirtualClock();
    const client = connect(stage, { clock, maxRetries: 0, timeoutMs: 0 });
    const result = await finish(clock, client.get(Node, target));
    expect(result).toMatchObject({ code: 'ECONNRESET' });
    expect(stage.sockets.length).toBe(7);
  });

  it('sends large bodies and many headers whole', async () => {
    const stage = await start();
    const client = connect(stage);
    let received = 0;
    stage.play = (stream) => {
      stream.on('data', (chunk: Buffer) => {
        received += chunk.length;
      });
      const headers = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`x-many-${at}`, 'v']));
      stream.once('end', () => {
        stream.respond({ ':status': 200, 'content-type': 'application/json', ...headers });
        stream.end(JSON.stringify(node));
      });
    };
    const body = { ...node, data: { text: 'ü'.repeat(1_000_000) } };
    expect(await client.create(Node, body as never)).toEqual(node);
    expect(received).toBe(Buffer.byteLength(JSON.stringify(body)));
  });
});

describe('the limits of HTTP/2', () => {
  it.each([
    [{}, 30_000, 15_000, 0],
    [{ HTTP2_READ_IDLE_TIMEOUT_SECONDS: '0', HTTP2_PING_TIMEOUT_SECONDS: '7' }, 0, 7000, 0],
    [{ HTTP2_READ_IDLE_TIMEOUT_SECONDS: 'x', HTTP2_PING_TIMEOUT_SECONDS: '-1' }, 30_000, 15_000, 2],
  ])('come from the environment: %o', (env, readIdleMs, pingTimeoutMs, warnings) => {
    let warned = 0;
    const logger: Logger = { ...silentLogger, warn: () => void warned++ };
    expect(http2Limits(env, logger)).toEqual({ readIdleMs, pingTimeoutMs });
    expect(warned).toBe(warnings);
  });
});

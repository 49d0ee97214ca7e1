import { readFile } from 'node:fs/promises';
import { Agent, type IncomingMessage, request } from 'node:http';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { connect, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from './http-server.ts';

let server: HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

const ok = async (exchange: Exchange): Promise<void> => exchange.send(200, Buffer.from('ok'));

async function start(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  server = await startHttpServer({ handle: ok, drainMs: 5_000, ...options });
  return server;
}

async function tls(): Promise<{ readonly cert: string; readonly key: string }> {
  const { cert, key } = await selfSigned('CN=127.0.0.1');
  return { cert, key };
}

/** A connection that keeps the bytes it receives. */
class Wire {
  text = '';
  isClosed = false;
  readonly #socket: Socket;
  #wake: () => void = () => undefined;

  constructor(socket: Socket) {
    this.#socket = socket;
    socket.on('data', (chunk) => {
      this.text += String(chunk);
      this.#wake();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.isClosed = true;
      this.#wake();
    });
  }

  write(text: string): void {
    this.#socket.write(text);
  }
  destroy(): void {
    this.#socket.destroy();
  }
  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => (this.#wake = resolve));
  }
}

const plain = (to: HttpServer): Wire => new Wire(connect(to.port, '127.0.0.1'));
const secure = (to: HttpServer, cert: string): Wire =>
  new Wire(connectTls({ port: to.port, host: '127.0.0.1', ca: cert, ALPNProtocols: ['http/1.1'] }));
const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`;

/** Answers /held only when told to, and everything else at once. */
function holding() {
  let release: () => void = () => undefined;
  let arrived: () => void = () => undefined;
  const released = new Promise<void>((resolve) => (release = resolve));
  const isHeld = new Promise<void>((resolve) => (arrived = resolve));
  const handle = async (exchange: Exchange): Promise<void> => {
    if (exchange.path === '/held') {
      arrived();
      await released;
    }
    await ok(exchange);
  };
  return { handle, release: () => release(), isHeld };
}

describe('a close', () => {
  it('ends idle HTTP/1.1 connections at once and lets the busy one end', async () => {
    const held = holding();
    const running = await start({ handle: held.handle });
    const [idle, busy, fresh] = [plain(running), plain(running), plain(running)];
    idle.write(get('/'));
    await idle.until(() => idle.text.endsWith('ok'));
    busy.write(get('/held'));
    await held.isHeld;
    const closed = running.close();
    await idle.until(() => idle.isClosed);
    await fresh.until(() => fresh.isClosed);
    expect(busy.isClosed).toBe(false);
    held.release();
    await busy.until(() => busy.isClosed);
    expect(busy.text).toMatch(/connection: close[\s\S]*ok$/i);
    await closed;
  });

  it('does so over TLS, where HTTP/2 sessions end their streams first', async () => {
    const held = holding();
    const pair = await tls();
    const running = await start({ handle: held.handle, tls: pair });
    const idle = secure(running, pair.cert);
    idle.write(get('/'));
    await idle.until(() => idle.text.endsWith('ok'));
    const sessions = [0, 1].map(() => connectHttp2(running.url, { ca: pair.cert }));
    const ends = sessions.map((session) => new Promise((resolve) => session.once('close', resolve)));
    const [idleSession, busySession] = sessions as [ClientHttp2Session, ClientHttp2Session];
    await answerOf(idleSession, '/');
    const answer = answerOf(busySession, '/held');
    await held.isHeld;
    const closed = running.close();
    await idle.until(() => idle.isClosed);
    await ends[0];
    expect(busySession.destroyed).toBe(false);
    held.release();
    expect(await answer).toBe('200 ok');
    await Promise.all([closed, ends[1]]);
  });

  it('leaves a busy HTTP/1.1 connection of a TLS server alone until its answer is out', async () => {
    const held = holding();
    const pair = await tls();
    const running = await start({ handle: held.handle, tls: pair });
    const [idle, busy] = [secure(running, pair.cert), secure(running, pair.cert)];
    idle.write(get('/'));
    await idle.until(() => idle.text.endsWith('ok'));
    busy.write(get('/held'));
    await held.isHeld;
    const closed = running.close();
    await idle.until(() => idle.isClosed);
    held.release();
    await busy.until(() => busy.isClosed);
    expect(busy.text).toMatch(/ 200 OK[\s\S]*ok$/);
    await closed;
  });

  it('that takes five seconds names the requests that it waits for, without their queries', async () => {
    const held = holding();
    const clock = new VirtualClock();
    const told: (LogFields | undefined)[] = [];
    const logger = { ...silentLogger, info: (_message: string, fields?: LogFields) => void told.push(fields) };
    const running = await start({ handle: held.handle, clock, logger });
    const busy = plain(running);
    busy.write(get('/held?token=secret'));
    await held.isHeld;
    const closed = running.close(60_000);
    await clock.advance(4_999);
    expect(told).toEqual([]);
    await clock.advance(1);
    expect(told).toEqual([{ requests: 1, first: ['GET /held'], connections: 1 }]);
    held.release();
    await closed;
    await clock.advance(60_000);
    expect(told).toHaveLength(1);
  });
});

function answerOf(session: ClientHttp2Session, path: string): Promise<string> {
  const stream = session.request({ ':path': path });
  return new Promise((resolve, reject) => {
    let text = '';
    stream.on('response', (headers) => (text = `${headers[':status']} `));
    stream.on('data', (chunk) => (text += String(chunk)));
    stream.on('end', () => resolve(text));
    stream.on('error', reject);
  });
}

/** Returns the timers of connections on the server's port, as Linux shows them: 2 = the probe of an idle connection. */
async function timersOf(port: number): Promise<string[]> {
  const local = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const rows = (await readFile('/proc/net/tcp', 'utf8')).split('\n').map((line) => line.trim().split(/\s+/));
  return rows.filter(([, own, , state]) => own === local && state === '01').map((row) => row[5] ?? '');
}

describe.runIf(process.platform === 'linux')('an idle connection', () => {
  it.each(['plain', 'TLS'])('is probed after 30 s when it is %s', async (kind) => {
    const pair = await tls();
    const running = await start(kind === 'TLS' ? { tls: pair } : {});
    const wire = kind === 'TLS' ? secure(running, pair.cert) : plain(running);
    wire.write(get('/'));
    await wire.until(() => wire.text.endsWith('ok'));
    // A write that waits for its acknowledgement briefly shows another timer.
    let timers = await timersOf(running.port);
    while (timers.some((timer) => timer.startsWith('01'))) timers = await timersOf(running.port);
    expect(timers).toHaveLength(1);
    const [type, left = ''] = (timers[0] ?? '').split(':');
    expect(type).toBe('02');
    expect(Number.parseInt(left, 16) / 100).toBeLessThanOrEqual(30);
    wire.destroy();
  });
});

describe('the chance of GOAWAY', () => {
  it.each([
    [0, 0, false],
    [0.02, 0.02, false],
    [0.02, 0.019, true],
  ])('%s with the draw %s sends an HTTP/2 client away: %s', async (goawayChance, draw, isSent) => {
    const { cert, key } = await tls();
    const { url } = await start({ tls: { cert, key }, goawayChance, random: () => draw });
    const session = connectHttp2(url, { ca: cert });
    let goaways = 0;
    session.on('goaway', (code) => {
      expect(code).toBe(0);
      goaways += 1;
    });
    const closed = new Promise((resolve) => session.once('close', resolve));
    // The stream on which the request arrived still gets its answer.
    const stream = session.request({ ':path': '/' });
    let text = '';
    for await (const chunk of stream) text += String(chunk);
    expect(text).toBe('ok');
    if (isSent) await closed;
    expect([goaways, session.closed]).toEqual(isSent ? [1, true] : [0, false]);
    session.destroy();
  });

  it('leaves HTTP/1.1 clients alone', async () => {
    const to = await start({ goawayChance: 1 });
    const wire = plain(to);
    wire.write(get('/a'));
    await wire.until(() => wire.text.endsWith('ok'));
    expect([wire.text.includes('Connection: close'), wire.isClosed]).toEqual([false, false]);
    wire.destroy();
  });
});

describe('a handler that fails', () => {
  const handle = async (exchange: Exchange): Promise<void> => {
    if (exchange.path === '/ok') return exchange.send(200, Buffer.from('ok'));
    throw new Error('no answer');
  };

  it('ends an HTTP/1.1 connection and an HTTP/2 stream, and the server goes on', async () => {
    const pair = await tls();
    const running = await start({ handle, tls: pair });
    const wire = secure(running, pair.cert);
    wire.write(get('/bad'));
    await wire.until(() => wire.isClosed);
    expect(wire.text).toBe('');
    const session = connectHttp2(running.url, { ca: pair.cert });
    await expect(answerOf(session, '/bad')).rejects.toThrow('NGHTTP2_INTERNAL_ERROR');
    expect(await answerOf(session, '/ok')).toBe('200 ok');
    session.close();
  });
});

describe('a request that cannot be parsed', () => {
  const bad = /^HTTP\/1\.1 400 Bad Request\r\n[\s\S]*Connection: close[\s\S]*\r\n\r\n400 Bad Request$/;
  it.each([
    ['a path with half an escape', get('/a%2'), bad],
    ['no HTTP', 'hello\r\n\r\n', bad],
    ['a header beyond 1 MiB', `${get('/').trimEnd()}\r\nA: ${'x'.repeat(1_060_000)}\r\n\r\n`, /^HTTP\/1\.1 431 /],
  ])('is answered and its connection closed: %s', async (_, text, expected) => {
    const wire = plain(await start());
    wire.write(text);
    await wire.until(() => wire.isClosed);
    expect(wire.text).toMatch(expected);
  });

  it('is none with a URL of 500 kB', async () => {
    const wire = plain(await start());
    wire.write(get(`/?labelSelector=${'x'.repeat(500_000)}`));
    await wire.until(() => wire.text.endsWith('ok'));
    wire.destroy();
  });
});

describe('a body that nobody reads', () => {
  const refuse = async (exchange: Exchange): Promise<void> => exchange.send(401, Buffer.from('who?'));
  const post = (length: number): string => `POST / HTTP/1.1\r\nHost: x\r\nContent-Length: ${length}\r\n\r\n`;

  it('is dropped when it is short, and the connection is used again', async () => {
    const wire = plain(await start({ handle: refuse }));
    wire.write(post(1000));
    await wire.until(() => wire.text.endsWith('who?'));
    wire.write(`${'x'.repeat(1000)}${get('/')}`);
    await wire.until(() => wire.text.match(/who\?/g)?.length === 2);
    expect(wire.text).not.toMatch(/connection: close/i);
    wire.destroy();
  });

  it('is cut off when its Content-Length is large', async () => {
    const wire = plain(await start({ handle: refuse }));
    wire.write(post(300_000));
    await wire.until(() => wire.isClosed);
    expect(wire.text).toMatch(/^HTTP\/1\.1 401 [\s\S]*connection: close[\s\S]*who\?$/i);
  });

  it('is cut off when it turns out to be long', async () => {
    const wire = plain(await start({ handle: refuse }));
    wire.write('POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n');
    await wire.until(() => wire.text.endsWith('who?'));
    const chunk = `10000\r\n${'x'.repeat(65_536)}\r\n`;
    for (let n = 0; n < 6; n++) wire.write(chunk);
    await wire.until(() => wire.isClosed);
  });
});

describe('a body beyond the limit', () => {
  const read = async (exchange: Exchange): Promise<void> => {
    const size = await exchange.readBody(1000).then(
      (body) => body.length,
      (error: Error) => error.message,
    );
    exchange.send(200, Buffer.from(String(size)));
  };
  const tooLarge = 'Request entity too large: limit is 1000';

  it('is answered before it has come whole, and cut off', async () => {
    const wire = plain(await start({ handle: read }));
    wire.write(`POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n7d0\r\n${'x'.repeat(2000)}\r\n`);
    await wire.until(() => wire.isClosed);
    expect(wire.text).toContain(tooLarge);
    expect(wire.text).toMatch(/connection: close/i);
  });

  it('is answered also when the client goes on sending', async () => {
    const running = await start({ handle: read });
    const agent = new Agent({ keepAlive: true });
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const sent = request(running.url, { method: 'POST', agent, headers: { 'content-length': 3_000_000 } }, resolve);
      sent.on('error', reject);
      sent.write(Buffer.alloc(1_500_000));
    });
    let text = '';
    for await (const chunk of answer) text += String(chunk);
    expect([text, answer.headers.connection]).toEqual([tooLarge, 'close']);
    agent.destroy();
  });

  it('is cut off by the stream alone over HTTP/2', async () => {
    const pair = await tls();
    const running = await start({ handle: read, tls: pair });
    const session = connectHttp2(running.url, { ca: pair.cert });
    const stream = session.request({ ':path': '/', ':method': 'POST' }, { endStream: false });
    stream.write(Buffer.alloc(2000));
    let text = '';
    stream.on('data', (chunk) => (text += String(chunk)));
    await new Promise((resolve) => stream.once('close', resolve));
    expect([text, stream.rstCode]).toEqual([tooLarge, 0]);
    expect(session.destroyed).toBe(false);
    expect(await answerOf(session, '/')).toBe('200 0');
    session.close();
  });
});

import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

let server: HttpServer | undefined;
const sockets: Socket[] = [];
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.destroy();
  await server?.close();
  server = undefined;
});

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** Number of listeners on a connection each time a request on it was answered. */
const listeners: number[] = [];

/** Paths of the requests that reached the handler. */
const begun: string[] = [];

async function answer(exchange: Exchange): Promise<void> {
  const { socket, path } = exchange;
  begun.push(path);
  listeners.push(
    ...['close', 'timeout', 'error', 'data', 'drain', 'end'].map((name) => socket?.listenerCount(name) ?? 0),
  );
  if (exchange.isUpgrade) {
    const { socket: mine, head } = exchange.takeOver();
    mine.end(`HTTP/1.1 101 Switching Protocols\r\n\r\n${path} and ${Buffer.from(head)}`);
    return;
  }
  if (path === '/large') {
    const stream = exchange.open(200);
    for (let i = 0; i < 64; i++) if (!stream.write(Buffer.alloc(65_536, 'x'))) await stream.drained();
    return stream.end();
  }
  if (path === '/late') await nextTurn();
  if (path === '/measured') return exchange.send(200, Buffer.from(`${(await exchange.readBody(1e6)).length} bytes`));
  exchange.send(200, Buffer.from(path));
}

/** `idleMs` is the connection's idle time between two requests. */
async function open(kind: string, idleMs?: number): Promise<Socket> {
  const { cert, key } = await selfSigned('CN=127.0.0.1');
  server = await startHttpServer({
    handle: answer,
    upgrades: ({ headers }) => headers.upgrade === 'mine',
    drainMs: 0,
    ...(kind === 'TLS' && { tls: { cert, key } }),
    keepAliveMs: idleMs,
  });
  const to = { port: server.port, host: '127.0.0.1' };
  const socket = kind === 'TLS' ? connectTls({ ...to, ca: cert }) : connect(to);
  sockets.push(socket);
  await once(socket, kind === 'TLS' ? 'secureConnect' : 'connect');
  listeners.length = 0;
  begun.length = 0;
  return socket;
}

const get = (path: string, protocol?: string): string =>
  `GET ${path} HTTP/1.1\r\nHost: x\r\n${protocol === undefined ? '' : `Connection: Upgrade\r\nUpgrade: ${protocol}\r\n`}\r\n`;
const last = 'GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n';
const bodies = (answers: string): string[] => answers.match(/(?<=\r\n\r\n)[^H]+/g) ?? [];

describe.each(['plain', 'TLS'])('requests sent ahead on a connection that is %s', (kind) => {
  it('are answered in turn, with an upgrade behind them', async () => {
    const socket = await open(kind);
    socket.write(`${get('/late')}${get('/a')}${get('/late')}${get('/b', 'mine')}bytes`);
    expect(bodies(await text(socket))).toEqual(['/late', '/a', '/late', '/b and bytes']);
  });

  it('are answered in turn when they offer what nobody speaks', async () => {
    const socket = await open(kind);
    const paths = Array.from({ length: 40 }, (_, at) => (at % 3 === 0 ? '/late' : `/${at}`));
    socket.write(paths.map((path, at) => get(path, at % 2 === 0 ? 'theirs' : undefined)).join('') + last);
    expect(bodies(await text(socket))).toEqual([...paths, '/last']);
    expect(Math.max(...listeners)).toBeLessThan(10);
  });

  it.each([
    ['more headers than allowed', 1, 2_100],
    ['so many offers that the rest is allowed', 200, 2_000],
  ])('are never read from the body of a request with an offer and %s', async (_, offers, others) => {
    const socket = await open(kind);
    const inner = get('/inner');
    const head = `POST /outer HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\n${'Upgrade: theirs\r\n'.repeat(offers)}`;
    socket.write(`${head}${'x-i: 1\r\n'.repeat(others)}Content-Length: ${inner.length}\r\n\r\n${inner}`);
    const answers = await text(socket);
    expect(answers).toMatch(/^HTTP\/1\.1 431 /);
    expect(answers).not.toContain('/inner');
  });

  it('leave no listeners behind, however many wait', async () => {
    const socket = await open(kind);
    socket.write(get('/late').repeat(100) + last);
    expect(bodies(await text(socket))).toHaveLength(101);
    expect(Math.max(...listeners)).toBeLessThan(10);
  });

  it('are upgraded after an answer that waits for room', async () => {
    const socket = await open(kind);
    socket.pause();
    socket.write(get('/large') + get('/b', 'mine'));
    for (let i = 0; i < 50; i++) await nextTurn();
    const answers = await text(socket);
    expect(answers.length).toBeGreaterThan(64 * 65_536);
    expect(answers).toMatch(/101 Switching Protocols\r\n\r\n\/b and $/);
  });

  it('are read whole, whatever their size, while an answer waits for room', async () => {
    const socket = await open(kind);
    socket.pause();
    socket.write(get('/large').repeat(4));
    for (let i = 0; i < 50; i++) await nextTurn();
    const post = 'POST /measured HTTP/1.1\r\nHost: x\r\nContent-Length: 200000\r\nConnection: close\r\n\r\n';
    socket.write(`${post}${'y'.repeat(200_000)}`);
    expect(await text(socket)).toMatch(/x\r\n0\r\n\r\nHTTP\/1\.1 200 OK\r\n[\s\S]*200000 bytes$/);
  });

  it('are given up with the connection', async () => {
    const socket = await open(kind);
    socket.write(get('/large') + get('/b', 'mine'));
    await once(socket, 'data');
    socket.destroy();
    await server?.close();
    for (let i = 0; i < 50; i++) await nextTurn();
    expect(begun).toEqual(['/large']);
  });

  it('are no CONNECT, which is answered, and ends the connection', async () => {
    const socket = await open(kind);
    socket.write(`${get('/a')}CONNECT example.com:443 HTTP/1.1\r\nHost: x\r\n\r\n`);
    expect(bodies(await text(socket))).toEqual(['/a', 'example.com:443']);
  });
});

import { once } from 'node:events';
import { connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from './http-server.ts';

let server: HttpServer | undefined;
let pair: { readonly cert: string; readonly key: string };
beforeEach(async () => {
  pair = await selfSigned('CN=127.0.0.1');
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(kind: string, options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const handle: HttpServerOptions['handle'] = async (exchange) => exchange.send(200, Buffer.from('ok'));
  const tls = kind === 'plain' ? {} : { tls: pair };
  server = await startHttpServer({ handle, upgrades: () => true, drainMs: 0, ...tls, ...options });
  return server;
}

/** Returns status line and body of the answer to a head. */
async function ask(kind: string, to: HttpServer, head: string): Promise<string> {
  const at = { port: to.port, host: '127.0.0.1' };
  const socket = kind === 'plain' ? connect(at) : connectTls({ ...at, ca: pair.cert });
  socket.on('error', () => undefined);
  socket.write(`${head}\r\n`);
  const answer = await text(socket);
  return `${answer.split('\r\n')[0]} | ${answer.split('\r\n\r\n')[1]}`;
}

const close = 'Connection: close\r\n';
const host = 'Host: x\r\n';
const ok = 'HTTP/1.1 200 OK | ok';
const upgrade = 'Connection: Upgrade\r\nUpgrade: websocket\r\n';

describe.each(['plain', 'TLS'])('a head on a connection that is %s', (kind) => {
  // The texts come from kube-apiserver 1.36.3.
  const noHost = 'Bad Request: missing required Host header';
  const badHost = 'Bad Request: malformed Host header';
  const badName = 'Bad Request: invalid header name';
  const version = 'HTTP Version Not Supported: unsupported protocol version';
  it.each([
    ['a host', `GET / HTTP/1.1\r\n${host}${close}`, ok],
    ['no host', `GET / HTTP/1.1\r\n${close}`, `HTTP/1.1 400 ${noHost} | 400 ${noHost}`],
    ['no host, and an upgrade', `GET / HTTP/1.1\r\n${upgrade}`, `HTTP/1.1 400 ${noHost} | 400 ${noHost}`],
    ['no host in HTTP/1.0', 'GET / HTTP/1.0\r\n', ok],
    ['two hosts', `GET / HTTP/1.1\r\n${host}host: y\r\n${close}`, 'HTTP/1.1 400 Bad Request | 400 Bad Request'],
    ['a host of all signs that one may have', `GET / HTTP/1.1\r\nHost: a!$%&()*+,-.:;=[]'_~\r\n${close}`, ok],
    ...['a b', 'a<b', 'a/b', 'a@b', 'ä'].map((name) => [
      `the host ${name}`,
      `GET / HTTP/1.1\r\nHost: ${name}\r\n${close}`,
      `HTTP/1.1 400 ${badHost} | 400 ${badHost}`,
    ]),
    ['a bad host in HTTP/1.0', 'GET / HTTP/1.0\r\nHost: a/b\r\n', `HTTP/1.1 400 ${badHost} | 400 ${badHost}`],
    ...['gzip', 'gzip, chunked', 'chunked\r\nTransfer-Encoding: chunked'].map((name) => [
      `the transfer encoding ${name}`,
      `POST / HTTP/1.1\r\n${host}Transfer-Encoding: ${name}\r\n${close}`,
      'HTTP/1.1 501 Not Implemented | Unsupported transfer encoding',
    ]),
    ['chunks', `POST / HTTP/1.1\r\n${host}Transfer-Encoding: Chunked\r\n${close}\r\n0\r\n`, ok],
    ...['X A: b', 'X-A : b'].map((line) => [
      `a blank in the name of a header: ${line}`,
      `GET / HTTP/1.1\r\n${host}${line}\r\n${close}`,
      `HTTP/1.1 400 ${badName} | 400 ${badName}`,
    ]),
    ...[': b', 'no colon', 'X-A: \u0001'].map((line) => [
      `a line that is no header: ${line}`,
      `GET / HTTP/1.1\r\n${host}${line}\r\n${close}`,
      'HTTP/1.1 400 Bad Request | 400 Bad Request',
    ]),
    ...['2.5', '9.9'].map((name) => [
      `the version ${name}`,
      `GET / HTTP/${name}\r\n${host}`,
      `HTTP/1.1 505 ${version} | 505 ${version}`,
    ]),
    ['no version', `GET / HTTP/1.x\r\n${host}`, 'HTTP/1.1 400 Bad Request | 400 Bad Request'],
    ['another version', `GET / HTTP/2.0\r\n${host}`, `HTTP/1.1 505 ${version} | 505 ${version}`],
    ['2000 headers', `GET / HTTP/1.1\r\n${host}${close}${'a: b\r\n'.repeat(1998)}`, ok],
    [
      '2001 headers',
      `GET / HTTP/1.1\r\n${host}${close}${'a: b\r\n'.repeat(1999)}`,
      'HTTP/1.1 431 Request Header Fields Too Large | 431 Request Header Fields Too Large',
    ],
  ])('with %s', async (_, head, expected) => {
    expect(await ask(kind, await start(kind), head)).toBe(expected);
  });

  it.each([
    [undefined, 1_048_576, ok],
    [undefined, 1_060_000, 'HTTP/1.1 431 Request Header Fields Too Large | 431 Request Header Fields Too Large'],
    [100_000, 100_000, ok],
    [100_000, 110_000, 'HTTP/1.1 431 Request Header Fields Too Large | 431 Request Header Fields Too Large'],
  ])('where %s bytes are allowed, with %d', async (maxHeaderBytes, bytes, expected) => {
    const running = await start(kind, { maxHeaderBytes });
    expect(await ask(kind, running, `GET / HTTP/1.1\r\n${host}${close}A: ${'a'.repeat(bytes)}\r\n`)).toBe(expected);
  });
});

describe('a head over HTTP/2', () => {
  /** Returns the status of the answer, or how the request was refused. */
  async function askHttp2(headers: Record<string, string>, maxHeaderBytes?: number): Promise<string | number> {
    const { url } = await start('TLS', { maxHeaderBytes });
    const session = connectHttp2(url, { ca: pair.cert, maxSendHeaderBlockLength: 4_000_000 });
    session.on('error', () => undefined);
    const refused = new Promise<string>((resolve) => session.once('goaway', (code) => resolve(`goaway ${code}`)));
    await once(session, 'remoteSettings');
    const request = session.request({ ':path': '/', ...headers });
    request.on('error', () => undefined);
    const answered = new Promise<number>((resolve) =>
      request.once('response', (head) => resolve(head[':status'] ?? 0)),
    );
    const cut = new Promise<string>((resolve) => request.once('close', () => resolve(`reset ${request.rstCode}`)));
    const outcome = await Promise.race([refused, answered, cut]);
    session.destroy();
    return outcome;
  }
  const many = (count: number, bytes: number) =>
    Object.fromEntries(Array.from({ length: count }, (_, at) => [`a${at}`, 'a'.repeat(bytes)]));

  it('may have 1500 headers', async () => {
    expect(await askHttp2(many(1500, 1))).toBe(200);
  });

  it('may not have more than 2000', async () => {
    expect(await askHttp2(many(2100, 1))).toBe(`reset ${constants.NGHTTP2_ENHANCE_YOUR_CALM}`);
  });

  it('may have as many bytes as are allowed, and no more', async () => {
    expect(await askHttp2(many(3, 30_000))).toBe(200);
    await server?.close();
    expect(await askHttp2(many(3, 30_000), 50_000)).toBe(`reset ${constants.NGHTTP2_ENHANCE_YOUR_CALM}`);
  });
});

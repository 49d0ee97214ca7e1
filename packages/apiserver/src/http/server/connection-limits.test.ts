import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2, constants } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer } from './http-server.ts';

let server: HttpServer | undefined;
const sessions: ClientHttp2Session[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) session.destroy();
  await server?.close();
  server = undefined;
});

interface Secured extends HttpServer {
  readonly cert: string;
}

async function start(options: Partial<HttpServerOptions> = {}): Promise<Secured> {
  const { cert, key } = await selfSigned('CN=127.0.0.1');
  const handle: HttpServerOptions['handle'] = async (exchange) => exchange.send(200, Buffer.from('ok'));
  server = await startHttpServer({ handle, drainMs: 0, tls: { cert, key }, ...options });
  return { ...server, cert };
}

function open({ url, cert }: Secured): ClientHttp2Session {
  const session = connectHttp2(url, { ca: cert });
  session.on('error', () => undefined);
  sessions.push(session);
  return session;
}

const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

async function ask(session: ClientHttp2Session): Promise<string> {
  return text(session.request({ ':path': '/' }));
}

describe('a port for HTTPS', () => {
  it('answers plain HTTP in the words of Go, and goes on', async () => {
    const running = await start();
    const socket = connect(running.port, '127.0.0.1');
    socket.write('GET /version HTTP/1.1\r\nHost: x\r\n\r\n');
    expect(await text(socket)).toBe(
      'HTTP/1.0 400 Bad Request\r\n\r\nClient sent an HTTP request to an HTTPS server.\n',
    );
    expect(await ask(open(running))).toBe('ok');
  });

  it('says nothing to what is neither', async () => {
    const running = await start();
    const socket = connect(running.port, '127.0.0.1');
    socket.on('error', () => undefined);
    socket.write(Buffer.alloc(64, 0xff));
    await once(socket, 'close');
    expect(socket.bytesRead).toBeLessThan(16);
    expect(await ask(open(running))).toBe('ok');
  });
});

describe('an HTTP/2 connection', () => {
  it.each([
    [{}, 250],
    [{ maxConcurrentStreams: 7 }, 7],
  ])('may have so many requests at once: %j', async (options, expected) => {
    const session = open(await start(options));
    const [settings] = await once(session, 'remoteSettings');
    expect(settings.maxConcurrentStreams).toBe(expected);
  });

  it('ends when its requests are taken back faster than they can be served, without harm to others', async () => {
    const started = { count: 0 };
    const running = await start({
      handle: async (exchange) => {
        started.count += 1;
        exchange.send(200, Buffer.from('ok'));
      },
    });
    const other = open(running);
    expect(await ask(other)).toBe('ok');
    const hostile = open(running);
    let isOver = false;
    hostile.once('close', () => {
      isOver = true;
    });
    let sent = 0;
    while (!isOver && sent < 50_000) {
      const isOpen = () => !hostile.destroyed && !hostile.closed;
      const streams = Array.from({ length: isOpen() ? 50 : 0 }, () => hostile.request({ ':path': '/' }));
      for (const stream of streams) stream.on('error', () => undefined);
      sent += 50;
      // Without this turn they would be withdrawn before they are sent.
      await nextTurn();
      for (const stream of streams) stream.close(constants.NGHTTP2_CANCEL);
      await nextTurn();
    }
    expect(isOver).toBe(true);
    expect(started.count).toBeLessThan(10_000);
    expect(await ask(other)).toBe('ok');
  });
});

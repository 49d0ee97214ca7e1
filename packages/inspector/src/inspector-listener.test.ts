import { type IncomingHttpHeaders, request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { systemClock } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, describe, expect, it } from 'vitest';
import { hostProblem, isLoopback } from './host-policy.ts';
import { type Inspection, InspectionError, numberOf } from './inspection.ts';
import { InspectorHandler } from './inspector-handler.ts';
import { type InspectorListener, startInspectorListener } from './inspector-listener.ts';
import { InspectorRoutes } from './inspector-routes.ts';

let total = 0;
const inspection: Inspection = {
  subject: 'manager',
  name: 'test',
  documents: {
    keys: (query) => ({ limit: numberOf(query, 'limit', { min: 1, max: 10, otherwise: 5 }) }),
    broken: () => {
      throw new Error('hunter2');
    },
    none: () => {
      throw new InspectionError(404, 'there is no such key');
    },
  },
  // A large section, which fills a socket.
  sections: () => ({ informers: { total: ++total, items: [{ kind: 'x'.repeat(1_000_000) }] as never } }),
};

let listener: InspectorListener | undefined;
afterEach(async () => {
  await listener?.close();
  listener = undefined;
});

async function start(options: { readonly token?: string; readonly host?: string; readonly clock?: VirtualClock } = {}) {
  const clock = options.clock ?? systemClock;
  const routes = new InspectorRoutes({ inspection, clock });
  listener = await startInspectorListener({ port: 0, host: options.host, token: options.token, routes, clock });
  return { port: listener.port, url: listener.url, routes };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
}

function send(
  path: string,
  options: { readonly method?: string; readonly headers?: Record<string, string> } = {},
): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request({ host: '127.0.0.1', port: listener?.port, path, ...options }, (response) => {
      let text = '';
      response.setEncoding('utf8').on('data', (part) => {
        text += part;
      });
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, text }));
    });
    sent.on('error', reject).end();
  });
}

describe('the listener of the inspector', () => {
  it('serves the page and the documents, and lists them', async () => {
    const { url } = await start();
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/inspect\/$/);
    expect(await send('/inspect/')).toMatchObject({ status: 200, text: expect.stringContaining('<!doctype html>') });
    expect(JSON.parse((await send('/inspect/v1')).text)).toMatchObject({
      kind: 'Index',
      paths: expect.arrayContaining(['/inspect/v1/keys']),
    });
    expect(JSON.parse((await send('/inspect/v1/overview')).text)).toMatchObject({
      kind: 'Overview',
      subject: 'manager',
    });
    expect((await send('/')).headers.location).toBe('/inspect/');
    expect((await send('/metrics')).status).toBe(404);
  });

  it.each(['POST', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'HEAD'])('refuses %s', async (method) => {
    await start();
    expect(await send('/inspect/v1/overview', { method })).toMatchObject({ status: 405, headers: { allow: 'GET' } });
  });

  it('refuses a request under another name, at which a page of another site could point here', async () => {
    await start();
    for (const host of ['evil.example', 'evil.example:80', 'localhost.evil.example', '10.0.0.7'])
      expect((await send('/inspect/v1/overview', { headers: { host } })).status).toBe(403);
  });

  it.each(['Forwarded', 'X-Forwarded-For', 'X-Forwarded-Host', 'X-Real-IP', 'Via', 'X-Envoy-Internal'])(
    'refuses what a proxy on this machine hands on, with %s',
    async (name) => {
      await start();
      const answer = await send('/inspect/v1/overview', { headers: { [name]: 'x' } });
      expect(answer).toMatchObject({ status: 403, text: expect.stringContaining(`(header ${name.toLowerCase()})`) });
    },
  );

  it('answers a proxy where more than loopback was asked for', async () => {
    await start({ host: '0.0.0.0' });
    expect((await send('/inspect/v1/overview', { headers: { via: 'x' } })).status).toBe(200);
  });

  it('forbids embedding, foreign scripts and reading from other sites', async () => {
    await start();
    const { headers } = await send('/inspect/');
    expect(headers['content-security-policy']).toMatch(
      /^default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-/,
    );
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-store',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['access-control-allow-origin']).toBeUndefined();
  });

  it('answers bad queries, unknown documents and failures without what they quote', async () => {
    await start();
    expect(await send('/inspect/v1/keys?limit=99')).toMatchObject({
      status: 400,
      text: 'limit must be a whole number from 1 to 10\n',
    });
    expect((await send('/inspect/v1/nothing')).status).toBe(404);
    expect((await send('/inspect/v1/constructor')).status).toBe(404);
    expect((await send('/inspect/v1/none')).status).toBe(404);
    expect(await send('/inspect/v1/broken')).toMatchObject({ status: 500, text: 'the inspector failed\n' });
  });

  it('asks for its token for every document, and for the page not', async () => {
    const { url } = await start({ token: 'abc' });
    expect(url).toMatch(/\/inspect\/#token=abc$/);
    expect((await send('/inspect/')).status).toBe(200);
    for (const authorization of ['', 'Bearer abd', 'Bearer abcd', 'Basic abc'])
      expect((await send('/inspect/v1/overview', { headers: { authorization } })).status).toBe(401);
    expect((await send('/inspect/v1/live?token=abc')).status).toBe(401);
    expect((await send('/inspect/v1/overview', { headers: { authorization: 'Bearer abc' } })).status).toBe(200);
  });
});

/** Opens the stream and reads nothing from it. */
function openStream(port: number): Promise<Socket> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.write('GET /inspect/v1/live HTTP/1.1\r\nHost: localhost\r\n\r\n');
      resolve(socket);
    });
  });
}

describe('the live stream', () => {
  it('comes as server-sent events, and its place is free when the client goes', async () => {
    const { port } = await start();
    const socket = await openStream(port);
    const first = await new Promise<string>((resolve) => {
      socket.once('data', (bytes) => resolve(bytes.toString()));
    });
    expect(first).toContain('Content-Type: text/event-stream; charset=utf-8');
    expect(first).toContain('event: overview\ndata: {');
    socket.destroy();
    for (let times = 0; times < 32; times++) (await openStream(port)).destroy();
    const again = await openStream(port);
    await new Promise<void>((resolve) => {
      again.once('data', () => resolve());
    });
    again.destroy();
  });

  it('is cut when its client takes nothing for ten seconds', async () => {
    const clock = new VirtualClock();
    const { port } = await start({ clock });
    const socket = await openStream(port);
    socket.pause();
    const closed = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
    });
    socket.on('error', () => undefined);
    // Two million bytes a second fill every buffer on the way.
    for (let second = 0; second < 40; second++) {
      await clock.advance(1000);
      await new Promise((resolve) => setImmediate(resolve));
    }
    socket.resume();
    await closed;
  });

  it('ends when the listener is closed', async () => {
    const { port } = await start();
    const socket = (await openStream(port)).on('error', () => undefined);
    const ended = new Promise<void>((resolve) => {
      socket.once('close', () => resolve());
      socket.resume();
    });
    await listener?.close();
    await ended;
  });
});

describe('who is answered', () => {
  it.each([
    ['localhost', undefined],
    ['LOCALHOST:8080', undefined],
    ['127.0.0.1:1', undefined],
    ['[::1]:8080', undefined],
    ['10.0.0.7:80', '0.0.0.0'],
    ['[fd00::1]:80', '::'],
    ['inspector.internal:80', 'inspector.internal'],
  ])('%s is a name of a listener at %s', (header, host) => {
    expect(hostProblem(header, { host })).toBeUndefined();
  });

  it.each([
    ['10.0.0.7', undefined],
    ['evil.example', '0.0.0.0'],
    ['evil.example', 'inspector.internal'],
    ['[::1', undefined],
    [undefined, undefined],
  ])('%s is no name of a listener at %s', (header, host) => {
    expect(hostProblem(header, { host })).toMatch(/Host header/);
  });

  it('knows the addresses of loopback', () => {
    expect(['127.0.0.1', '127.8.8.8', '::1', '::ffff:127.0.0.1'].every(isLoopback)).toBe(true);
    expect(['10.0.0.1', '::', '::ffff:10.0.0.1', undefined].some(isLoopback)).toBe(false);
  });

  it('from another address finds nothing, where no host was given', async () => {
    const handler = new InspectorHandler({
      routes: new InspectorRoutes({ inspection, clock: systemClock }),
      host: undefined,
      token: undefined,
      clock: systemClock,
    });
    const answered: unknown[] = [];
    const response = {
      setHeader: () => undefined,
      writeHead: (status: number) => answered.push(status),
      end: () => undefined,
    };
    const socket = { localAddress: '10.0.0.1', remoteAddress: '10.0.0.9' };
    const asked = { socket, headers: { host: 'localhost' }, method: 'GET', url: '/inspect/' };
    await handler.serve(asked as never, response as never);
    expect(answered).toEqual([404]);
  });
});

import { Agent, request } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AuditBackends } from '../../audit/audit-backends.ts';
import {
  adminToken,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { selfSigned } from '../../testing/self-signed.ts';
import type { Page } from '../exchange/page.ts';

const definitions = factDefinitions().filter(({ resource }) => ['configmaps', 'namespaces'].includes(resource));
const configMaps = '/api/v1/namespaces/default/configmaps';
const admin = { name: 'admin', groups: ['system:masters'] };
let clock: VirtualClock;
let server: TestServer | undefined;
beforeEach(() => {
  clock = new VirtualClock();
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startTestServer(openLmdbEngine, { definitions, clock, ...options });
  return server;
}

describe('the time of a request', () => {
  it('includes authentication, and a request whose authentication takes too long does nothing', async () => {
    let known: () => void = () => undefined;
    let asked = 0;
    const authenticate = async () => {
      asked++;
      await new Promise<void>((resolve) => {
        known = resolve;
      });
      return admin;
    };
    const on = await start({ authentication: { authenticators: [{ authenticate }] } });
    const pending = on.send('DELETE', `${configMaps}?timeout=1s`);
    while (asked === 0) await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1000);
    expect((await pending).json).toMatchObject({ code: 504, reason: 'Timeout' });
    known();
    const after = on.send('GET', '/metrics');
    while (asked === 1) await new Promise((resolve) => setImmediate(resolve));
    known();
    const { text } = await after;
    expect(text).toContain('verb="DELETE",dry_run="",group="",version="v1",resource="configmaps"');
    expect(text).not.toContain('authorization_attempts_total{result="no-opinion"}');
    expect(text).toContain('authorization_attempts_total{result="allowed"} 1');
  });

  it('is measured from its arrival on', async () => {
    const authenticate = async () => {
      await clock.advance(2000);
      return admin;
    };
    const on = await start({ authentication: { authenticators: [{ authenticate }] } });
    await on.send('GET', configMaps);
    const { text } = await on.send('GET', '/metrics');
    const of = (metric: string, labels: string) =>
      new RegExp(`^${metric}_sum\\{${labels}[^}]*\\} (\\S+)$`, 'm').exec(text)?.[1];
    expect(of('apiserver_request_duration_seconds', 'verb="LIST"')).toBe('2');
    expect(of('authentication_duration_seconds', 'result="success"')).toBe('4');
  });

  it('is refused before anything else when it cannot be parsed', async () => {
    let asked = 0;
    const authenticate = () => {
      asked++;
      return admin;
    };
    const on = await start({ authentication: { authenticators: [{ authenticate }] } });
    const { json } = await on.send('GET', '/api/v1/namespaces?timeout=foo');
    expect(json).toMatchObject({
      code: 400,
      message: 'invalid timeout specified in the request URL - time: invalid duration "foo"',
    });
    expect(asked).toBe(0);
    await clock.advance(120_000);
    expect((await on.send('GET', '/api/v1/namespaces?timeout=15s')).status).toBe(200);
  });

  it('leaves an event in the audit log when it cannot be parsed', async () => {
    const events: Record<string, unknown>[] = [];
    const append = async (line: Uint8Array): Promise<void> =>
      void events.push(JSON.parse(Buffer.from(line).toString()));
    const audit = {
      policy: { rules: [{ level: 'RequestResponse' as const }] },
      backends: new AuditBackends({ log: { target: { append } } }),
    };
    const on = await start({ audit });
    await on.send('GET', '/api/v1/namespaces?timeout=foo');
    expect(events).toMatchObject([
      {
        stage: 'ResponseStarted',
        requestURI: '/api/v1/namespaces?timeout=foo',
        verb: 'list',
        user: {},
        responseStatus: {
          code: 400,
          message: 'invalid timeout specified in the request URL - time: invalid duration "foo"',
        },
      },
    ]);
  });

  it('ends when the request fails, and leaves no timer', async () => {
    const on = await start({
      onRequest: () => undefined,
      authorizer: { authorize: () => Promise.reject(new Error('oh no')) },
    });
    const before = clock.pendingTimers;
    expect((await on.send('GET', configMaps)).status).toBe(500);
    expect(clock.pendingTimers).toBe(before);
  });

  it('ends for a peer that left before anything was done for it, and the request is counted', async () => {
    let closed: () => void = () => undefined;
    const gone = new Promise<void>((resolve) => {
      closed = resolve;
    });
    let isAsked = false;
    const onRequest: TestServerOptions['onRequest'] = async (request) => {
      if (request.path !== configMaps) return;
      isAsked = true;
      request.onClose(closed);
      await gone;
    };
    const on = await start({ onRequest });
    const before = clock.pendingTimers;
    const sent = request(`${on.url}${configMaps}`, { headers: { authorization: `Bearer ${adminToken}` } });
    sent.on('error', () => undefined).end();
    while (!isAsked) await new Promise((resolve) => setImmediate(resolve));
    sent.destroy();
    await gone;
    const { text } = await on.send('GET', '/metrics');
    expect(text).toMatch(/^apiserver_request_total\{verb="LIST".*resource="configmaps".*code="0"\} 1$/m);
    expect(clock.pendingTimers).toBe(before);
  });

  it('does not limit a watch, which goes on for longer', async () => {
    const on = await start({ requestTimeoutMs: 60_000 });
    const watch = await on.stream(`${configMaps}?watch=1&resourceVersion=1&timeout=10s`);
    await clock.advance(300_000);
    await on.send('POST', configMaps, { body: { metadata: { name: 'late' } } });
    expect(await watch.next()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'late' } } });
    watch.close();
  });

  it('does not limit a connection that was upgraded to another protocol', async () => {
    const on = await start({ requestTimeoutMs: 60_000 });
    const socket = connect(Number(new URL(on.url).port), '127.0.0.1');
    const handshake = [
      `GET ${configMaps}?watch=1&resourceVersion=1 HTTP/1.1`,
      'Host: x',
      `Authorization: Bearer ${adminToken}`,
      'Connection: Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Version: 13',
      'Origin: https://x',
      'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==',
    ];
    socket.write(`${handshake.join('\r\n')}\r\n\r\n`);
    let text = '';
    const heard = (what: string): Promise<void> =>
      new Promise((resolve) => {
        const look = (piece: Buffer | string): void => {
          text += piece.toString();
          if (text.includes(what)) resolve();
        };
        socket.on('data', look);
        look('');
      });
    await heard('101 Switching Protocols');
    await clock.advance(300_000);
    await on.send('POST', configMaps, { body: { metadata: { name: 'late' } } });
    await heard('"type":"ADDED"');
    socket.destroy();
  });

  it('begins anew for the next request on the connection', async () => {
    const on = await start({ requestTimeoutMs: 60_000 });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const headers = { authorization: `Bearer ${adminToken}` };
    const get = () =>
      new Promise<[number | undefined, number | undefined]>((resolve, reject) => {
        const sent = request(`${on.url}${configMaps}`, { agent, headers }, (response) => {
          const port = response.socket.localPort;
          response.resume().on('end', () => resolve([response.statusCode, port]));
        });
        sent.on('error', reject).end();
      });
    const answers: [number | undefined, number | undefined][] = [];
    for (let i = 0; i < 4; i++) {
      answers.push(await get());
      await clock.advance(45_000);
    }
    expect(answers).toEqual(Array.from({ length: 4 }, () => [200, answers[0]?.[1]]));
    agent.destroy();
  });
});

/** A body of which half has been written when the time is up; the other half comes later. */
function halves(): { page: Page; second: () => void; isOver: Promise<boolean> } {
  let second: () => void = () => undefined;
  const gate = new Promise<void>((resolve) => {
    second = resolve;
  });
  let over: (aborted: boolean) => void = () => undefined;
  const isOver = new Promise<boolean>((resolve) => {
    over = resolve;
  });
  const page: Page = {
    path: '/slow',
    method: 'GET',
    respond: ({ signal }) => ({ contentType: 'text/plain', body: body(signal) }),
  };
  async function* body(signal: AbortSignal): AsyncGenerator<Uint8Array, void> {
    try {
      yield Buffer.from('before ');
      await gate;
      over(signal.aborted);
      yield Buffer.from('after');
    } finally {
      over(signal.aborted);
    }
  }
  return { page, second, isOver };
}

describe('an answer that has begun when the time is up', () => {
  it('is cut after the bytes that were sent, and its handler is told: HTTP/1.1', async () => {
    const { page, second, isOver } = halves();
    const on = await start({ pages: [page] });
    const headers = { authorization: `Bearer ${adminToken}` };
    let text = '';
    const failed = new Promise<string>((resolve) => {
      request(`${on.url}/slow`, { headers }, (response) => {
        response.on('error', (error) => resolve(error.message));
        response.on('end', () => resolve('ended'));
        response.on('data', (piece: Buffer) => {
          text += piece.toString();
          void clock.advance(60_000).then(second);
        });
      }).end();
    });
    expect(await failed).toBe('aborted');
    expect([text, await isOver]).toEqual(['before ', true]);
  });

  it('is cut after the bytes that were sent, and its handler is told: HTTP/2', async () => {
    const { page, second, isOver } = halves();
    const pair = await selfSigned('CN=server');
    const on = await start({ pages: [page], tls: pair });
    const session = connectHttp2(on.url, { ca: pair.cert });
    const stream = session.request({ ':path': '/slow', authorization: `Bearer ${adminToken}` });
    let text = '';
    stream.on('data', (piece: Buffer) => {
      text += piece.toString();
      void clock.advance(60_000).then(second);
    });
    const failed = new Promise((resolve) =>
      stream.once('error', (error: Error & { code?: string }) => resolve(error.code)),
    );
    expect(await failed).toBe('ERR_HTTP2_STREAM_ERROR');
    expect([text, await isOver]).toEqual(['before ', true]);
    const next = session.request({ ':path': '/livez', authorization: `Bearer ${adminToken}` });
    const status = await new Promise((resolve) => next.once('response', (headers) => resolve(headers[':status'])));
    expect(status).toBe(200);
    next.resume();
    session.destroy();
  });
});

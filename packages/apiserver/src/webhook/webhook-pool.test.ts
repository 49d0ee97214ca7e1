import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../testing/self-signed.ts';
import { WebhookError, WebhookPool, type WebhookPoolOptions } from './webhook-pool.ts';

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

let server: Server;
let ca: string;
let answer: Answer;
let connections: number;
let pool: WebhookPool;

const echo: Answer = (request, response) => {
  request.pipe(response);
};

beforeEach(async () => {
  const { cert, key } = await selfSigned('CN=hook');
  ca = cert;
  answer = echo;
  connections = 0;
  server = createServer({ cert, key }, (request, response) => answer(request, response));
  server.on('secureConnection', () => {
    connections++;
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  pool = new WebhookPool();
});
afterEach(async () => {
  pool.close();
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

const port = (): number => (server.address() as AddressInfo).port;
const url = (path = '/convert'): string => `https://127.0.0.1:${port()}${path}`;
const call = { body: Buffer.from('{"a":1}'), timeoutSeconds: 30, maxAnswerBytes: 1024 };

async function failure(posting: Promise<unknown>): Promise<string> {
  const error = await posting.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof WebhookError)) throw new Error(`no WebhookError: ${String(error)}`);
  return `${error.reason}: ${error.message.replaceAll(String(port()), 'PORT')}`;
}

function poolWith(options: WebhookPoolOptions): WebhookPool {
  pool.close();
  pool = new WebhookPool(options);
  return pool;
}

describe('WebhookPool', () => {
  it('posts JSON, says how long it waits, and keeps the connection', async () => {
    const seen: string[] = [];
    answer = (request, response) => {
      seen.push(`${request.method} ${request.url} ${request.headers['content-type']}`);
      echo(request, response);
    };
    expect((await pool.post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    await pool.post({ url: url(), caBundle: ca }, { ...call, timeoutSeconds: 5 });
    expect(seen).toEqual(['POST /convert?timeout=30s application/json', 'POST /convert?timeout=5s application/json']);
    expect(connections).toBe(1);
  });

  it('does not trust a certificate that the bundle does not vouch for', async () => {
    const { cert: stranger } = await selfSigned('CN=stranger');
    const unknown =
      'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": tls: failed to verify certificate: x509: certificate signed by unknown authority';
    expect(await failure(pool.post({ url: url(), caBundle: stranger }, call))).toBe(unknown);
    expect(await failure(pool.post({ url: url(), caBundle: ' \n' }, call))).toBe(unknown);
  });

  it('tells an answer with an error code in the words of the Go client', async () => {
    const refused = (code: number, body: string, contentType = 'text/plain'): Promise<string> => {
      answer = (_request, response) => void response.writeHead(code, { 'content-type': contentType }).end(body);
      return failure(pool.post({ url: url(), caBundle: ca }, call));
    };
    expect(await refused(500, 'broken')).toBe(
      'refused: an error on the server ("broken") has prevented the request from succeeding',
    );
    expect(await refused(500, '')).toBe(
      'refused: an error on the server ("unknown") has prevented the request from succeeding',
    );
    expect(await refused(404, 'x')).toBe('refused: the server could not find the requested resource');
    expect(await refused(418, 'x')).toBe(
      'refused: the server responded with the status code 418 but did not return more information',
    );
    expect(await refused(500, '{"kind":"Status","status":"Failure","message":"own words"}')).toBe('refused: own words');
    expect(await refused(502, '{"kind":')).toMatch(/^refused: an error on the server/);
  });

  it('gives up after the time of the call', async () => {
    let isAsked: (() => void) | undefined;
    const asked = new Promise<void>((resolve) => {
      isAsked = resolve;
    });
    answer = () => isAsked?.();
    let fire: (() => void) | undefined;
    const clock = {
      setBackgroundTimer: (callback: () => void, delayMs: number) => {
        expect(delayMs).toBe(30_000);
        fire = callback;
        return () => undefined;
      },
    };
    const failing = failure(poolWith({ clock: clock as never }).post({ url: url(), caBundle: ca }, call));
    await asked;
    fire?.();
    expect(await failing).toBe(
      'timeout: Post "https://127.0.0.1:PORT/convert?timeout=30s": context deadline exceeded (Client.Timeout exceeded while awaiting headers)',
    );
  });

  it('ends with the request that it is for', async () => {
    const abort = new AbortController();
    answer = () => abort.abort(new Error('the client went away'));
    await expect(pool.post({ url: url(), caBundle: ca }, { ...call, signal: abort.signal })).rejects.toThrow(
      'the client went away',
    );
  });

  it('fails where nobody listens, where the connection is cut, and where the answer is cut off', async () => {
    answer = (request) => void request.socket.destroy();
    expect(await failure(pool.post({ url: url(), caBundle: ca }, call))).toBe(
      'unreachable: Post "https://127.0.0.1:PORT/convert?timeout=30s": EOF',
    );
    answer = (request, response) => {
      response.writeHead(200, { 'content-length': 100 });
      response.write('{', () => request.socket.destroy());
    };
    expect(await failure(pool.post({ url: url(), caBundle: ca }, call))).toMatch(
      /^unreachable: Post .*: (EOF|aborted|unexpected EOF)$/,
    );
    const closed = url();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
    await expect(pool.post({ url: closed, caBundle: ca }, call)).rejects.toThrow(
      /dial tcp 127\.0\.0\.1:\d+: connect: connection refused$/,
    );
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  it('tries again where an idle connection was closed meanwhile', async () => {
    await pool.post({ url: url(), caBundle: ca }, call);
    let isFirst = true;
    answer = (request, response) => {
      if (!isFirst) return echo(request, response);
      isFirst = false;
      request.socket.destroy();
    };
    expect((await pool.post({ url: url(), caBundle: ca }, call)).toString()).toBe('{"a":1}');
    expect(connections).toBe(2);
  });

  it('reads no more of an answer than it may', async () => {
    answer = (_request, response) => void response.end('x'.repeat(2_000));
    expect(await failure(pool.post({ url: url(), caBundle: ca }, call))).toBe(
      'refused: the answer of the webhook is larger than 1024 bytes',
    );
  });

  it('bounds connections and calls of a webhook, and one that hangs holds no other', async () => {
    const held: ServerResponse[] = [];
    let isHeld: (() => void) | undefined;
    const both = new Promise<void>((resolve) => {
      isHeld = resolve;
    });
    answer = (request, response) => {
      if (!request.url?.startsWith('/slow')) return echo(request, response);
      held.push(response);
      if (held.length === 2) isHeld?.();
    };
    poolWith({ maxConnections: 2, maxCalls: 3 });
    const slow = [1, 2, 3].map(() => pool.post({ url: url('/slow'), caBundle: ca }, call));
    await both;
    expect(await failure(pool.post({ url: url('/slow'), caBundle: ca }, call))).toContain(
      'too many calls of this webhook are under way (3)',
    );
    expect(held).toHaveLength(2);
    const { cert, key } = await selfSigned('CN=other');
    const other = createServer({ cert, key }, echo);
    other.listen(0, '127.0.0.1');
    await once(other, 'listening');
    const target = { url: `https://127.0.0.1:${(other.address() as AddressInfo).port}/`, caBundle: cert };
    expect((await pool.post(target, call)).toString()).toBe('{"a":1}');
    for (const response of held) response.end('{}');
    answer = (_request, response) => void response.end('{}');
    await Promise.all(slow);
    other.closeAllConnections();
    other.close();
  });

  it('finds a Service by the way that it was given, under the name in its certificate', async () => {
    const service = { namespace: 'ns', name: 'hook', port: 443, path: '/c' };
    const { cert, key } = await selfSigned('CN=hook');
    server.setSecureContext({ cert, key });
    const asked: unknown[] = [];
    poolWith({
      resolveService: async (wanted) => {
        asked.push(wanted);
        return { host: '127.0.0.1', port: port() };
      },
    });
    expect(await failure(pool.post({ service, caBundle: cert }, call))).toBe(
      'unreachable: Post "https://hook.ns.svc:443/c?timeout=30s": tls: failed to verify certificate: x509: certificate is valid for 127.0.0.1, not hook.ns.svc',
    );
    expect(asked).toEqual([service]);
    poolWith({});
    expect(await failure(pool.post({ service, caBundle: cert }, call))).toBe(
      'unreachable: Post "https://hook.ns.svc:443/c?timeout=30s": this server cannot reach Services',
    );
  });
});

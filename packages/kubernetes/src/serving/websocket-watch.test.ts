import { once } from 'node:events';
import { request as httpsRequest } from 'node:https';
import { VirtualClock } from '@kapstan/api/testing';
import { knownTokens, tokenAuthenticator, webSocketAuthenticator } from '@kapstan/apiserver';
import {
  adminToken,
  requestUpgrade,
  selfSigned,
  type TestServer,
  type TestServerOptions,
} from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';
import { defaultAuthorizer } from '../testing/rbac-fixture.ts';

const definitions = builtinResources().filter(({ resource }) => ['configmaps', 'namespaces'].includes(resource));
const configMaps = '/api/v1/namespaces/default/configmaps';
const admin = { authorization: `Bearer ${adminToken}` };
let server: TestServer | undefined;

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  server = await startKubernetesServer(openLmdbEngine, { definitions, ...options });
  return server;
}
afterEach(async () => {
  await server?.close();
  server = undefined;
});

interface Message {
  readonly bytes: Buffer;
  readonly isBinary: boolean;
}

/** A client that keeps the received events until the test asks for them. */
class Watcher {
  readonly socket: WebSocket;
  readonly closed: Promise<{ readonly code: number }>;
  readonly #messages: Message[] = [];
  #wake: () => void = () => undefined;

  constructor(
    url: string,
    options: { readonly protocols?: string[]; readonly headers?: object; readonly ca?: string },
  ) {
    const { protocols = [], headers = admin, ca } = options;
    this.socket = new WebSocket(url.replace(/^http/, 'ws'), protocols, {
      headers: { origin: 'https://example.com', ...headers },
      ca,
    });
    this.socket.on('message', (data: Buffer, isBinary) => {
      this.#messages.push({ bytes: data, isBinary });
      this.#wake();
    });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => {
      this.socket.once('close', (code) => resolve({ code }));
    });
  }

  async next(): Promise<Message> {
    for (;;) {
      const message = this.#messages.shift();
      if (message !== undefined) return message;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async nextEvent(): Promise<{ type: string; object: { metadata: { name: string }; code?: number } }> {
    return JSON.parse((await this.next()).bytes.toString());
  }
}

async function watch(on: TestServer, path: string, options: ConstructorParameters<typeof Watcher>[1] = {}) {
  const watcher = new Watcher(`${on.url}${path}`, options);
  await once(watcher.socket, 'open');
  return watcher;
}

/** Returns status and body of a refused handshake. */
async function refusal(on: TestServer, path: string, options: ConstructorParameters<typeof Watcher>[1] = {}) {
  const watcher = new Watcher(`${on.url}${path}`, options);
  const [, response] = await once(watcher.socket, 'unexpected-response');
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk);
  return { status: response.statusCode, text: Buffer.concat(chunks).toString(), headers: response.headers };
}

const named = (name: string) => ({ body: { metadata: { name } } });
const tokenProtocol = (token: string | Uint8Array) =>
  `base64url.bearer.authorization.k8s.io.${Buffer.from(token as string).toString('base64url')}`;

describe('a watch over a WebSocket', () => {
  it('brings each event as one text message that ends with its line, and ends with 1000 when its time is up', async () => {
    const clock = new VirtualClock();
    const running = await start({ clock });
    await running.send('POST', configMaps, named('a'));
    const watcher = await watch(running, `${configMaps}?watch=true&timeoutSeconds=30`);
    const first = await watcher.next();
    expect(first.isBinary).toBe(false);
    expect(first.bytes.toString()).toMatch(/^\{"type":"ADDED","object":\{.*"kind":"ConfigMap".*\}\}\n$/);
    await running.send('POST', configMaps, named('b'));
    await running.send('DELETE', `${configMaps}/a`);
    expect(await watcher.nextEvent()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'b' } } });
    expect(await watcher.nextEvent()).toMatchObject({ type: 'DELETED', object: { metadata: { name: 'a' } } });
    await clock.advance(30_000);
    expect(await watcher.closed).toEqual({ code: 1000 });
  });

  it('brings protobuf as binary messages, without a length before them', async () => {
    const running = await start();
    await running.send('POST', configMaps, named('a'));
    const accept = 'application/vnd.kubernetes.protobuf;stream=watch';
    const watcher = await watch(running, `${configMaps}?watch=1`, { headers: { ...admin, accept } });
    const { bytes, isBinary } = await watcher.next();
    expect(isBinary).toBe(true);
    // Field 1 of a WatchEvent is its type; field 2 is an object in Kubernetes' envelope.
    expect(bytes.subarray(0, 7).toString('latin1')).toBe('\n\x05ADDED');
    expect(bytes.includes('k8s\0')).toBe(true);
    watcher.socket.close();
  });

  it.each([
    ['a Table', `${configMaps}?watch=1`, { accept: 'application/json;as=Table;g=meta.k8s.io;v=v1' }, '"kind":"Table"'],
    ['the old path', '/api/v1/watch/namespaces/default/configmaps/a', {}, '"name":"a"'],
  ])('serves %s', async (_, path, headers, expected) => {
    const running = await start();
    await running.send('POST', configMaps, named('a'));
    const watcher = await watch(running, path, { headers: { ...admin, ...headers } });
    expect((await watcher.next()).bytes.toString()).toContain(expected);
    watcher.socket.close();
  });

  it('ends the watch when the client closes, and passes over what the client says', async () => {
    const running = await start();
    const watcher = await watch(running, `${configMaps}?watch=1`);
    watcher.socket.send('hello');
    watcher.socket.ping('are you there?');
    const [pong] = await once(watcher.socket, 'pong');
    expect(String(pong)).toBe('are you there?');
    const open = async () =>
      (await running.send('GET', '/metrics')).text.includes('apiserver_longrunning_requests 1\n');
    expect(await open()).toBe(true);
    watcher.socket.close(1001);
    expect(await watcher.closed).toEqual({ code: 1001 });
    while (await open());
  });

  it('is ended when the client says more than it may', async () => {
    const running = await start();
    const watcher = await watch(running, `${configMaps}?watch=1`);
    watcher.socket.send(Buffer.alloc(65_537));
    expect(await watcher.closed).toEqual({ code: 1009 });
  });

  it('is ended in peace when the server stops', async () => {
    const running = await start();
    const watcher = await watch(running, `${configMaps}?watch=1`);
    const closing = running.close();
    server = undefined;
    expect(await watcher.closed).toEqual({ code: 1000 });
    await closing;
  });

  it('is cut for a client that does not read, without harm to others', async () => {
    const clock = new VirtualClock();
    const running = await start({ maxWatchBufferBytes: 256 * 1024, clock });
    const slow = await watch(running, `${configMaps}?watch=1`);
    const quick = await watch(running, `${configMaps}?watch=1`);
    slow.socket.pause();
    for (let i = 0; i < 60; i++) {
      const body = { metadata: { name: `big-${i}` }, data: { k: 'x'.repeat(200_000) } };
      await running.send('POST', configMaps, { body });
      expect((await quick.nextEvent()).object.metadata.name).toBe(`big-${i}`);
    }
    const metrics = async () => (await running.send('GET', '/metrics')).text;
    expect(await metrics()).toContain('apiserver_terminated_watchers_total{group="",resource="configmaps"} 1');
    await clock.advance(10_000);
    expect(await metrics()).toContain('apiserver_longrunning_requests 1\n');
    slow.socket.resume();
    expect(await slow.closed).toEqual({ code: 1006 });
    quick.socket.close();
  }, 60_000);
});

describe('the handshake', () => {
  it.each([
    ['an unknown path', '/api/v1/nothings?watch=1', {}, 404, 'the server could not find the requested resource'],
    ['a form without events', `${configMaps}?watch=1`, { accept: 'application/yaml' }, 406, 'stream=watch'],
  ])('refuses %s with a plain answer', async (_, path, headers, status, text) => {
    const running = await start();
    const answer = await refusal(running, path, { headers: { ...admin, ...headers } });
    expect(answer).toMatchObject({ status, text: expect.stringContaining(text) });
  });

  it.each([
    [
      'another version',
      ['Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==', 'Sec-WebSocket-Version: 8'],
      'missing or bad WebSocket Version',
    ],
    ['one without a key', ['Sec-WebSocket-Version: 13'], 'mismatch challenge/response'],
    [
      'one with a key that is none',
      ['Sec-WebSocket-Version: 13', 'Sec-WebSocket-Key: abc'],
      'mismatch challenge/response',
    ],
  ])('refuses %s, and ends the connection', async (_, more, text) => {
    const running = await start();
    const headers = ['Connection: keep-alive, Upgrade', 'Upgrade: WebSocket', ...more];
    const connection = await requestUpgrade(running.url, `${configMaps}?watch=1`, { headers });
    expect(connection.head).toMatch(/^HTTP\/1.1 400 /);
    expect(await connection.closed).toContain(text);
  });

  const key = 'Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==';
  const version = 'Sec-WebSocket-Version: 13';
  // Recorded from kube-apiserver 1.36.3.
  it.each([
    [403, [key, version]],
    [403, [key, version, 'Origin:']],
    [403, [key, version, 'Origin: null']],
    [403, [key, version, 'Origin: http://[::1']],
    [403, [key, version, 'Origin: %zz']],
    [403, [key, version, 'Origin: ://x']],
    [403, [key, version, 'Origin: http://a:b']],
    [403, [key, version, 'Origin: http://a b']],
    [101, [key, version, 'Origin: http://[::1]:80/a']],
    [101, [key, version, 'Origin: chrome-extension://abc']],
    [101, [key, version, 'Origin: mailto:x']],
    [101, [key, version, 'Origin: /x']],
    [101, [key, version, version, 'Origin: https://x', 'Sec-WebSocket-Protocol:']],
    [101, [key, key, version, 'Origin: https://x']],
    [400, [key, version, 'Origin: https://x', 'Sec-WebSocket-Protocol: ,']],
  ])('has %d with %j', async (status, more) => {
    const running = await start();
    const headers = ['Connection: Upgrade', 'Upgrade: websocket', ...more];
    const connection = await requestUpgrade(running.url, `${configMaps}?watch=1`, { headers });
    expect(connection.head).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    if (status === 403) expect(await connection.closed).toBe('');
    connection.socket.destroy();
  });

  it('refuses who may not watch', async () => {
    const running = await start({ authorizer: defaultAuthorizer() });
    const headers = { authorization: 'Bearer user-token' };
    expect(await refusal(running, `${configMaps}?watch=1`, { headers })).toMatchObject({ status: 403 });
  });

  it('names the one subprotocol that is asked for, and refuses to choose', async () => {
    const running = await start();
    const watcher = await watch(running, `${configMaps}?watch=1`, { protocols: ['binary.k8s.io'] });
    expect(watcher.socket.protocol).toBe('binary.k8s.io');
    watcher.socket.close();
    expect(await refusal(running, `${configMaps}?watch=1`, { protocols: ['a', 'b'] })).toMatchObject({ status: 400 });
  });

  it.each([
    ['a request that is no watch', configMaps, 200],
    ['a watch path that names nothing', '/api/v1/watch?watch=1', 500],
  ])('passes over the offer of %s', async (_, path, status) => {
    const running = await start();
    expect(await refusal(running, path)).toMatchObject({ status });
  });
});

describe('a token among the subprotocols', () => {
  const users = new Map([[adminToken, { name: 'admin', groups: ['system:masters'] }]]);
  const options = { authenticators: [knownTokens(users)], apiAudiences: [] };
  const authentication = { authenticators: [tokenAuthenticator(users), webSocketAuthenticator(options)] };
  const secured = { authentication, authorizer: defaultAuthorizer() };

  it('lets a browser watch over TLS, and is not named in the answer', async () => {
    const { cert, key } = await selfSigned('CN=127.0.0.1');
    const running = await start({ ...secured, tls: { cert, key } });
    const protocols = [tokenProtocol(adminToken), 'binary.k8s.io'];
    const watcher = await watch(running, `${configMaps}?watch=1`, { headers: {}, protocols, ca: cert });
    expect(watcher.socket.protocol).toBe('binary.k8s.io');
    const body = JSON.stringify({ metadata: { name: 'a' } });
    const headers = { ...admin, 'content-type': 'application/json' };
    const post = httpsRequest(`${running.url}${configMaps}`, { method: 'POST', headers, ca: cert, agent: false });
    post.end(body);
    const [response] = await once(post, 'response');
    response.resume();
    expect(await watcher.nextEvent()).toMatchObject({ type: 'ADDED', object: { metadata: { name: 'a' } } });
    watcher.socket.close();
  });

  it('counts for every request for a WebSocket, and for no other', async () => {
    const running = await start(secured);
    const protocols = [tokenProtocol(adminToken), 'x'];
    expect(await refusal(running, configMaps, { headers: {}, protocols })).toMatchObject({ status: 200 });
    const headers = { authorization: '', 'sec-websocket-protocol': protocols.join(', ') };
    expect((await running.send('GET', configMaps, { headers })).status).toBe(403);
  });

  it.each([
    ['alone', [tokenProtocol(adminToken)], 401],
    ['wrong', [tokenProtocol('nope'), 'x'], 401],
    ['twice', [tokenProtocol(adminToken), `${tokenProtocol(adminToken)}`.replace(/.$/, ''), 'x'], 401],
    ['padded', [`${tokenProtocol('admin')}a`, 'x'], 401],
    ['no UTF-8', [tokenProtocol(new Uint8Array([0xff, 0xfe])), 'x'], 401],
    ['empty', [tokenProtocol(''), 'x'], 403],
  ])('is refused when it is %s', async (_, protocols, status) => {
    const running = await start(secured);
    expect(await refusal(running, `${configMaps}?watch=1`, { headers: {}, protocols })).toMatchObject({ status });
  });
});

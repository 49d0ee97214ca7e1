import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { connect } from 'node:net';
import { VirtualClock } from '@kapstan/api/testing';
import { type HttpServer, startHttpServer } from '@kapstan/apiserver/internal';
import type { TestServer, TestServerOptions } from '@kapstan/apiserver/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const definitions = builtinResources().filter(({ resource }) => resource === 'configmaps');
const configMaps = '/api/v1/namespaces/default/configmaps';
const user = { authorization: 'Bearer user-token' };
let server: TestServer | HttpServer | undefined;
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  const started = await startKubernetesServer(openLmdbEngine, { definitions, ...options });
  server = started;
  return started;
}

interface Answer {
  readonly status: number | undefined;
  readonly text: string;
  readonly localPort: number | undefined;
}

function send(url: string, agent: Agent): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const sent = request(url, { agent }, (response) => {
      const localPort = response.socket.localPort;
      let text = '';
      response.on('data', (chunk) => (text += String(chunk)));
      response.on('error', reject);
      response.on('end', () => resolve({ status: response.statusCode, text, localPort }));
    });
    sent.on('error', reject);
    sent.end();
  });
}

const until = async (holds: () => Promise<boolean> | boolean): Promise<void> => {
  while (!(await holds())) await new Promise((resolve) => setImmediate(resolve));
};
const inflight = async (on: TestServer, kind: string): Promise<number> => {
  const { text } = await on.send('GET', '/metrics');
  return Number(new RegExp(`current_inflight_requests\\{request_kind="${kind}"\\} (\\d+)`).exec(text)?.[1]);
};

describe('an exception', () => {
  it.each([
    ['an error', new TypeError('oh no'), 'oh no'],
    ['something else', 'a text', 'a text'],
    // Only an error with the mark of a StatusError counts as one, whatever its name.
    [
      'an error of that name',
      Object.assign(new Error('false'), { name: 'StatusError', status: { code: 200 } }),
      'false',
    ],
  ])('is a 500 Status, after which the connection is used again: %s', async (_, thrown, message) => {
    const on = await start({
      onRequest: ({ path }) => {
        if (path === '/bad') throw thrown;
      },
    });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const bad = await send(`${on.url}/bad`, agent);
    expect(bad.status).toBe(500);
    expect(JSON.parse(bad.text)).toEqual({
      kind: 'Status',
      apiVersion: 'v1',
      metadata: {},
      status: 'Failure',
      message,
      code: 500,
    });
    const good = await send(`${on.url}/livez`, agent);
    expect([good.status, good.localPort]).toEqual([200, bad.localPort]);
    agent.destroy();
  });
});

describe('a second answer', () => {
  it('is ignored after a whole one and cuts a stream in two', async () => {
    const started = await startHttpServer({
      handle: async (exchange) => {
        if (exchange.path === '/stream') exchange.open(200).write(Buffer.from('half'));
        else exchange.send(200, Buffer.from('whole'));
        exchange.send(500, Buffer.from('too late'));
      },
    });
    server = started;
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    const [one, two] = [await send(started.url, agent), await send(started.url, agent)];
    expect([one.text, two.text, one.localPort === two.localPort]).toEqual(['whole', 'whole', true]);
    await expect(send(`${started.url}/stream`, agent)).rejects.toThrow('aborted');
    agent.destroy();
  });
});

describe('a request beyond its time', () => {
  it('gives its place back though its body still comes, and its connection is closed', async () => {
    const clock = new VirtualClock();
    const on = await start({ clock, maxMutatingRequestsInflight: 1 });
    const headers = { ...user, 'content-type': 'application/json' };
    const sent = request(`${on.url}${configMaps}`, { method: 'POST', headers: { ...headers, 'content-length': 1000 } });
    sent.on('error', () => undefined);
    sent.write('{"metadata":');
    await until(async () => (await inflight(on, 'mutating')) === 1);
    const create = () => on.send('POST', configMaps, { headers, body: { metadata: { name: 'whole' } } });
    expect((await create()).status).toBe(429);
    const answered = once(sent, 'response');
    await clock.advance(34_000);
    const [answer] = await answered;
    expect([answer.statusCode, answer.headers.connection]).toEqual([504, 'close']);
    expect(await inflight(on, 'mutating')).toBe(0);
    expect((await create()).status).toBe(201);
    sent.destroy();
  });

  it('is cut off when its answer is not read, and gives its place back', async () => {
    const clock = new VirtualClock();
    const on = await start({ clock, maxRequestsInflight: 1 });
    for (let n = 0; n < 16; n++) {
      const body = { metadata: { name: `c${n}` }, data: { k: 'x'.repeat(1_000_000) } };
      await on.send('POST', configMaps, { body });
    }
    const socket = connect(Number(new URL(on.url).port), '127.0.0.1');
    socket.write(`GET ${configMaps} HTTP/1.1\r\nHost: x\r\nAuthorization: ${user.authorization}\r\n\r\n`);
    await once(socket, 'readable');
    const statusOfAnother = async () => (await on.send('GET', `${configMaps}/c1`, { headers: user })).status;
    await until(async () => (await statusOfAnother()) === 429);
    await clock.advance(60_000);
    await until(async () => (await statusOfAnother()) === 200);
    const closed = once(socket, 'close');
    let bytes = 0;
    socket.on('error', () => undefined);
    socket.on('data', (chunk: Buffer) => {
      bytes += chunk.length;
    });
    await closed;
    expect(bytes).toBeLessThan(16_000_000);
  });
});

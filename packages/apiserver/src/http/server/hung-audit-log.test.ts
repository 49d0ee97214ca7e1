import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { VirtualClock } from '@kapstan/api/testing';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import { AuditBackends } from '../../audit/audit-backends.ts';
import {
  adminToken,
  startTestServer,
  type TestServer,
  type TestServerOptions,
} from '../../testing/api-server-fixture.ts';
import { factDefinitions } from '../../testing/fact-kinds.ts';
import { selfSigned } from '../../testing/self-signed.ts';

const definitions = factDefinitions().filter(({ resource }) => resource === 'configmaps');
const configMaps = '/api/v1/namespaces/default/configmaps';
const watchPath = `${configMaps}?watch=1&timeoutSeconds=1`;
const authorization = `Bearer ${adminToken}`;

/** A disk that accepts nothing until the test says so. */
class Disk {
  readonly stages: string[] = [];
  #release: (() => void) | undefined;
  #onAsked: () => void = () => undefined;

  async append(lines: Uint8Array): Promise<void> {
    await new Promise<void>((resolve) => {
      this.#release = resolve;
      this.#onAsked();
    });
    for (const line of Buffer.from(lines).toString().trimEnd().split('\n')) this.stages.push(JSON.parse(line).stage);
  }

  /** Resolves when there is something to write. */
  async asked(): Promise<void> {
    if (this.#release !== undefined) return;
    await new Promise<void>((resolve) => {
      this.#onAsked = resolve;
    });
  }

  async take(): Promise<void> {
    await this.asked();
    this.#release?.();
    this.#release = undefined;
  }
}

let server: TestServer | undefined;
let disk: Disk;
let order: string[];
beforeEach(() => {
  disk = new Disk();
  order = [];
});
afterEach(async () => {
  await server?.close();
  server = undefined;
});

async function start(options: TestServerOptions = {}): Promise<TestServer> {
  const rules = [{ level: 'None', nonResourceURLs: ['/version'] }, { level: 'Metadata' }] as const;
  const audit = { policy: { rules }, backends: new AuditBackends({ log: { target: disk } }) };
  server = await startTestServer(openLmdbEngine, { definitions, audit, ...options });
  return server;
}

const told = (what: string) => () => void order.push(what);

/** Makes another request, so that answers which do not wait have arrived. */
async function askMeanwhile(running: TestServer): Promise<void> {
  for (let i = 0; i < 5; i++) expect((await running.send('GET', '/version')).status).toBe(200);
  order.push('others');
}

describe('while the disk of the audit log hangs', () => {
  it('a request neither begins nor is answered, and others go on', async () => {
    const running = await start();
    const created = running.send('POST', configMaps, { body: { metadata: { name: 'a' } } }).finally(told('answered'));
    await askMeanwhile(running);
    const store = running.catalog.find('', 'v1', 'configmaps')?.store;
    const stored = await store?.list({ user: { name: 'u', groups: [] }, namespace: 'default' } as never, {} as never);
    expect(JSON.stringify(stored)).not.toContain('"name":"a"');
    await disk.take();
    await askMeanwhile(running);
    await disk.take();
    expect((await created).status).toBe(201);
    expect(order).toEqual(['others', 'others', 'answered']);
    expect(disk.stages).toEqual(['RequestReceived', 'ResponseComplete']);
  });

  it('a watch does not begin, nor end', async () => {
    const running = await start();
    const opened = running.stream(watchPath);
    void opened.then(told('begun'));
    await disk.take();
    await askMeanwhile(running);
    await disk.take();
    const watch = await opened;
    const ended = watch.next().finally(told('ended'));
    await new Promise((resolve) => setImmediate(resolve));
    await disk.take();
    expect(await ended).toBeUndefined();
    expect(order).toEqual(['others', 'begun', 'ended']);
    expect(disk.stages).toEqual(['RequestReceived', 'ResponseStarted', 'ResponseComplete']);
  });

  it('a watch over HTTP/2 does not begin', async () => {
    const { cert, key } = await selfSigned('CN=127.0.0.1');
    const running = await start({ tls: { cert, key } });
    const session = connectHttp2(running.url, { ca: cert });
    const ask = (path: string) => session.request({ ':path': path, authorization });
    const watch = ask(watchPath);
    const begun = once(watch, 'response').finally(told('begun'));
    await disk.take();
    for (let i = 0; i < 5; i++) expect(await text(ask('/version'))).toContain('gitVersion');
    order.push('others');
    await disk.take();
    const [head] = await begun;
    expect(head[':status']).toBe(200);
    expect(order).toEqual(['others', 'begun']);
    session.destroy();
  });

  it('a WebSocket is not opened', async () => {
    const running = await start();
    const socket = new WebSocket(`${running.url.replace('http', 'ws')}${watchPath}`, {
      headers: { authorization, origin: 'https://x' },
    });
    const begun = once(socket, 'open').finally(told('begun'));
    await disk.take();
    await askMeanwhile(running);
    await disk.take();
    await begun;
    expect(order).toEqual(['others', 'begun']);
    socket.terminate();
  });

  it.each([
    [0, 'refused'],
    [1, 'cut off'],
  ] as const)('a request is given up when its time is over: after %d events it is %s', async (events, expected) => {
    const clock = new VirtualClock();
    const running = await start({ clock, requestTimeoutMs: 5_000 });
    const late = running.send('GET', configMaps).then(
      ({ status, json }) => (status === 504 && json.reason === 'Timeout' ? 'refused' : 'answered'),
      (error: NodeJS.ErrnoException) => (error.code === 'ECONNRESET' ? 'cut off' : error.code),
    );
    for (let i = 0; i < events; i++) await disk.take();
    await disk.asked();
    await clock.advance(5_000);
    expect(await late).toBe(expected);
    await disk.take();
  });

  it('answers on one connection keep their order', async () => {
    const running = await start();
    const socket = connect(Number(new URL(running.url).port), '127.0.0.1');
    const head = (path: string, end: string) =>
      `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: ${authorization}\r\nConnection: ${end}\r\n\r\n`;
    socket.write(head(configMaps, 'keep-alive') + head('/version', 'close'));
    const answers = text(socket);
    await disk.take();
    await disk.asked();
    await askMeanwhile(running);
    await disk.take();
    expect((await answers).match(/ConfigMapList|gitVersion/g)).toEqual(['ConfigMapList', 'gitVersion']);
  });
});

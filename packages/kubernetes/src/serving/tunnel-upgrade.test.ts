import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { systemClock } from '@kapstan/api';
import { InProcessClient } from '@kapstan/apiserver';
import {
  adminToken,
  type KubeletStandIn,
  type KubeletStandInOptions,
  requestUpgrade,
  selfSigned,
  startKubelet,
  type TestServer,
  type TestServerOptions,
} from '@kapstan/apiserver/testing';
import { Node, Pod } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const pods = '/api/v1/namespaces/default/pods';
const exec = `${pods}/p/exec?command=ls`;
let server: TestServer | undefined;
let kubelet: KubeletStandIn | undefined;

afterEach(async () => {
  await server?.close();
  await kubelet?.close();
  [server, kubelet] = [undefined, undefined];
});

/** Starts a server with the pod "p" on a node with a kubelet, and "dead" on a node where nobody listens. */
async function start(
  options: TestServerOptions & { readonly kubelets?: KubeletStandInOptions } = {},
): Promise<{ readonly server: TestServer; readonly kubelet: KubeletStandIn }> {
  const running = await startKubelet({ tls: await selfSigned('CN=kubelet'), ...options.kubelets });
  kubelet = running;
  const definitions = builtinResources({ findStore: (...id) => server?.catalog.find(...id)?.store });
  const started = await startKubernetesServer(openLmdbEngine, { definitions, ...options });
  server = started;
  const client = new InProcessClient({ catalog: started.catalog });
  for (const [name, port] of [
    ['p', running.port],
    ['dead', 1],
  ] as const) {
    const nodeName = `on-${name}`;
    const addresses = [{ type: 'InternalIP', address: '127.0.0.1' }];
    const status = { addresses, daemonEndpoints: { kubeletEndpoint: { Port: port } } };
    await client.create(Node, { metadata: { name: nodeName }, status } as Node);
    const spec = { containers: [{ name: 'c', image: 'i' }], nodeName };
    await client.create(Pod, { metadata: { name, namespace: 'default' }, spec } as Pod);
  }
  return { server: started, kubelet: running };
}

describe('an upgraded connection', () => {
  it('is one with the kubelet: bytes of both, from the first on', async () => {
    const { server: own, kubelet: peer } = await start();
    const headers = [
      'Connection: keep-alive, Upgrade',
      'Upgrade: websocket',
      'Sec-WebSocket-Protocol: v5.channel.k8s.io, base64url.bearer.authorization.k8s.io.c2VjcmV0',
      'Impersonate-User: admin',
      'X-Forwarded-For: 9.9.9.9',
    ];
    const path = `${pods}/p/exec?command=ls&command=-l%20x&stdin=1&stdout=true&stderr=0&tty=false`;
    const client = await requestUpgrade(own.url, path, { method: 'POST', headers, head: 'early ' });
    expect(client.head).toBe('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\n');
    client.socket.write('later');
    await client.until('later');
    expect(client.received()).toBe('hello early later');
    expect(peer.seen).toMatchObject([
      { method: 'POST', url: '/exec/default/p/c?command=ls&command=-l+x&input=1&output=1' },
    ]);
    const { host, ...sent } = peer.seen[0]?.headers ?? {};
    expect(host).toBe(new URL(own.url).host);
    expect(sent).toEqual({
      'content-length': '0',
      connection: 'keep-alive, Upgrade',
      upgrade: 'websocket',
      'sec-websocket-protocol': 'v5.channel.k8s.io',
      'x-forwarded-for': '9.9.9.9, 127.0.0.1',
    });
    client.socket.end();
    expect(await client.closed).toBe('hello early later');
    await peer.idle();
  });

  it('carries more than either side holds, in order', async () => {
    const { server: own, kubelet: peer } = await start();
    const client = await requestUpgrade(own.url, exec);
    const piece = Buffer.alloc(64 * 1024, 'x');
    const count = 64;
    client.socket.pause();
    for (let i = 0; i < count; i++) client.socket.write(piece);
    client.socket.write('the end');
    client.socket.resume();
    await client.until('the end');
    expect(client.received()).toHaveLength('hello '.length + count * piece.length + 'the end'.length);
    client.socket.destroy();
    await peer.idle();
  });

  it('ends for the client after the last byte of the kubelet', async () => {
    const last = 'x'.repeat(1 << 20);
    const { server: own, kubelet: peer } = await start({
      kubelets: {
        upgrade: (_request, socket) => {
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
          socket.end(last);
        },
      },
    });
    const client = await requestUpgrade(own.url, exec);
    expect(await client.closed).toHaveLength(last.length);
    await peer.idle();
  });

  it('leaves no handle behind, whoever ends it', async () => {
    const { server: own, kubelet: peer } = await start({
      kubelets: {
        upgrade: (request, socket) => {
          socket.write('HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n');
          if (request.url?.includes('short') === true) return void socket.destroy();
          socket.resume();
          socket.once('end', () => socket.end());
        },
      },
    });
    const handles = (): number =>
      process.getActiveResourcesInfo().filter((name) => /TCP|TLS|Timeout/.test(name)).length;
    const before = handles();
    for (let i = 0; i < 60; i++) {
      const command = i % 3 === 0 ? 'short' : 'long';
      const client = await requestUpgrade(own.url, `${pods}/p/exec?command=${command}`);
      if (i % 3 === 1) client.socket.end();
      if (i % 3 === 2) client.socket.destroy();
      await client.closed;
    }
    await peer.idle();
    await vi.waitFor(() => expect(handles()).toBeLessThanOrEqual(before));
  });

  it('ends with the server', async () => {
    const { server: own, kubelet: peer } = await start({ drainMs: 60_000 });
    const client = await requestUpgrade(own.url, exec);
    await client.until('hello ');
    const before = systemClock.monotonicNow();
    await own.close();
    server = undefined;
    await client.closed;
    await peer.idle();
    expect(systemClock.monotonicNow() - before).toBeLessThan(10_000);
  });

  it('ends when both sides are silent for too long', async () => {
    const { server: own, kubelet: peer } = await start({ tunnelIdleMs: 100 });
    const client = await requestUpgrade(own.url, exec);
    expect(await client.closed).toBe('hello ');
    await peer.idle();
  });
});

describe('an upgrade that does not come about', () => {
  it.each<[string, string, number, string]>([
    [
      'as nobody listens',
      `${pods}/dead/exec?command=ls`,
      500,
      'error dialing backend: dial tcp 127.0.0.1:1: connect: connection refused',
    ],
    ['as there is no pod', `${pods}/none/exec?command=ls`, 404, 'pods "none" not found'],
    ['of a dry run', `${pods}/p/exec?dryRun=All`, 400, 'dryRun is not supported'],
    [
      'with a port that is none',
      `${pods}/p/portforward?ports=80,x`,
      400,
      'cannot convert to []int32: strconv.ParseUint: parsing "x": invalid syntax',
    ],
    [
      'with a port that is too large',
      `${pods}/p/portforward?ports=65536`,
      400,
      'cannot convert to []int32: strconv.ParseUint: parsing "65536": value out of range',
    ],
  ])('%s is answered as any request', async (_name, path, code, message) => {
    const { server: own } = await start();
    const client = await requestUpgrade(own.url, path);
    const status = JSON.parse(await client.closed) as { readonly code: number; readonly message: string };
    expect([status.code, status.message]).toEqual([code, message]);
    expect(client.head).toContain(`HTTP/1.1 ${code} `);
    expect(client.head).toContain('Connection: close');
  });

  it('has the answer of a kubelet that refuses, or is an error where that takes it for a plain request', async () => {
    const { server: own, kubelet: peer } = await start({
      kubelets: {
        upgrade: (request, socket) => {
          const isRefused = request.url?.includes('refuse') === true;
          socket.end(`HTTP/1.1 ${isRefused ? '403 No' : '200 OK'}\r\nX-Own: 1\r\nContent-Length: 6\r\n\r\ndenied`);
        },
      },
    });
    const refused = await requestUpgrade(own.url, `${pods}/p/exec?command=refuse`);
    expect(await refused.closed).toBe('denied');
    expect(refused.head).toBe('HTTP/1.1 403 No\r\nX-Own: 1\r\nContent-Length: 6\r\nConnection: close\r\n\r\n');
    const plain = await requestUpgrade(own.url, exec);
    expect(JSON.parse(await plain.closed)).toMatchObject({
      code: 500,
      message: 'invalid upgrade response: status code 200',
    });
    await peer.idle();
  });

  it('is given up when the client goes away before the kubelet answers', async () => {
    let note: () => void = () => undefined;
    const asked = new Promise<void>((resolve) => {
      note = resolve;
    });
    const { server: own, kubelet: peer } = await start({ kubelets: { upgrade: () => note() } });
    const socket = connect(Number(new URL(own.url).port), '127.0.0.1');
    const head = [`GET ${exec} HTTP/1.1`, 'Host: x', `Authorization: Bearer ${adminToken}`, 'Connection: Upgrade'];
    socket.write(`${[...head, 'Upgrade: x'].join('\r\n')}\r\n\r\n`);
    await asked;
    expect(peer.open).toBe(1);
    socket.destroy();
    await peer.idle();
  });

  it('is one that HTTP/2 has no way to ask for', async () => {
    const pair = await selfSigned('CN=server');
    const { server: own } = await start({ tls: pair });
    const session = connectHttp2(own.url, { ca: pair.cert });
    await new Promise((resolve) => session.once('remoteSettings', resolve));
    expect(session.remoteSettings.enableConnectProtocol).not.toBe(true);
    const stream = session.request({ ':path': exec, authorization: `Bearer ${adminToken}` });
    let body = '';
    stream.setEncoding('utf8').on('data', (piece: string) => {
      body += piece;
    });
    await new Promise((resolve) => stream.once('end', resolve));
    expect(JSON.parse(body)).toMatchObject({ code: 400, message: 'Upgrade request required' });
    session.destroy();
  });

  it('is refused to who may only read', async () => {
    const authorizer: NonNullable<TestServerOptions['authorizer']> = {
      authorize: async (attributes) =>
        attributes.type === 'resource' && attributes.subresource === 'exec' && attributes.verb === 'create'
          ? { decision: 'deny', reason: 'no' }
          : { decision: 'allow', reason: '' },
    };
    const { server: own } = await start({ authorizer });
    const client = await requestUpgrade(own.url, exec);
    expect(JSON.parse(await client.closed)).toMatchObject({ code: 403, message: 'pods "p" is forbidden: no' });
    expect((await own.send('GET', `${pods}/p/attach`)).status).toBe(400);
  });
});

describe('an offer of another protocol where none is spoken', () => {
  it('is passed over: the request counts with its body, and the connection goes on', async () => {
    const { server: own } = await start();
    const body = JSON.stringify({ metadata: { name: 'made' } });
    const headers = [
      'Connection: Upgrade, HTTP2-Settings, keep-alive',
      'Upgrade: h2c',
      'HTTP2-Settings: AAMAAABkAAQAoAAAAAIAAAAA',
      'Content-Type: application/json',
      `Content-Length: ${body.length}`,
    ];
    const next = `GET /api/v1/namespaces/default/configmaps/made HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${adminToken}\r\nConnection: close\r\n\r\n`;
    const path = '/api/v1/namespaces/default/configmaps';
    const client = await requestUpgrade(own.url, path, { method: 'POST', headers, head: body });
    expect(client.head).toContain('HTTP/1.1 201 Created');
    await client.until('"made"');
    client.socket.write(next);
    expect(await client.closed).toContain('HTTP/1.1 200 OK');
  });
});

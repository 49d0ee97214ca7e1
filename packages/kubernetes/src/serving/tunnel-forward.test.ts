import type { RequestListener } from 'node:http';
import { connect as connectHttp2 } from 'node:http2';
import { connect } from 'node:net';
import { gunzipSync, gzipSync } from 'node:zlib';
import { InProcessClient } from '@kapstan/apiserver';
import {
  adminToken,
  type KubeletStandIn,
  requestUpgrade,
  selfSigned,
  startKubelet,
  type TestServer,
  type TestServerOptions,
} from '@kapstan/apiserver/testing';
import { Pod } from '@kapstan/kinds/core/v1';
import { openLmdbEngine } from '@kapstan/storage-lmdb';
import { afterEach, describe, expect, it } from 'vitest';
import { builtinResources } from '../builtin-resources.ts';
import { startKubernetesServer } from '../testing/kubernetes-server.ts';

const proxy = '/api/v1/namespaces/default/pods/p/proxy';
let server: TestServer | undefined;
let peer: KubeletStandIn | undefined;

afterEach(async () => {
  await server?.close();
  await peer?.close();
  [server, peer] = [undefined, undefined];
});

async function start(
  answer: RequestListener,
  options: TestServerOptions = {},
): Promise<{ readonly server: TestServer; readonly peer: KubeletStandIn }> {
  const running = await startKubelet({ answer });
  peer = running;
  const definitions = builtinResources({ findStore: (...id) => server?.catalog.find(...id)?.store });
  const dial = () => connect(running.port, '127.0.0.1');
  const started = await startKubernetesServer(openLmdbEngine, { definitions, dial, ...options });
  server = started;
  const client = new InProcessClient({ catalog: started.catalog });
  const metadata = { name: 'p', namespace: 'default' };
  const pod = await client.create(Pod, { metadata, spec: { containers: [{ name: 'c', image: 'i' }] } } as Pod);
  await client.update(Pod, { ...pod, status: { podIP: '10.1.2.3' } } as Pod, { subresource: 'status' });
  return { server: started, peer: running };
}

const ok: RequestListener = (_request, response) => void response.end('ok');

describe('a proxied request', () => {
  it.each([
    ['', '/?a=1&b=%20c', '/?a=1&b=%20c'],
    ['a path and a last slash', '/a%2Fb%20c/', '/a/b%20c/'],
    ['folders to be left', '/a/../b//c', '/b/c'],
    ['more folders to be left than there are', '/../../x', '/x'],
    ['signs that Go escapes', "/a!b'c", '/a%21b%27c'],
  ])('with %s goes on as %s → %s', async (_name, path, url) => {
    const { server: own, peer: pod } = await start(ok);
    const client = await requestUpgrade(own.url, `${proxy}${path}`, { headers: ['Connection: close'] });
    expect(client.head).toContain('HTTP/1.1 200 OK');
    await client.closed;
    expect(pod.seen.map((request) => request.url)).toEqual([url]);
    await pod.idle();
  });

  it('to the root without a slash is sent there, so that links lead into it', async () => {
    const { server: own, peer: pod } = await start(ok);
    const answer = await own.send('GET', `${proxy}?a=1`);
    expect([answer.status, answer.headers.location, answer.text]).toEqual([301, `${proxy}/?a=1`, '']);
    expect((await own.send('POST', proxy)).text).toBe('ok');
    expect(pod.seen.map(({ url }) => url)).toEqual(['/']);
  });

  it.each(['POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])(
    '%s takes its body and headers along, without what is for us',
    async (method) => {
      const { server: own, peer: pod } = await start(ok);
      const headers = {
        host: 'asked.example',
        connection: 'close, x-hop',
        'x-hop': '1',
        te: 'trailers, gzip',
        'proxy-authorization': 'x',
        'x-forwarded-for': '9.9.9.9',
        'impersonate-user': 'admin',
        'x-remote-user': 'admin',
        'x-remote-group': 'system:masters',
        'x-remote-extra-scopes': 'all',
        'x-own': 'kept',
      };
      const answer = await own.send(method, `${proxy}/x?dry=1`, { headers, body: 'sent' });
      expect([answer.status, answer.text]).toEqual([200, 'ok']);
      expect(pod.seen).toEqual([
        {
          method,
          url: '/x?dry=1',
          body: 'sent',
          clientName: undefined,
          headers: {
            host: 'asked.example',
            connection: 'close',
            te: 'trailers',
            'user-agent': 'tester/1.0',
            'content-type': 'application/json',
            'content-length': '4',
            'x-own': 'kept',
            'x-forwarded-for': '9.9.9.9, 127.0.0.1',
            'x-forwarded-uri': `${proxy}/x`,
          },
        },
      ]);
    },
  );

  it('over HTTP/2 arrives as HTTP/1.1, with a body of unknown length', async () => {
    const pair = await selfSigned('CN=server');
    const { server: own, peer: pod } = await start(ok, { tls: pair });
    const session = connectHttp2(own.url, { ca: pair.cert });
    const headers = { authorization: `Bearer ${adminToken}`, cookie: 'a=1' };
    const stream = session.request({ ':path': `${proxy}/x`, ':method': 'PUT', ...headers });
    stream.write('one ');
    stream.end('two');
    let text = '';
    stream.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
    });
    await new Promise((resolve) => stream.once('end', resolve));
    session.close();
    expect(text).toBe('ok');
    expect(pod.seen).toMatchObject([
      { body: 'one two', headers: { host: new URL(own.url).host, 'transfer-encoding': 'chunked', cookie: 'a=1' } },
    ]);
  });
});

describe('the answer of a proxied request', () => {
  it('has the status, the headers and the body of the peer, but for cross-origin rules', async () => {
    const { server: own } = await start((_request, response) => {
      response.writeHead(418, {
        'X-Own': '1',
        'Set-Cookie': ['a=1', 'b=2'],
        'Access-Control-Allow-Origin': '*',
        Connection: 'close',
      });
      response.end('tea');
    });
    const answer = await own.send('GET', `${proxy}/x`);
    expect([answer.status, answer.text, answer.headers['x-own']]).toEqual([418, 'tea', '1']);
    expect(answer.headers['set-cookie']).toEqual(['a=1', 'b=2']);
    expect(answer.headers).not.toHaveProperty('access-control-allow-origin');
    expect(answer.headers['cache-control']).toBe('no-cache, private');
  });

  it('comes as it is made, and ends for the peer when the client goes', async () => {
    const { server: own, peer: pod } = await start((_request, response) => void response.write('first\n'));
    const client = await requestUpgrade(own.url, `${proxy}/stream`, { headers: [] });
    await client.until('first');
    expect(pod.open).toBe(1);
    client.socket.destroy();
    await pod.idle();
  });

  it('breaks off where the peer breaks off', async () => {
    const { server: own } = await start((request, response) => {
      response.writeHead(200, { 'Content-Length': '10' });
      response.write('half', () => request.socket.destroy());
    });
    await expect(own.send('GET', `${proxy}/stream`)).rejects.toThrow('aborted');
  });

  it('is cut when the server stops', async () => {
    const { server: own, peer: pod } = await start((_request, response) => void response.write('first\n'), {
      drainMs: 60_000,
    });
    const client = await requestUpgrade(own.url, `${proxy}/stream`, { headers: [] });
    await client.until('first');
    await own.close();
    server = undefined;
    await client.closed;
    await pod.idle();
  });

  it.each(['', 'gzip'])('of HTML, packed as "%s", leads back here with its links', async (encoding) => {
    const html = Buffer.from('<a href="/x">ü</a>');
    const { server: own } = await start((_request, response) => {
      response.writeHead(200, {
        'Content-Type': 'text/html; charset=utf-8',
        ...(encoding !== '' && { 'Content-Encoding': encoding }),
      });
      response.end(encoding === '' ? html : gzipSync(html));
    });
    const answer = await own.send('GET', `${proxy}/page`);
    const text = encoding === '' ? answer.bytes : gunzipSync(answer.bytes);
    expect(text.toString()).toBe(`<a href="${proxy}/x">ü</a>`);
    expect(answer.headers['content-length']).toBe(String(answer.bytes.length));
  });

  it('that sends elsewhere on the peer sends there through here', async () => {
    const { server: own } = await start((_request, response) => {
      response.writeHead(302, { Location: '/there?x=1' });
      response.end();
    });
    expect((await own.send('GET', `${proxy}/x`)).headers.location).toBe(`${proxy}/there?x=1`);
  });
});

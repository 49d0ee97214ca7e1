import { createServer, type IncomingMessage, type Server } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { type KubernetesObject, resource } from '@kapstan/api';
import { settle } from '@kapstan/api/testing';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer, stream } from '../testing/scripted-server.ts';
import { StreamServer } from '../testing/stream-server.ts';
import { currentWire } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import { checkProxyUrl, proxyFromEnvironment } from './proxy.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const node = { kind: 'Node', apiVersion: 'v1', metadata: { name: 'a' } };

describe('proxyFromEnvironment', () => {
  const both = { HTTPS_PROXY: 'http://s:1', HTTP_PROXY: 'http://p:1' };
  it.each([
    ['https://api.example', both, 'http://s:1'],
    ['http://api.example', both, 'http://p:1'],
    ['https://api.example', { https_proxy: 's:1' }, 'http://s:1'],
    ['https://api.example', {}, undefined],
    ['https://localhost:6443', both, undefined],
    ['https://127.0.0.1:6443', both, undefined],
    ['https://[::1]:6443', both, undefined],
    ['https://api.example', { ...both, NO_PROXY: '*' }, undefined],
    ['https://api.example', { ...both, NO_PROXY: 'x, Example' }, undefined],
    ['https://api.example', { ...both, no_proxy: '.example' }, undefined],
    ['https://example', { ...both, NO_PROXY: '.example' }, 'http://s:1'],
    ['https://badexample', { ...both, NO_PROXY: 'example' }, 'http://s:1'],
    ['https://api.example:6443', { ...both, NO_PROXY: 'api.example:6443' }, undefined],
    ['https://api.example:6443', { ...both, NO_PROXY: 'api.example:443' }, 'http://s:1'],
    ['https://10.1.2.3', { ...both, NO_PROXY: '10.0.0.0/8' }, undefined],
    ['https://11.1.2.3', { ...both, NO_PROXY: '10.0.0.0/8,10.0.0.0/99,x/8' }, 'http://s:1'],
    ['https://[fd00::1]', { ...both, NO_PROXY: 'fd00::/8' }, undefined],
    ['https://[fd00::1]', { ...both, NO_PROXY: 'fd00::1' }, undefined],
    ['https://[fd00::1]', { ...both, NO_PROXY: 'fd00:0:0::0001' }, undefined],
    ['https://[fd00::1]', { ...both, NO_PROXY: 'fd00::2,fd00::/129,[fd00::1]' }, 'http://s:1'],
    ['https://[fd00::1]:6443', { ...both, NO_PROXY: '[fd00::1]:6443' }, undefined],
    ['https://[fd00::1]:6443', { ...both, NO_PROXY: '[fd00::1]:443' }, 'http://s:1'],
    ['https://10.1.2.3:6443', { ...both, NO_PROXY: '10.1.2.3:6443' }, undefined],
    ['https://10.1.2.3:6443', { ...both, NO_PROXY: '10.1.2.3:443,:6443' }, 'http://s:1'],
    ['https://[::ffff:127.0.0.1]', both, undefined],
    ['https://[::ffff:10.1.2.3]', { ...both, NO_PROXY: '10.1.2.3' }, undefined],
    ['https://127.example', both, 'http://s:1'],
  ])('for %s in %j gives %s', (server, env, expected) => {
    expect(proxyFromEnvironment(new URL(server), env)).toBe(expected);
  });

  it('refuses proxies that are not http, https or socks5, without showing the password', () => {
    for (const url of ['https://p:1', 'socks5://p:1']) expect(checkProxyUrl(url)).toBe(url);
    expect(() => checkProxyUrl('socks4://user:secret@p:1')).toThrow(
      /^proxy-url has the unsupported scheme "socks4", must be http, https, or socks5$/,
    );
  });
});

interface ProxyRow {
  readonly scheme: 'http' | 'https';
  readonly login?: string;
  readonly authorization?: string;
}

describe('a client with a proxy', () => {
  let authority: TestAuthority;
  let proxy: Server;
  let tunnels: [path: string, authorization: string | undefined][];
  const open = new Set<Duplex>();
  beforeAll(async () => {
    authority = await testAuthority();
  });
  const startProxy = async (scheme: ProxyRow['scheme']): Promise<string> => {
    tunnels = [];
    proxy =
      scheme === 'http' ? createServer() : createTlsServer({ ...(await authority.issue('proxy', ['127.0.0.1'])) });
    proxy.on('connect', ({ url = '', headers }: IncomingMessage, socket: Duplex) => {
      tunnels.push([url, headers['proxy-authorization']]);
      const [host, port] = url.split(':');
      const upstream = connectTcp(Number(port), host, () => {
        socket.write('HTTP/1.1 200 OK\r\n\r\n');
        upstream.pipe(socket).pipe(upstream);
      });
      for (const end of [socket, upstream]) {
        open.add(end);
        end.on('error', () => end.destroy());
      }
    });
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    return `127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  };
  afterEach(async () => {
    for (const end of open) end.destroy();
    proxy.closeAllConnections();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const scripted = async (): Promise<ScriptedServer> => {
    const server = await ScriptedServer.start(await authority.issue('server', ['127.0.0.1']));
    const event = `${JSON.stringify({ type: 'ADDED', object: node })}\n`;
    return server.always((response, request) => {
      ('watch' in request.query ? stream(event) : json(node))(response, request);
    });
  };

  it('reaches the server through a CONNECT tunnel, with TLS end to end', async () => {
    await using server = await scripted();
    const proxyUrl = `http://${await startProxy('http')}`;
    await using client = new Client({ server: server.url, proxyUrl, tls: { ca: authority.ca } });
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    await settle();
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    expect(tunnels).toEqual([[new URL(server.url).host, undefined]]);
  });

  it.each<[string, ProxyRow]>([
    ['without TLS', { scheme: 'http' }],
    ['with a login', { scheme: 'http', login: 'u:p%40@', authorization: basic('u:p@') }],
    ['with a name that has no password', { scheme: 'http', login: 'u@', authorization: basic('u:') }],
    ['with a password that has no name', { scheme: 'http', login: ':p@', authorization: basic(':p') }],
    ['with TLS', { scheme: 'https' }],
    ['with TLS and a login', { scheme: 'https', login: 'u:p@', authorization: basic('u:p') }],
  ])('makes calls, watches and upgrades through one %s', async (_, { scheme, login = '', authorization }) => {
    await using server = await scripted();
    await using pods = await StreamServer.start({ tls: await authority.issue('server', ['127.0.0.1']) });
    const proxyUrl = `${scheme}://${login}${await startProxy(scheme)}`;
    const tls = { ca: authority.ca };
    await using client = new Client({ server: server.url, proxyUrl, tls });
    await using execs = new Client({ server: pods.url, proxyUrl, tls });
    expect(await client.get(Node, { name: 'a' })).toEqual(node);
    const watch = client.watchEvents(Node);
    expect((await watch.next()).value).toMatchObject({ type: 'ADDED' });
    await watch.return();
    await execs.exec({ namespace: 'n', name: 'p' }, { command: ['true'] });
    const [host, podsHost] = [server, pods].map(({ url }) => new URL(url).host);
    // The watch shares the tunnel of the call over HTTP/2.
    const hosts = currentWire().http2 ? [host, podsHost] : [host, host, podsHost];
    expect(tunnels).toEqual(hosts.map((path) => [path, authorization]));
  });

  it('with TLS trusts it as it trusts the server', async () => {
    await using server = await scripted();
    const proxyUrl = `https://${await startProxy('https')}`;
    const other = await testAuthority();
    await using stranger = new Client({ server: server.url, proxyUrl, tls: { ca: other.ca } });
    await expect(stranger.get(Node, { name: 'a' })).rejects.toThrow(/certificate/);
    expect(tunnels).toEqual([]);
    await using trusting = new Client({ server: server.url, proxyUrl, tls: { insecureSkipVerify: true } });
    expect(await trusting.get(Node, { name: 'a' })).toEqual(node);
  });

  it('fails its calls with what the proxy says', async () => {
    await using server = await scripted();
    const proxyUrl = `http://${await startProxy('http')}`;
    proxy.removeAllListeners('connect').on('connect', (_, socket: Duplex) => {
      open.add(socket.end('HTTP/1.1 407 Proxy Authentication Required\r\n\r\n'));
    });
    await using client = new Client({ server: server.url, proxyUrl, tls: { ca: authority.ca } });
    const outcomes = [client.get(Node, { name: 'a' }), client.watchEvents(Node).next()];
    const refused = { code: 'ECONNREFUSED', message: /proxy connect: 407 Proxy Authentication Required$/ };
    await Promise.all(outcomes.map((outcome) => expect(outcome).rejects.toMatchObject(refused)));
  });

  it('fails its calls, not the process, when a certificate is malformed', async () => {
    await using server = await scripted();
    const proxyUrl = `http://${await startProxy('http')}`;
    const tls = { ca: authority.ca, cert: 'none', key: 'none' };
    await using client = new Client({ server: server.url, proxyUrl, tls });
    await expect(client.get(Node, { name: 'a' })).rejects.toThrow(/PEM/i);
  });
});

function basic(login: string): string {
  return `Basic ${Buffer.from(login).toString('base64')}`;
}

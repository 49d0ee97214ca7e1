import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { connect as connectTcp } from 'node:net';
import type { Duplex } from 'node:stream';
import { resource } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer } from '../testing/scripted-server.ts';
import { checkProxyUrl, proxyFromEnvironment } from './proxy.ts';

const Node = resource({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });

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
  ])('for %s in %j gives %s', (server, env, expected) => {
    expect(proxyFromEnvironment(new URL(server), env)).toBe(expected);
  });

  it('refuses what is no http, https or socks5 proxy, without showing its password', () => {
    for (const url of ['https://p:1', 'socks5://p:1']) expect(checkProxyUrl(url)).toBe(url);
    expect(() => checkProxyUrl('socks4://user:secret@p:1')).toThrow(
      /^proxy-url has the unsupported scheme "socks4", must be http, https, or socks5$/,
    );
  });
});

describe('a client with a proxy', () => {
  it('reaches the server through a CONNECT tunnel, with TLS end to end', async () => {
    const authority = await testAuthority();
    await using server = await ScriptedServer.start(await authority.issue('server', ['127.0.0.1']));
    server.always(json({ kind: 'Node', metadata: { name: 'a' } }));
    const tunnels: string[] = [];
    const open = new Set<Duplex>();
    const proxy = createServer();
    proxy.on('connect', (request: IncomingMessage, socket: Duplex) => {
      tunnels.push(request.url ?? '');
      const [host, port] = (request.url ?? '').split(':');
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
    const proxyUrl = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    {
      await using client = new Client({ server: server.url, proxyUrl, tls: { ca: authority.ca } });
      expect(await client.get(Node, { name: 'a' })).toMatchObject({ kind: 'Node' });
    }
    expect(tunnels).toEqual([new URL(server.url).host]);
    for (const end of open) end.destroy();
    await new Promise<void>((resolve) => void proxy.close(() => resolve()));
  });
});

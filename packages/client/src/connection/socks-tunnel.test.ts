import { type AddressInfo, connect as connectTcp, createServer, type Server, type Socket } from 'node:net';
import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type TestAuthority, testAuthority } from '../testing/certificates.ts';
import { json, ScriptedServer } from '../testing/scripted-server.ts';
import { StreamServer } from '../testing/stream-server.ts';
import { currentWire } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';
import { socksTunnel } from './socks-tunnel.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });

/** A proxy with scripted answers: [bytes to wait for, bytes to send]. */
interface Step {
  readonly wait: number;
  readonly say: readonly number[];
}
const noLogin: Step = { wait: 3, say: [5, 0] };
const connected: Step = { wait: 10, say: [5, 0, 0, 1, 127, 0, 0, 1, 0, 80] };

describe('a SOCKS5 proxy', () => {
  let authority: TestAuthority;
  let proxy: Server;
  let heard: Buffer[];
  let steps: Step[];
  /** Port that the tunnel connects to; 0 = the proxy closes, -1 = it sends nothing more. */
  let behind: number;
  const sockets = new Set<Socket>();
  beforeAll(async () => {
    authority = await testAuthority();
  });
  beforeEach(async () => {
    heard = [];
    behind = 0;
    steps = [noLogin, connected];
    proxy = createServer((socket) => void serve(socket));
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => proxy.close(resolve));
  });
  const serve = async (socket: Socket): Promise<void> => {
    sockets.add(socket.on('error', () => undefined));
    for (const { wait, say } of steps) {
      let chunk: Buffer | null = null;
      while (chunk === null) {
        chunk = socket.read(wait) as Buffer | null;
        if (chunk === null) await new Promise((resolve) => socket.once('readable', resolve));
      }
      heard.push(chunk);
      // Answers are sent one byte at a time, because the client must not depend on how they are split.
      for (const byte of say) socket.write(Buffer.of(byte));
    }
    if (behind < 0) return;
    if (behind === 0) return void socket.end();
    const upstream = connectTcp(behind, '127.0.0.1').on('error', () => socket.destroy());
    sockets.add(upstream);
    return void upstream.pipe(socket).pipe(upstream);
  };
  const url = (login = ''): string => `socks5://${login}127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const tunnel = (server: string, login = '', timeoutMs = 60_000): Promise<Socket> =>
    socksTunnel({
      proxyUrl: url(login),
      server: new URL(server),
      timeoutMs,
      signal: new AbortController().signal,
    });

  it('carries calls, watches and upgrades, TLS end to end', async () => {
    const tls = await authority.issue('server', ['127.0.0.1']);
    await using server = (await ScriptedServer.start(tls)).always(json({ kind: 'Node', metadata: { name: 'a' } }));
    behind = Number(new URL(server.url).port);
    await using client = new Client({ server: server.url, proxyUrl: url(), tls: { ca: authority.ca } });
    expect(await client.get(Node, { name: 'a' })).toMatchObject({ kind: 'Node' });
    for await (const chunk of await client.podLog({ name: 'a', namespace: 'n' }))
      expect(String(chunk)).toContain('Node');
    await using streams = await StreamServer.start({ tls });
    behind = streams.port;
    await using other = new Client({ server: streams.url, proxyUrl: url(), tls: { ca: authority.ca } });
    const command = await other.exec({ name: 'p', namespace: 'n' }, { command: ['true'] });
    (await streams.peer()).exit(0);
    expect(await command.exited).toBe(0);
    // The log shares the connection of the call over HTTP/2.
    expect(heard.filter((chunk) => chunk.length === 3)).toHaveLength(currentWire().http2 ? 2 : 3);
  });

  it('carries plain HTTP', async () => {
    await using server = (await ScriptedServer.start()).always(json({ kind: 'Node', metadata: { name: 'a' } }));
    behind = Number(new URL(server.url).port);
    await using client = new Client({ server: server.url, proxyUrl: url() });
    expect(await client.get(Node, { name: 'a' })).toMatchObject({ kind: 'Node' });
  });

  it.each([
    ['https://127.0.0.2:6443', 10, [5, 1, 0, 1, 127, 0, 0, 2, 0x19, 0x2b]],
    ['https://api.example', 18, [5, 1, 0, 3, 11, ...Buffer.from('api.example'), 1, 0xbb]],
    ['http://[fd00::1:2]:80', 22, [5, 1, 0, 4, 0xfd, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 2, 0, 80]],
  ])('is asked for %s, names unresolved', async (server, bytes, expected) => {
    steps = [noLogin, { ...connected, wait: bytes }];
    (await tunnel(server)).destroy();
    expect([...(heard[1] ?? [])]).toEqual(expected);
  });

  it('gets the login that it asks for', async () => {
    steps = [{ wait: 4, say: [5, 2] }, { wait: 7, say: [1, 0] }, connected];
    (await tunnel('http://1.2.3.4', 'ab:c%40@')).destroy();
    expect([...(heard[0] ?? [])]).toEqual([5, 2, 0, 2]);
    expect(heard[1]?.toString('latin1')).toBe('\x01\x02ab\x02c@');
  });

  it('may answer with any kind of address', async () => {
    for (const say of [
      [5, 0, 0, 3, 2, 65, 66, 0, 80],
      [5, 0, 0, 4, ...Buffer.alloc(18)],
    ]) {
      steps = [noLogin, { wait: 10, say }];
      const socket = await tunnel('http://1.2.3.4');
      // Nothing of the answer is left for the reader of the tunnel.
      expect([socket.destroyed, socket.read()]).toEqual([false, null]);
      socket.destroy();
    }
  });

  it.each<[string, Step[], string]>([
    ['refuses', [noLogin, { wait: 10, say: [5, 5, 0, 1] }], 'socks connect: connection refused'],
    ['refuses for reasons of its own', [noLogin, { wait: 10, say: [5, 99, 0, 1] }], 'unknown code 99'],
    ['wants another login', [{ wait: 3, say: [5, 255] }], 'no acceptable authentication methods'],
    ['speaks something else', [{ wait: 3, say: [72, 84] }], 'the proxy does not speak SOCKS5'],
    ['leaves in the middle', [noLogin, { wait: 10, say: [5, 0] }], 'the proxy ended the connection'],
  ])('that %s is told so', async (_, script, message) => {
    steps = script;
    await expect(tunnel('http://1.2.3.4')).rejects.toThrow(message);
  });

  it('that is silent is given up', async () => {
    steps = [noLogin];
    behind = -1;
    await expect(tunnel('http://1.2.3.4', '', 50)).rejects.toMatchObject({ code: 'ETIMEDOUT' });
  });

  it('that is not there is ECONNREFUSED', async () => {
    await using client = new Client({ server: 'https://1.2.3.4', proxyUrl: 'socks5://127.0.0.1:1' });
    await expect(client.get(Node, { name: 'a' })).rejects.toMatchObject({ code: 'ECONNREFUSED' });
  });
});

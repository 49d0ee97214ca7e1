import type { AddressInfo } from 'node:net';
import { createServer, type Server, type Socket } from 'node:net';
import { type KubernetesObject, resource } from '@kapstan/api';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentWire } from '../testing/wire.ts';
import { WireClient as Client } from '../testing/wire-client.ts';

const Node = resource<KubernetesObject>({ group: '', version: 'v1', kind: 'Node', scope: 'Cluster' });
const target = { name: 'a' };
const pod = { name: 'a', namespace: 'b' };

// A silent peer that acts as a proxy opens the tunnel and sends nothing more.
const greetings = {
  none: [],
  http: ['HTTP/1.1 200 OK\r\n\r\n'],
  socks: [Buffer.of(5, 0), Buffer.of(5, 0, 0, 1, 0, 0, 0, 0, 0, 0)],
} as const;

interface Way {
  readonly scheme?: string;
  readonly greeting: readonly (string | Buffer)[];
}

describe('connections that do not stand yet', () => {
  let server: Server;
  let opened: number;
  let greeted: number;
  const sockets = new Set<Socket>();
  let greeting: Way['greeting'];
  beforeEach(async () => {
    opened = 0;
    greeted = 0;
    server = createServer((socket) => {
      opened++;
      sockets.add(socket);
      let heard = 0;
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
      // After its greeting the peer reads everything and never answers, so no TLS handshake completes.
      socket.on('data', () => {
        const word = greeting[heard++];
        if (word !== undefined) socket.write(word);
        if (heard > greeting.length) greeted++;
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterEach(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  const connect = ({ scheme, greeting: said }: Way): Client => {
    greeting = said;
    const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
    return new Client({
      server: `https://${host}`,
      proxyUrl: scheme === undefined ? undefined : `${scheme}://${host}`,
    });
  };
  const untilHeard = async (count: number): Promise<void> => {
    while (greeted < count) await new Promise(setImmediate);
  };
  const untilGone = async (): Promise<void> => {
    while (sockets.size > 0) await new Promise(setImmediate);
  };

  describe.each<[string, Way]>([
    ['TLS', { greeting: greetings.none }],
    ['an HTTP proxy', { scheme: 'http', greeting: greetings.none }],
    ['TLS behind an HTTP proxy', { scheme: 'http', greeting: greetings.http }],
    ['a SOCKS5 proxy', { scheme: 'socks5', greeting: greetings.none }],
    ['TLS behind a SOCKS5 proxy', { scheme: 'socks5', greeting: greetings.socks }],
  ])('for %s that is silent', (_, way) => {
    it('end with their calls, watches and upgrades, though other calls wait on', async () => {
      const client = connect(way);
      const aborts = Array.from({ length: 10 }, () => new AbortController());
      const calls = aborts.flatMap(({ signal }) => [
        client.get(Node, target, { signal }),
        client.watchEvents(Node, { signal }).next(),
        client.exec(pod, { command: ['x'], signal }),
      ]);
      const outcomes = Promise.allSettled(calls);
      const other = client.get(Node, target).catch(({ code }: { code: string }) => code);
      // Calls and watches share one connection over HTTP/2.
      const expected = currentWire().http2 ? 11 : 31;
      await untilHeard(expected);
      expect([opened, sockets.size]).toEqual([expected, expected]);
      for (const abort of aborts) abort.abort();
      await outcomes;
      while (sockets.size > 1) await new Promise(setImmediate);
      await client.close();
      expect(await other).toBe('ECANCELED');
      await untilGone();
    });

    it('end with close()', async () => {
      const client = connect(way);
      const calls = [client.get(Node, target), client.watchEvents(Node).next(), client.exec(pod, { command: ['x'] })];
      const outcomes = Promise.all(calls.map((call) => call.catch(({ code }: { code: string }) => code)));
      await untilHeard(currentWire().http2 ? 2 : 3);
      await client.close();
      expect(await outcomes).toEqual(['ECANCELED', 'ECANCELED', 'ECANCELED']);
      await untilGone();
    });
  });
});

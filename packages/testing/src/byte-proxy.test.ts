import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { LeakCheck, settle, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ByteProxy } from './byte-proxy.ts';

const kibibyte = 1024;

describe('ByteProxy', () => {
  let leaks: LeakCheck;
  let server: Server;
  let proxy: ByteProxy;
  let accepted: Socket[];
  let received: string;
  let onActivity: () => void;
  const clock = new VirtualClock();
  const sockets: Socket[] = [];

  beforeEach(async () => {
    leaks = new LeakCheck();
    accepted = [];
    received = '';
    onActivity = () => undefined;
    server = createServer({ allowHalfOpen: true }, (socket) => {
      accepted.push(socket);
      socket.on('error', () => undefined);
      socket.on('data', (chunk) => {
        received += chunk.toString();
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    proxy = await ByteProxy.start({
      targetPort: () => (server.address() as AddressInfo).port,
      clock,
      onActivity: () => onActivity(),
    });
  });

  afterEach(async () => {
    await proxy.close();
    for (const socket of [...sockets.splice(0), ...accepted]) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
    await leaks.assertNone();
  });

  async function open(): Promise<{ client: Socket; peer: Socket }> {
    const client = connect({ port: proxy.port, host: '127.0.0.1', allowHalfOpen: true });
    client.on('error', () => undefined);
    sockets.push(client);
    const connected = once(server, 'connection');
    await once(client, 'connect');
    await connected;
    // The server may accept the connection before the proxy knows that it is connected.
    while (proxy.connections.at(-1)?.serverSidePort === undefined) await settle();
    return { client, peer: accepted.at(-1) as Socket };
  }
  const receive = async (length: number): Promise<void> => {
    while (received.length < length) await new Promise((resolve) => setImmediate(resolve));
  };
  /** Waits long enough for bytes on the loopback to arrive, if any were sent. */
  const quiet = async (): Promise<void> => {
    for (let i = 0; i < 20; i++) await settle();
  };
  const failure = (socket: Socket): Promise<unknown> =>
    new Promise((resolve) => {
      socket.resume();
      socket.once('error', (error: NodeJS.ErrnoException) => resolve(error.code));
      socket.once('close', () => resolve('closed'));
    });

  it('forwards bytes in both directions, however many, and the end of each direction', async () => {
    const { client, peer } = await open();
    const text = 'x'.repeat(3 * kibibyte * kibibyte);
    client.write(text);
    await receive(text.length);
    let answer = 0;
    client.on('data', (chunk) => {
      answer += chunk.length;
    });
    client.end();
    await once(peer, 'end');
    peer.end(text);
    await once(client, 'end');
    expect([received.length, answer]).toEqual([text.length, text.length]);
    await quiet();
    expect(proxy.connections).toEqual([]);
  });

  it('holds a sender back when the receiver does not read', async () => {
    const { client, peer } = await open();
    peer.pause();
    const chunk = Buffer.alloc(kibibyte * kibibyte);
    let sent = 0;
    while (client.write(chunk) || client.writableLength < 4 * chunk.length) {
      sent += chunk.length;
      await new Promise((resolve) => setImmediate(resolve));
      if (sent > 256 * chunk.length) break;
    }
    expect(sent).toBeLessThan(64 * chunk.length);
  });

  it('cuts what is open on both sides and serves what comes next', async () => {
    const { client, peer } = await open();
    const ends = Promise.all([failure(client), failure(peer)]);
    proxy.cut();
    expect(await ends).toEqual(['ECONNRESET', 'ECONNRESET']);
    const next = await open();
    next.client.write('hello');
    await receive(5);
  });

  it('cuts, and closes, in the turn in which the end of a direction is being passed on', async () => {
    const { client } = await open();
    await quiet();
    client.end();
    // The lane forwards the end in the same turn in which it reports it: libuv is shutting the other socket down then.
    await new Promise<void>((resolve) => {
      onActivity = () => queueMicrotask(resolve);
    });
    await proxy.close();
    expect(proxy.connections).toEqual([]);
  });

  it('passes on a reset', async () => {
    const { client, peer } = await open();
    const end = failure(client);
    peer.resetAndDestroy();
    expect(await end).toBe('ECONNRESET');
  });

  it('is a black hole for present and new connections until it resumes, and then loses nothing', async () => {
    const { client } = await open();
    client.write('1');
    await receive(1);
    proxy.blackhole();
    client.write('2');
    const other = connect({ port: proxy.port, host: '127.0.0.1' });
    sockets.push(other);
    await once(other, 'connect');
    other.write('x');
    await quiet();
    expect([received, client.destroyed, other.destroyed]).toEqual(['1', false, false]);
    proxy.resume();
    await receive(3);
    expect([...received].sort().join('')).toBe('12x');
  });

  it('hides from each side that the other has ended while it is a black hole', async () => {
    const { client, peer } = await open();
    proxy.blackhole();
    client.destroy();
    await quiet();
    expect([peer.destroyed, peer.readableEnded]).toEqual([false, false]);
    const end = failure(peer);
    peer.once('end', () => peer.end());
    proxy.resume();
    expect(await end).toMatch(/closed|ECONNRESET/);
  });

  it('delays each chunk, in order', async () => {
    const { client } = await open();
    proxy.delayMs = 100;
    client.write('1');
    await quiet();
    await clock.advance(99);
    await quiet();
    expect(received).toBe('');
    client.write('2');
    await clock.advance(1);
    await receive(1);
    await quiet();
    await clock.advance(100);
    await receive(2);
    expect(received).toBe('12');
  });

  it('refuses connections while it does not listen, and listens on the same port again', async () => {
    const { client } = await open();
    const { port } = proxy;
    proxy.stopListening();
    const refused = connect({ port, host: '127.0.0.1' });
    expect(await failure(refused)).toBe('ECONNREFUSED');
    client.write('still there');
    await receive(11);
    await proxy.listen();
    await proxy.listen();
    expect(proxy.port).toBe(port);
    await open();
  });

  it('resets a client whose server is not there', async () => {
    const gone = await ByteProxy.start({ targetPort: () => 1 });
    const client = connect({ port: gone.port, host: '127.0.0.1' });
    expect(await failure(client)).toBe('ECONNRESET');
    await gone.close();
  });

  it('acts on single connections', async () => {
    const first = await open();
    const second = await open();
    expect(proxy.connections.map(({ serverSidePort }) => serverSidePort)).toEqual([
      first.peer.remotePort,
      second.peer.remotePort,
    ]);
    const end = failure(first.client);
    proxy.connections[0]?.cut();
    expect(await end).toBe('ECONNRESET');
    second.client.write('hello');
    await receive(5);
  });
});

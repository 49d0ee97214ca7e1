import { EventEmitter, once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { Duplex } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import type { CallOptions } from '@kapstan/api';
import { LeakCheck, VirtualClock } from '@kapstan/api/testing';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { Client } from '../client.ts';
import type { ClientOptions } from '../config/client-config.ts';
import { status } from '../testing/scripted-server.ts';
import { plainAnswer, type StreamPeer, StreamServer } from '../testing/stream-server.ts';
import { type EndForward, PortForward, type PortForwardOptions } from './port-forward.ts';
import { parsePortSpec } from './port-spec.ts';

const target = { namespace: 'n', name: 'p' };
const littleEndian = (port: number): Uint8Array => Uint8Array.of(port & 255, port >> 8);

/** Sends the first message of a kubelet on both channels. */
const greet = (peer: StreamPeer, port: number): StreamPeer =>
  peer.send(0, littleEndian(port)).send(1, littleEndian(port));

describe('ports of a pod', () => {
  const open: AsyncDisposable[] = [];
  afterEach(async () => {
    for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
  });
  const start = async (options: ClientOptions = {}) => {
    const server = await StreamServer.start({ protocols: ['v4.channel.k8s.io'] });
    const client = new Client({ server: server.url }, options);
    open.unshift(client, server);
    return { server, client };
  };
  const forward = async (options: Partial<PortForwardOptions> = {}, clientOptions: ClientOptions = {}) => {
    const { server, client } = await start(clientOptions);
    const failures: string[] = [];
    const onConnectionError = (error: Error): void => void failures.push(error.message);
    const ports = await client.portForward(target, {
      ports: [':8080'],
      addresses: ['127.0.0.1'],
      onConnectionError,
      ...options,
    });
    open.unshift(ports);
    const dial = (): Socket => {
      const socket = connect({ port: ports.ports[0]?.local ?? 0, host: '127.0.0.1', allowHalfOpen: true });
      return socket.on('error', () => undefined);
    };
    return { server, client, ports, failures, dial };
  };

  describe('dialPort()', () => {
    it('is a duplex stream over v4.channel.k8s.io; the port numbers in front are not data', async () => {
      const { server, client } = await start();
      const stream = await client.dialPort(target, 8080);
      expect(server.requests[0]?.url).toBe('/api/v1/namespaces/n/pods/p/portforward?ports=8080');
      expect(server.requests[0]?.headers['sec-websocket-protocol']).toBe('v4.channel.k8s.io');
      const peer = greet(await server.peer(), 8080);
      stream.write('ping');
      await peer.hasMessage(0, 'ping');
      peer.send(0, 'pong').socket.close(1000);
      expect(await text(stream)).toBe('pong');
    });

    it('takes port numbers that come in pieces or together with data', async () => {
      const { server, client } = await start();
      const stream = await client.dialPort(target, 515);
      const peer = await server.peer();
      peer
        .send(0, Uint8Array.of(3))
        .send(0, Uint8Array.of(2, 65, 66))
        .socket.close(1000);
      expect(await text(stream)).toBe('AB');
    });

    it('fails with what the kubelet says on the error channel', async () => {
      const { server, client } = await start();
      const stream = await client.dialPort(target, 81);
      greet(await server.peer(), 81).send(1, 'error forwarding port 81 to pod p: connection refused');
      await expect(text(stream)).rejects.toMatchObject({
        code: 'ECONNABORTED',
        message: expect.stringContaining('connection refused'),
      });
    });

    it('does not pass off a broken connection as the end of the data', async () => {
      const { server, client } = await start();
      const stream = await client.dialPort(target, 80);
      const peer = greet(await server.peer(), 80).send(0, 'half of it');
      stream.once('data', () => (peer.request.socket as Socket).resetAndDestroy());
      await expect(text(stream)).rejects.toMatchObject({ code: 'ECONNRESET' });
    });

    it.each([0, 65_536, 1.5, Number.NaN])('refuses port %d', async (port) => {
      const { client } = await start();
      await expect(client.dialPort(target, port)).rejects.toThrow('a port is an integer from 1 to 65535');
    });

    it('stops when its signal aborts, with the reason', async () => {
      const { server, client } = await start();
      const controller = new AbortController();
      const stream = await client.dialPort(target, 80, { signal: controller.signal });
      const peer = await server.peer();
      controller.abort(new Error('stop'));
      await expect(text(stream)).rejects.toThrow('stop');
      await once(peer.socket, 'close');
    });

    it('waits ten seconds for the last bytes after its own end, which the protocol cannot tell the pod', async () => {
      const clock = new VirtualClock();
      const { server, client } = await start({ clock });
      const stream = await client.dialPort(target, 80);
      const peer = greet(await server.peer(), 80);
      const finished = once(stream, 'finish');
      stream.end('request');
      await Promise.all([finished, peer.hasMessage(0, 'request')]);
      const reading = text(stream);
      await clock.advance(9_000);
      peer.send(0, 'still ');
      await once(stream, 'data');
      await clock.advance(9_000);
      peer.send(0, 'answering');
      await once(stream, 'data');
      const closed = once(peer.socket, 'close');
      await clock.advance(10_000);
      await closed;
      expect(await reading).toBe('still answering');
    });
  });

  describe('portForward()', () => {
    it('listens at the given address and forwards each connection over one of its own', async () => {
      const { server, ports, dial } = await forward();
      expect(ports.ports).toEqual([{ address: '127.0.0.1', local: expect.any(Number), remote: 8080 }]);
      for (const word of ['one', 'two']) {
        const socket = dial();
        socket.write(word);
        const peer = greet(await server.peer(), 8080);
        await peer.hasMessage(0, word);
        peer.send(0, word.toUpperCase()).socket.close(1000);
        expect(await text(socket)).toBe(word.toUpperCase());
      }
      expect(server.requests).toHaveLength(2);
    });

    it("rejects with the server's answer, and listens nowhere, when the pod is not there", async () => {
      const { server, client } = await start();
      const paths: unknown[] = [];
      server.onRead = (request, response) => {
        paths.push(request.url);
        response.writeHead(404, { 'content-type': 'application/json' });
        response.end(JSON.stringify(status(404, 'NotFound', 'pods "p" not found')));
      };
      await expect(client.portForward(target, { ports: [':8080'] })).rejects.toMatchObject({
        name: 'StatusError',
        code: 404,
        message: 'pods "p" not found',
      });
      await expect(client.portForward(target, { ports: ['none'] })).rejects.toThrow(TypeError);
      expect(paths).toEqual(['/api/v1/namespaces/n/pods/p']);
    });

    it('goes on for one who may forward but not read', async () => {
      const { server, client } = await start();
      server.onRead = (_, response) => {
        response.writeHead(403, { 'content-type': 'application/json' });
        response.end(JSON.stringify(status(403, 'Forbidden', 'no')));
      };
      const ports = await client.portForward(target, { ports: [':8080'], addresses: ['127.0.0.1'] });
      open.unshift(ports);
      expect(ports.ports).toHaveLength(1);
    });

    it('ends with its signal, and after its time, while the pod is looked for', async () => {
      const clock = new VirtualClock();
      const { server, client } = await start({ clock });
      const asked = new EventEmitter();
      server.onRead = () => void asked.emit('asked');
      const ended = async (options: CallOptions, end: () => unknown): Promise<unknown> => {
        const arrived = once(asked, 'asked');
        const call = client.portForward(target, { ports: [':1'], timeoutMs: 50, ...options });
        const failure = call.catch((error: unknown) => error);
        await arrived;
        await end();
        return await failure;
      };
      const controller = new AbortController();
      const abort = (): void => controller.abort(new Error('enough'));
      expect(await ended({ signal: controller.signal }, abort)).toMatchObject({ message: 'enough' });
      expect(await ended({}, () => clock.advance(50))).toMatchObject({ code: 'ETIMEDOUT' });
    });

    it('carries megabytes both ways under backpressure', async () => {
      const { server, dial } = await forward();
      const data = Buffer.alloc(8 * 1_048_576, 'q');
      const socket = dial();
      socket.end(data);
      const peer = greet(await server.peer(), 8080);
      await peer.hasReceived(0, data.length);
      for (let at = 0; at < data.length; at += 1_048_576) peer.send(0, data.subarray(at, at + 1_048_576));
      peer.socket.close(1000);
      expect((await buffer(socket)).equals(data)).toBe(true);
    });

    it('ends a connection when the local side goes, and only that one', async () => {
      const { server, failures, dial } = await forward();
      const [first, second] = [dial(), dial()];
      const peers = [greet(await server.peer(), 8080), greet(await server.peer(), 8080)];
      first.write('1');
      second.write('2');
      const [one, two] = peers;
      await Promise.all([once(one?.socket as never, 'message'), once(two?.socket as never, 'message')]);
      const ofFirst = one?.messages[0]?.[1] === '1' ? one : two;
      const ofSecond = ofFirst === one ? two : one;
      first.resetAndDestroy();
      await once(ofFirst?.socket as never, 'close');
      ofSecond?.send(0, 'alive').socket.close(1000);
      expect(await text(second)).toBe('alive');
      expect(failures.filter((message) => !message.includes('ECONNRESET'))).toEqual([]);
    });

    it('reports a connection that the server refuses, and resets the local side', async () => {
      const { server, failures, dial } = await forward();
      server.refuse(plainAnswer(404, status(404, 'NotFound', 'pods "p" not found')));
      const socket = dial();
      await new Promise((resolve) => socket.once('close', resolve));
      expect(failures).toEqual(['pods "p" not found']);
    });

    it('writes connection errors to the logger when nobody else asks for them', async () => {
      const warnings: string[] = [];
      const log = (message: string): void => void warnings.push(message);
      const logger = { debug: log, info: log, warn: log, error: log };
      const { server, client } = await start({ logger });
      const ports = await client.portForward(target, { ports: [':1'] });
      open.unshift(ports);
      server.refuse(plainAnswer(500, 'no'));
      const socket = connect(ports.ports[0]?.local ?? 0, '127.0.0.1').on('error', () => undefined);
      await new Promise((resolve) => socket.once('close', resolve));
      expect(warnings).toEqual(['a forwarded connection failed']);
    });

    it('closes listeners and connections, by close() and by its signal', async () => {
      for (const how of ['close', 'signal']) {
        const controller = new AbortController();
        const { server, ports, dial, failures } = await forward({ signal: controller.signal });
        const socket = dial();
        const gone = new Promise((resolve) => socket.once('close', resolve));
        const peer = await server.peer();
        const far = once(peer.socket, 'close');
        if (how === 'close') await ports.close();
        else controller.abort();
        await Promise.all([gone, far]);
        const late = dial();
        expect(await new Promise((resolve) => late.once('error', resolve))).toMatchObject({ code: 'ECONNREFUSED' });
        expect(failures).toEqual([]);
      }
    });

    it('closes in the turn in which the end of an answer is being passed on', async () => {
      const leaks = new LeakCheck();
      const remote = new Duplex({ read: () => undefined, write: (_chunk, _encoding, done) => done() });
      const ports = await PortForward.listen({
        dial: async () => remote,
        check: async () => undefined,
        ends: new Set(),
        options: { ports: [':1'], addresses: ['127.0.0.1'] },
        onConnectionError: () => undefined,
      });
      const socket = connect(ports.ports[0]?.local ?? 0, '127.0.0.1').on('error', () => undefined);
      const gone = new Promise((resolve) => socket.resume().once('close', resolve));
      await vi.waitFor(() => expect(remote.listenerCount('end')).toBeGreaterThan(0));
      // The pipeline, which listened earlier, ends the local socket: libuv is shutting it down at this point.
      const passedOn = once(remote, 'end');
      remote.push(null);
      await passedOn;
      await ports.close();
      await gone;
      await leaks.assertNone();
    });

    it('leaves nothing behind when it is ended while it opens, at whatever moment', async () => {
      const reason = new Error('enough');
      const outcomes: unknown[] = [];
      for (let moment = 0; moment < 24; moment++) {
        const leaks = new LeakCheck();
        const ends = new Set<EndForward>();
        const opening = PortForward.listen({
          dial: () => Promise.reject(new Error('nobody dials')),
          check: async () => undefined,
          ends,
          options: { ports: [':1', ':2'], addresses: ['localhost'] },
          onConnectionError: () => undefined,
        });
        const outcome = opening.then(
          ({ ports }) => ports.length,
          (error: unknown) => error,
        );
        for (let tick = 0; tick < moment >> 3; tick++) await new Promise<void>(process.nextTick);
        for (let turn = 0; turn < (moment & 7); turn++) await undefined;
        await Promise.all([...ends].map((end) => end(reason)));
        await leaks.assertNone();
        outcomes.push(await outcome);
      }
      expect(outcomes[0]).toBe(reason);
    });

    it('listens on both loopback addresses for localhost, on the same free port', async () => {
      const { ports } = await forward({ addresses: ['localhost'] });
      const [first] = ports.ports;
      expect(first?.address).toBe('127.0.0.1');
      expect(new Set(ports.ports.map(({ local }) => local)).size).toBe(1);
    });

    it.each<[Partial<PortForwardOptions>, string]>([
      [{ ports: [] }, 'you must specify at least 1 port'],
      [{ addresses: [] }, 'you must specify at least 1 address'],
      [{ addresses: ['example.com'] }, 'example.com is not a valid IP'],
      [{ addresses: ['192.0.2.1'] }, 'unable to listen on any of the requested ports'],
    ])('refuses %o', async (options, message) => {
      const { client } = await start();
      await expect(client.portForward(target, { ports: [':80'], ...options })).rejects.toThrow(message);
    });

    it('leaves no listener behind when one of its ports is taken', async () => {
      const taken = await forward();
      const port = taken.ports.ports[0]?.local ?? 0;
      const again = taken.client.portForward(target, { ports: [':80', `${port}:80`], addresses: ['127.0.0.1'] });
      await expect(again).rejects.toThrow('EADDRINUSE');
    });
  });

  describe('parsePortSpec', () => {
    it.each([
      ['5000', { local: 5000, remote: 5000 }],
      [5000, { local: 5000, remote: 5000 }],
      ['8888:5000', { local: 8888, remote: 5000 }],
      [':5000', { local: 0, remote: 5000 }],
      ['0:5000', { local: 0, remote: 5000 }],
    ])('reads %s', (spec, expected) => {
      expect(parsePortSpec(spec)).toEqual(expected);
    });

    it.each([
      ['1:2:3', "invalid port format '1:2:3'"],
      ['0', 'remote port must be > 0'],
      ['5:0', 'remote port must be > 0'],
      ['a', "error parsing remote port 'a'"],
      ['65536', "error parsing remote port '65536'"],
      ['b:5', "error parsing local port 'b'"],
      ['', "error parsing remote port ''"],
    ])('refuses %s', (spec, message) => {
      expect(() => parsePortSpec(spec)).toThrow(message);
    });
  });
});

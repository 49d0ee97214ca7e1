import { once } from 'node:events';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import type { ClientOptions } from '../config/client-config.ts';
import { StreamServer, type StreamServerOptions } from '../testing/stream-server.ts';
import type { ExecOptions, RemoteCommand } from './remote-command.ts';

const target = { namespace: 'n', name: 'p' };
const v4: StreamServerOptions = { protocols: ['v4.channel.k8s.io'] };

describe('a command in a container', () => {
  const open: AsyncDisposable[] = [];
  const start = async (options: StreamServerOptions = {}, clientOptions: ClientOptions = {}) => {
    const server = await StreamServer.start(options);
    const client = new Client({ server: server.url }, clientOptions);
    open.push(client, server);
    const exec = async (rest: Partial<ExecOptions> = {}) => {
      const command = await client.exec(target, { command: ['sh'], ...rest });
      return { command, peer: await server.peer() };
    };
    return { server, client, exec };
  };
  let fail: unknown[];
  const onUnhandled = (error: unknown): void => void fail.push(error);
  beforeEach(() => {
    fail = [];
    process.on('unhandledRejection', onUnhandled);
  });
  afterEach(async () => {
    for (const one of open.splice(0)) await one[Symbol.asyncDispose]();
    await new Promise(setImmediate);
    process.off('unhandledRejection', onUnhandled);
    expect(fail).toEqual([]);
  });

  it.each<[string, (client: Client) => Promise<RemoteCommand>, string]>([
    [
      'exec',
      (c) => c.exec(target, { command: ['ls', '-l', 'a b'] }),
      'exec?command=ls&command=-l&command=a+b&stdout=true&stderr=true',
    ],
    [
      'exec with a terminal',
      (c) => c.exec(target, { command: ['sh'], container: 'c', stdin: true, tty: true }),
      'exec?command=sh&container=c&stdin=true&stdout=true&tty=true',
    ],
    ['exec without stderr', (c) => c.exec(target, { command: ['x'], stderr: false }), 'exec?command=x&stdout=true'],
    ['attach', (c) => c.attach(target), 'attach?stdout=true&stderr=true'],
    [
      'attach to the input alone',
      (c) => c.attach(target, { stdin: true, stdout: false, stderr: false }),
      'attach?stdin=true',
    ],
  ])('asks for %s', async (_, call, line) => {
    const { server, client } = await start();
    await call(client);
    expect(server.requests[0]?.url).toBe(`/api/v1/namespaces/n/pods/p/${line}`);
    expect(server.requests[0]?.headers['sec-websocket-protocol']).toBe('v5.channel.k8s.io,v4.channel.k8s.io');
  });

  it.each<[Partial<ExecOptions>, string]>([
    [{ command: [] }, 'you must specify at least one command for the container'],
    [{ tty: true, stderr: true }, 'stderr cannot be combined with tty'],
    [{ stdout: false, stderr: false }, 'you must specify at least 1 of stdin, stdout, stderr'],
  ])('refuses %o before anything is sent', async (options, message) => {
    const { server, client } = await start();
    await expect(client.exec(target, { command: ['x'], ...options })).rejects.toThrow(message);
    expect(server.requests).toEqual([]);
  });

  describe.each(['v5.channel.k8s.io', 'v4.channel.k8s.io'])('over %s', (protocol) => {
    it('gives its output in two streams, and its exit code', async () => {
      const { exec } = await start({ protocols: [protocol] });
      const { command, peer } = await exec();
      expect(command.protocol).toBe(protocol);
      // The kubelet sends this when the connection is open.
      peer.send(1, '');
      peer.send(1, 'out').send(2, 'err').send(1, 'put').exit(0).socket.close(1000);
      expect([await text(command.stdout), await text(command.stderr)]).toEqual(['output', 'err']);
      expect(await command.exited).toBe(0);
    });

    it.each([1, 42, 137, 255])('gives exit code %d', async (code) => {
      const { exec } = await start({ protocols: [protocol] });
      const { command, peer } = await exec();
      peer.exit(code).socket.close(1000);
      expect(await command.exited).toBe(code);
    });

    it('rejects with the Status of a command that could not be run', async () => {
      const { exec } = await start({ protocols: [protocol] });
      const { command, peer } = await exec();
      peer.status({ status: 'Failure', reason: 'InternalError', message: 'no such file', code: 500 }).socket.close();
      await expect(command.exited).rejects.toMatchObject({
        code: 500,
        reason: 'InternalError',
        message: 'no such file',
      });
    });

    it('takes its input, in order and whatever its size', async () => {
      const { exec } = await start({ protocols: [protocol] });
      const { command, peer } = await exec({ stdin: true });
      const big = Buffer.alloc(200_000, 'x');
      command.stdin.write('a');
      command.stdin.write(big);
      await peer.hasReceived(0, 200_001);
      expect(peer.messages.map(([channel]) => channel)).toEqual(peer.messages.map(() => 0));
      expect(peer.messages.map(([, said]) => said).join('')).toBe(`a${big.toString()}`);
      expect(Math.max(...peer.messages.map(([, said]) => said.length))).toBeLessThanOrEqual(32_768);
    });
  });

  it('hears the end of its input over v5', async () => {
    const { exec } = await start();
    const { command, peer } = await exec({ stdin: true });
    await pipeline(Readable.from(['one ', 'two']), command.stdin);
    await peer.hasMessage(255, '\0');
    expect(peer.messages).toEqual([
      [0, 'one '],
      [0, 'two'],
      [255, '\0'],
    ]);
    peer.exit(0).socket.close();
    expect(await command.exited).toBe(0);
  });

  it('cannot hear the end of its input over v4: ending it fails, the command goes on', async () => {
    const { exec } = await start(v4);
    const { command, peer } = await exec({ stdin: true });
    await expect(pipeline(Readable.from(['x']), command.stdin)).rejects.toMatchObject({ code: 'ENOTSUP' });
    peer.send(1, 'still here').exit(0).socket.close();
    expect([await text(command.stdout), await command.exited]).toEqual(['still here', 0]);
  });

  it('loses no output that comes after the exit code: the server copies its streams side by side', async () => {
    const { exec } = await start();
    const { command, peer } = await exec();
    peer.exit(0).send(1, 'late').socket.close();
    expect([await command.exited, await text(command.stdout)]).toEqual([0, 'late']);
  });

  it('ends a stream when the server says so, while the command runs on', async () => {
    const { exec } = await start();
    const { command, peer } = await exec();
    peer.send(1, 'done').send(255, Uint8Array.of(1));
    expect(await text(command.stdout)).toBe('done');
    peer.send(1, 'too late').send(2, 'e').exit(3).socket.close();
    expect([await text(command.stderr), await command.exited]).toEqual(['e', 3]);
  });

  it('reads a Status that comes in pieces', async () => {
    const { exec } = await start();
    const { command, peer } = await exec();
    peer.send(3, '{"status":"Suc').send(3, 'cess"}');
    expect(await command.exited).toBe(0);
  });

  it('sends its terminal the size, and refuses that without a terminal', async () => {
    const { exec } = await start();
    const { command, peer } = await exec({ tty: true, stdin: true });
    command.resize({ width: 120, height: 40 });
    await peer.hasMessage(4, '{"Width":120,"Height":40}');
    expect(() => command.resize({ width: -1, height: 1 })).toThrow(TypeError);
    const plain = await exec();
    expect(() => plain.command.resize({ width: 1, height: 1 })).toThrow('resize() requires tty: true');
  });

  it('has streams that were not asked for, already ended', async () => {
    const { exec } = await start();
    const { command, peer } = await exec({ stderr: false });
    peer.send(2, 'nobody asked').exit(0).socket.close();
    expect(await text(command.stderr)).toBe('');
    expect(command.stdin.writable).toBe(false);
  });

  describe('backpressure', () => {
    const total = 64 * 1_048_576;
    const chunk = Buffer.alloc(1_048_576, 'z');

    it('a reader who does not read stops the container, and then gets every byte', async () => {
      const { server, exec } = await start();
      const { command, peer } = await exec();
      for (let sent = 0; sent < total; sent += chunk.length) peer.send(1, chunk);
      peer.exit(0).socket.close();
      const [socket] = server.sockets;
      await new Promise<void>((resolve) => {
        // The socket's buffers fill first, then the peer's own. Writing has stopped when two checks find the same
        // count.
        let last = -1;
        const look = (): void => {
          if (socket?.bytesWritten === last) return resolve();
          last = socket?.bytesWritten ?? 0;
          setImmediate(() => setImmediate(look));
        };
        look();
      });
      expect(peer.socket.bufferedAmount).toBeGreaterThan(total / 2);
      expect((await buffer(command.stdout)).length).toBe(total);
      expect(await command.exited).toBe(0);
    });

    it('a stream that its reader leaves holds nothing up', async () => {
      const { exec } = await start();
      const { command, peer } = await exec();
      command.stdout.destroy();
      for (let sent = 0; sent < 4; sent++) peer.send(1, chunk);
      peer.send(2, 'e').exit(0).socket.close();
      expect([await text(command.stderr), await command.exited]).toEqual(['e', 0]);
    });

    it('a container that does not read stops the writer', async () => {
      const { exec } = await start();
      const { command, peer } = await exec({ stdin: true });
      peer.socket.pause();
      let taken = 0;
      const feed = (): void => {
        while (taken < total && command.stdin.write(chunk)) taken += chunk.length;
      };
      feed();
      expect(taken).toBe(0);
      const wrote = pipeline(Readable.from(Array.from({ length: 64 }, () => chunk)), command.stdin);
      await settle();
      expect(command.stdin.writableLength).toBeLessThanOrEqual(3 * chunk.length);
      peer.socket.resume();
      await wrote;
      await peer.hasReceived(0, total + chunk.length);
    });
  });

  describe('ends with an error when', () => {
    it('its signal aborts: the reason, and no socket is left', async () => {
      const { server, exec } = await start();
      const controller = new AbortController();
      const { command } = await exec({ signal: controller.signal });
      const reading = text(command.stdout);
      const gone = once([...server.sockets][0] as never, 'close');
      const reason = new Error('enough');
      controller.abort(reason);
      await expect(command.exited).rejects.toBe(reason);
      await expect(reading).rejects.toBe(reason);
      await gone;
      expect(server.sockets.size).toBe(0);
    });

    it('its connection is reset, which crashes nobody who does not look', async () => {
      const { exec } = await start();
      const { command, peer } = await exec({ stdin: true });
      const closed = new Promise((resolve) => command.stdout.once('close', resolve));
      (peer.request.socket as { resetAndDestroy(): void }).resetAndDestroy();
      await closed;
      await expect(command.exited).rejects.toMatchObject({ code: 'ECONNRESET' });
      expect(command.stdin.destroyed).toBe(true);
    });

    it('the server leaves in peace but without an exit status', async () => {
      const { exec } = await start();
      const { command, peer } = await exec();
      peer.send(1, 'x').socket.close(1000);
      await expect(command.exited).rejects.toThrow("closed before the command's exit status came");
      expect(await text(command.stdout)).toBe('x');
    });

    it('the server leaves with a reason', async () => {
      const { exec } = await start();
      const { command, peer } = await exec();
      peer.socket.close(1011, 'out of memory');
      await expect(command.exited).rejects.toThrow('the server ended the connection with code 1011: out of memory');
    });

    it('a frame has no channel, or is text', async () => {
      const { exec } = await start();
      for (const frame of [Buffer.alloc(0), '1text']) {
        const { command, peer } = await exec();
        peer.socket.send(frame);
        await expect(command.exited).rejects.toMatchObject({ code: 'EBADMSG' });
      }
    });

    it('it is closed from this side', async () => {
      const { server, exec } = await start();
      const { command, peer } = await exec();
      command.close();
      await expect(command.exited).rejects.toMatchObject({ code: 'ECANCELED' });
      await once(peer.socket, 'close');
      expect(server.sockets.size).toBe(0);
    });

    it('the client is closed', async () => {
      const { client, exec } = await start();
      const { command } = await exec();
      await client.close();
      await expect(command.exited).rejects.toMatchObject({ code: 'ECANCELED' });
      await expect(client.exec(target, { command: ['x'] })).rejects.toThrow('the client is closed');
    });

    it('the far side is silently gone: after 61 seconds without an answer to a ping', async () => {
      const clock = new VirtualClock();
      const { exec } = await start({ autoPong: false }, { clock });
      const { command } = await exec();
      await clock.advance(60_000);
      expect(command.stdout.destroyed).toBe(false);
      await clock.advance(5_000);
      await expect(command.exited).rejects.toMatchObject({ code: 'ETIMEDOUT' });
    });
  });

  it('may be quiet for as long as it likes while the far side answers pings', async () => {
    const clock = new VirtualClock();
    const { exec } = await start({}, { clock });
    const { command, peer } = await exec();
    for (let at = 0; at < 300_000; at += 5_000) {
      const pinged = once(peer.socket, 'ping');
      await clock.advance(5_000);
      await pinged;
      // The pong is on its way back; a message sent after it shows that it has arrived.
      peer.send(2, '.');
      await once(command.stderr, 'readable');
      command.stderr.read();
    }
    peer.exit(0);
    expect(await command.exited).toBe(0);
  });

  it('does not take its own slow reader for a dead peer', async () => {
    const clock = new VirtualClock();
    const { exec } = await start({}, { clock });
    const { command, peer } = await exec();
    for (let sent = 0; sent < 16; sent++) peer.send(1, Buffer.alloc(65_536));
    peer.exit(7).socket.close();
    while (command.stdout.readableLength < command.stdout.readableHighWaterMark) await new Promise(setImmediate);
    await clock.advance(600_000);
    expect((await buffer(command.stdout)).length).toBe(16 * 65_536);
    expect(await command.exited).toBe(7);
  });
});

// Problems of exec and port-forward that users report, as listed in docs/parity/pains.md.
import { connect } from 'node:net';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { pipeline } from 'node:stream/promises';
import { describe, expect, it } from 'vitest';
import { Client } from '../client.ts';
import { StreamServer } from '../testing/stream-server.ts';

const target = { namespace: 'n', name: 'p' };

describe('what hurts in exec and port-forward:', () => {
  it('a peer that leaves in the middle of a forwarded connection ends the process', async () => {
    await using server = await StreamServer.start();
    await using client = new Client({ server: server.url });
    const failures: string[] = [];
    const onConnectionError = (error: Error): void => void failures.push(error.message);
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown): void => void uncaught.push(error);
    process.on('uncaughtException', onUncaught).on('unhandledRejection', onUncaught);
    await using forward = await client.portForward(target, {
      ports: [':80'],
      addresses: ['127.0.0.1'],
      onConnectionError,
    });
    const port = forward.ports[0]?.local ?? 0;
    const answer = Buffer.from('\x50\x00hello');
    for (const side of ['local', 'remote']) {
      for (let bytes = 0; bytes <= answer.length; bytes++) {
        const socket = connect(port, '127.0.0.1').on('error', () => undefined);
        socket.write('question');
        const peer = await server.peer();
        for (const byte of answer.subarray(0, bytes)) peer.send(0, Uint8Array.of(byte));
        const gone = new Promise((resolve) => (side === 'local' ? peer.socket : socket).once('close', resolve));
        if (side === 'local') socket.resetAndDestroy();
        else peer.request.socket.destroy();
        socket.resume();
        await gone;
      }
    }
    const last = connect(port, '127.0.0.1');
    (await server.peer()).send(0, answer).socket.close(1000);
    expect(await text(last)).toBe('hello');
    await new Promise(setImmediate);
    process.off('uncaughtException', onUncaught).off('unhandledRejection', onUncaught);
    expect(uncaught).toEqual([]);
    expect(failures.length).toBeGreaterThan(0);
  });

  it('nobody knows how input goes into exec, ends, and what came out where', async () => {
    await using server = await StreamServer.start();
    await using client = new Client({ server: server.url });
    const command = await client.exec(target, { command: ['wc', '-c'], stdin: true });
    const peer = await server.peer();
    const output = Promise.all([text(command.stdout), text(command.stderr), command.exited]);
    await pipeline(Readable.from(['12345', '67890']), command.stdin);
    await peer.hasMessage(255, '\0');
    peer
      .send(1, `${peer.received.get(0)}\n`)
      .send(2, 'warning\n')
      .exit(2)
      .socket.close(1000);
    expect(await output).toEqual(['10\n', 'warning\n', 2]);
  });
});

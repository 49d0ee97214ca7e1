import { type AddressInfo, connect, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { handshake } from './web-socket-handshake.ts';

it('a handshake that nobody waits for when its connection stands ends the connection, and nothing else', async () => {
  const server = createServer((socket) => void socket.resume());
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const connection = connect(port, '127.0.0.1');
  await new Promise((resolve) => connection.once('connect', resolve));
  const url = new URL(`http://127.0.0.1:${port}/`);
  const signal = AbortSignal.abort(new Error('too late'));
  const request = 'GET /';
  const beforeSend = (): void => undefined;
  const opened = handshake({ url, protocols: ['p'], headers: {}, connection, signal, request, beforeSend });
  await expect(opened).rejects.toThrow('too late');
  // A separate error event, for which nobody could listen, would now arrive and fail the run.
  await new Promise(setImmediate);
  expect(connection.destroyed).toBe(true);
  await new Promise((resolve) => server.close(resolve));
});

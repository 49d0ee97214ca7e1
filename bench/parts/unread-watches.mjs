// Opens watches whose answers nobody reads, each on its own connection. Used by memory.mjs.
import { once } from 'node:events';
import { connect } from 'node:tls';
import { inParallel } from './http-caller.mjs';

/** Opens the watches and reads the head of each answer. Resolves to a function that cuts them all. */
export async function openUnreadWatches({ url, token, ca }, path, count) {
  const { hostname, port } = new URL(url);
  const sockets = [];
  await inParallel(count, 16, async () => {
    const socket = connect({ host: hostname, port: Number(port), ca, ALPNProtocols: ['http/1.1'] });
    sockets.push(socket);
    await once(socket, 'secureConnect');
    socket.write(`GET ${path} HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${token}\r\n\r\n`);
    await once(socket, 'data');
    socket.pause();
    // The server may cut the connection; the benchmark measures this.
    socket.on('error', () => undefined);
  });
  return () => {
    for (const socket of sockets) socket.destroy();
  };
}

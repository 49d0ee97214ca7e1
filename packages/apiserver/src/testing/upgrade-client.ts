// A test client that requests another protocol on a plain connection and then exchanges bytes.
import { connect, type Socket } from 'node:net';
import { adminToken } from './api-server-fixture.ts';

export interface UpgradedConnection {
  readonly socket: Socket;
  /** Status line and headers of the answer. */
  readonly head: string;
  /** All bytes after the head so far. */
  received(): string;
  /** Resolves when the received bytes contain the text. */
  until(text: string): Promise<void>;
  /** Resolves with all that was received, when the connection is over. */
  readonly closed: Promise<string>;
}

export interface UpgradeRequest {
  readonly method?: string;
  readonly headers?: readonly string[];
  /** Bytes that are sent together with the request. */
  readonly head?: string;
}

/** Resolves with the head of the answer. */
export async function requestUpgrade(
  url: string,
  path: string,
  { method = 'GET', headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1'], head = '' }: UpgradeRequest = {},
): Promise<UpgradedConnection> {
  const { hostname, port, host } = new URL(url);
  const socket = connect({ host: hostname, port: Number(port), allowHalfOpen: true });
  let bytes = '';
  let wake: () => void = () => undefined;
  socket.setEncoding('latin1').on('data', (piece: string) => {
    bytes += piece;
    wake();
  });
  socket.on('error', () => undefined);
  const over = new Promise<void>((resolve) => socket.once('close', () => resolve()));
  socket.once('end', () => socket.end());
  const lines = [`${method} ${path} HTTP/1.1`, `Host: ${host}`, `Authorization: Bearer ${adminToken}`, ...headers];
  socket.write(`${lines.join('\r\n')}\r\n\r\n${head}`);
  const until = async (wanted: string, from = 0): Promise<void> => {
    while (!bytes.includes(wanted, from)) {
      const more = new Promise<void>((resolve) => {
        wake = resolve;
      });
      await Promise.race([more, over]);
      if (socket.destroyed && !bytes.includes(wanted, from)) throw new Error(`closed after ${JSON.stringify(bytes)}`);
    }
  };
  await until('\r\n\r\n');
  const length = bytes.indexOf('\r\n\r\n') + 4;
  return {
    socket,
    head: bytes.slice(0, length),
    received: () => bytes.slice(length),
    until: (wanted) => until(wanted, length),
    closed: over.then(() => bytes.slice(length)),
  };
}

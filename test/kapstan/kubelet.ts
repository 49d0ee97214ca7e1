// A small kubelet for tests of requests from `kapstan serve` to nodes. It serves logs and programs that repeat their
// input over WebSockets, and ports over SPDY.
import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { serveForwardedPorts } from './spdy-frames.ts';

export interface Kubelet {
  readonly port: number;
  /** Paths and queries that were requested. */
  readonly asked: readonly string[];
  /** Number of connections that are open now. */
  readonly open: number;
  /** Adds a line to the logs that are followed. */
  log(line: string): void;
  close(): Promise<void>;
}

export async function startKubelet(tls: { readonly cert: string; readonly key: string }): Promise<Kubelet> {
  const asked: string[] = [];
  const open = new Set<Socket>();
  const followers = new Set<ServerResponse>();
  const server = createServer(tls, (request, response) => {
    asked.push(request.url ?? '');
    response.write('first line\nsecond line\n');
    if (request.url?.includes('follow=true') !== true) return void response.end();
    followers.add(response);
    response.once('close', () => followers.delete(response));
  });
  server.on('secureConnection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    socket.on('error', () => undefined);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    asked.push(request.url ?? '');
    socket.unshift(head);
    socket.once('end', () => socket.end());
    if (request.headers.upgrade === 'SPDY/3.1') return forwardPorts(socket);
    const isProgram = String(request.headers['sec-websocket-protocol']).includes(protocol);
    if (isProgram) return runProgram(request, socket);
    // kubectl then retries with SPDY.
    socket.end('HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    asked,
    get open() {
      return open.size;
    },
    log: (line) => {
      for (const follower of followers) follower.write(`${line}\n`);
    },
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

const protocol = 'v5.channel.k8s.io';

function forwardPorts(socket: Socket): void {
  const headers = ['Connection: Upgrade', 'Upgrade: SPDY/3.1', 'X-Stream-Protocol-Version: portforward.k8s.io'];
  socket.write(`HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\n\r\n`);
  serveForwardedPorts(socket);
}

/** Answers its command, then all of its standard input. Ends with status 3 if the input is "fail". */
function runProgram(request: IncomingMessage, socket: Socket): void {
  const key = `${request.headers['sec-websocket-key']}258EAFA5-E914-47DA-95CA-C5AB0DC85B11`;
  const accept = createHash('sha1').update(key).digest('base64');
  const headers = ['Connection: Upgrade', 'Upgrade: websocket', `Sec-WebSocket-Accept: ${accept}`];
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\n${headers.join('\r\n')}\r\nSec-WebSocket-Protocol: ${protocol}\r\n\r\n`,
  );
  const { searchParams } = new URL(request.url ?? '/', 'https://kubelet');
  const command = searchParams.getAll('command').join(' ');
  const [stdout, status] = [1, 3];
  const end = (): void => {
    const failure = { reason: 'NonZeroExitCode', details: { causes: [{ reason: 'ExitCode', message: '3' }] } };
    const isFailure = command === 'fail';
    const outcome = isFailure
      ? { status: 'Failure', message: 'command terminated with exit code 3', ...failure }
      : { status: 'Success' };
    socket.write(
      frame(2, Buffer.concat([Buffer.of(status), Buffer.from(JSON.stringify({ metadata: {}, ...outcome }))])),
    );
    socket.write(frame(8, Buffer.of(3, 232)));
  };
  socket.write(frame(2, Buffer.concat([Buffer.of(stdout), Buffer.from(`ran ${command}\n`)])));
  if (searchParams.get('input') !== '1') {
    // The socket is read to the end, so that the close is noticed.
    socket.resume();
    return end();
  }
  readFrames(socket, (message) => {
    const [channel = 0] = message;
    // The bytes 255 0 close standard input.
    if (channel === 255) return end();
    socket.write(frame(2, Buffer.concat([Buffer.of(stdout), message.subarray(1)])));
  });
}

function frame(kind: number, body: Buffer): Buffer {
  const length = body.length < 126 ? Buffer.of(body.length) : Buffer.of(126, body.length >> 8, body.length & 255);
  return Buffer.concat([Buffer.of(0x80 | kind), length, body]);
}

/** Reads a client's binary messages, which are masked and have one frame each. */
function readFrames(socket: Socket, onMessage: (message: Buffer) => void): void {
  let rest: Buffer = Buffer.alloc(0);
  socket.on('data', (bytes: Buffer) => {
    rest = Buffer.concat([rest, bytes]);
    for (;;) {
      const short = (rest[1] ?? 0) & 127;
      const at = short === 126 ? 4 : 2;
      if (rest.length < at + 4) return;
      const length = short === 126 ? rest.readUInt16BE(2) : short;
      if (rest.length < at + 4 + length) return;
      const mask = rest.subarray(at, at + 4);
      const body = rest.subarray(at + 4, at + 4 + length).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
      const kind = (rest[0] ?? 0) & 15;
      rest = rest.subarray(at + 4 + length);
      if (kind === 2 && body.length > 0) onMessage(Buffer.from(body));
    }
  });
}

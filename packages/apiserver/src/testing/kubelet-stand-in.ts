// A kubelet or a pod for tests: real sockets, with or without TLS, which record requests and answer according to the
// path.
import { createServer, type IncomingMessage, type RequestListener } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { AddressInfo, Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import type { TLSSocket } from 'node:tls';

interface SeenRequest {
  readonly method: string;
  readonly url: string;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: string;
  /** Common name of the certificate that the client showed. */
  readonly clientName: string | undefined;
}

export interface KubeletStandIn {
  readonly port: number;
  readonly seen: readonly SeenRequest[];
  /** Connections that are open now. */
  readonly open: number;
  /** Resolves when no connection is open. */
  idle(): Promise<void>;
  close(): Promise<void>;
}

export interface KubeletStandInOptions {
  readonly tls?: { readonly cert: string; readonly key: string } | undefined;
  /** Default: 200 and "logs". */
  readonly answer?: RequestListener | undefined;
  /** Handles a request for another protocol. Default: agrees, greets with "hello " and then echoes. */
  readonly upgrade?: ((request: IncomingMessage, socket: Socket, head: Buffer) => void) | undefined;
}

export async function startKubelet(options: KubeletStandInOptions = {}): Promise<KubeletStandIn> {
  const seen: SeenRequest[] = [];
  const open = new Set<Socket>();
  let onIdle: () => void = () => undefined;
  const note = async (request: IncomingMessage, body: string): Promise<void> => {
    const peer = (request.socket as TLSSocket).getPeerCertificate?.();
    const { method = '', url = '', headers } = request;
    seen.push({ method, url, headers, body, clientName: String(peer?.subject?.CN ?? '') || undefined });
  };
  const answer = options.answer ?? ((_request, response) => void response.end('logs'));
  const listener: RequestListener = (request, response) => {
    // A client that streams a body wants its answer before the body ends.
    if (request.url?.includes('stream') === true) return answer(request, response);
    void text(request).then(
      async (body) => {
        await note(request, body);
        answer(request, response);
      },
      () => undefined,
    );
  };
  const server =
    options.tls === undefined
      ? createServer(listener)
      : createTlsServer({ ...options.tls, requestCert: true, rejectUnauthorized: false }, listener);
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.once('close', () => {
      open.delete(socket);
      if (open.size === 0) onIdle();
    });
  });
  server.on('upgrade', (request: IncomingMessage, socket: Socket, head: Buffer) => {
    void note(request, '');
    socket.on('error', () => undefined);
    (options.upgrade ?? greetAndRepeat)(request, socket, head);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    seen,
    get open() {
      return open.size;
    },
    idle: () =>
      new Promise((resolve) => {
        if (open.size === 0) resolve();
        else onIdle = resolve;
      }),
    close: async () => {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}

function greetAndRepeat(request: IncomingMessage, socket: Socket, head: Buffer): void {
  socket.write(
    `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\n`,
  );
  socket.write('hello ');
  socket.write(head);
  socket.pipe(socket);
}

import { once } from 'node:events';
import { type ClientHttp2Session, connect as connectHttp2 } from 'node:http2';
import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { nextTurn } from '@kapstan/api/internal';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { selfSigned } from '../../testing/self-signed.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type HttpServer, startHttpServer } from './http-server.ts';

/** A connection through which no more bytes pass once it is cut, though both ends stay open. */
class Wire {
  readonly #sockets: Socket[] = [];
  /** Number of times that bytes came from either end. */
  moves = 0;
  readonly #listener: Server;

  constructor(to: number) {
    this.#listener = createServer((near) => {
      const far = connect(to, '127.0.0.1');
      for (const socket of [near, far]) socket.on('error', () => undefined).on('data', () => this.moves++);
      near.pipe(far).pipe(near);
      this.#sockets.push(near, far);
    });
  }

  /** Resolves to its port. */
  async listen(): Promise<number> {
    await once(this.#listener.listen(0, '127.0.0.1'), 'listening');
    return (this.#listener.address() as AddressInfo).port;
  }

  cut(): void {
    for (const socket of this.#sockets) socket.unpipe().pause();
  }

  close(): void {
    for (const socket of this.#sockets) socket.destroy();
    this.#listener.close();
  }
}

describe('an HTTP/2 session', () => {
  let clock: VirtualClock;
  let server: HttpServer;
  let wire: Wire;
  let client: ClientHttp2Session;
  /** Resolves when the request that is never answered is over for the server. */
  let isOver: Promise<void>;

  beforeEach(async () => {
    clock = new VirtualClock();
    const { cert, key } = await selfSigned('CN=127.0.0.1');
    let over: () => void = () => undefined;
    isOver = new Promise((resolve) => (over = resolve));
    const handle = async (exchange: Exchange): Promise<void> => {
      exchange.onClose(over);
      exchange.open(200);
    };
    server = await startHttpServer({ handle, tls: { cert, key }, clock });
    wire = new Wire(server.port);
    client = connectHttp2(`https://127.0.0.1:${await wire.listen()}`, { ca: cert });
    client.on('error', () => undefined);
    const stream = client.request({ ':path': '/' });
    stream.on('error', () => undefined);
    await once(stream, 'response');
  });

  afterEach(async () => {
    client.destroy();
    wire.close();
    await server.close(0);
  });

  /** Resolves when no bytes have moved for many turns: both ends have handled what they were sent. */
  const quiet = async (): Promise<void> => {
    for (let turn = 0, moves = wire.moves; turn < 50; turn++) {
      await nextTurn();
      if (wire.moves !== moves) [turn, moves] = [0, wire.moves];
    }
  };

  const after = (ms: number): Promise<'over' | 'open'> =>
    Promise.race([
      isOver.then(() => 'over' as const),
      clock
        .advance(ms)
        .then(quiet)
        .then(() => 'open' as const),
    ]);

  it('whose peer answers pings stays, however long it is idle', async () => {
    let pings = 0;
    client.on('ping', () => pings++);
    for (let minute = 0; minute < 5; minute++) {
      expect(await after(30_000)).toBe('open');
      expect(await after(30_000)).toBe('open');
    }
    expect(pings).toBeGreaterThan(3);
  });

  it('whose peer is silent ends a minute after the ping, with its requests', async () => {
    expect(await after(30_000)).toBe('open');
    wire.cut();
    expect(await after(60_000)).toBe('open');
    expect(await after(60_000)).toBe('over');
  });

  it('whose peer is silent holds up a stop for five seconds', async () => {
    wire.cut();
    const closed = server.close(60_000);
    expect(await after(4_000)).toBe('open');
    expect(await after(1_000)).toBe('over');
    await closed;
  });
});

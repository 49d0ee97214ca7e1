import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { anonymous } from '../credentials/credentials.ts';
import { ConnectionPool } from './connection-pool.ts';
import { PoolLease } from './pool-lease.ts';
import type { Sender } from './sender.ts';
import { TlsMaterial } from './tls-material.ts';

/** Records the returned connections, and can delay the end of streams. */
class ObservedPool extends ConnectionPool {
  readonly released: Sender[] = [];
  gate: Promise<void> | undefined;

  override async release(stream: Sender): Promise<void> {
    this.released.push(stream);
    await this.gate;
    await super.release(stream);
  }
}

describe("a client's lease of a pool", () => {
  let server: Server;
  let pool: ObservedPool;
  let lease: PoolLease;
  let givenBack: number;
  const sockets = new Set<Socket>();
  beforeEach(async () => {
    server = createServer((socket) => {
      sockets.add(socket.on('error', () => undefined));
      socket.once('close', () => sockets.delete(socket)).resume();
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const clock = new VirtualClock();
    const material = new TlsMaterial({ tls: {}, credentials: anonymous, clock, logger: silentLogger });
    const url = new URL(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    pool = new ObservedPool({ server: url, tls: {}, material, proxyUrl: undefined, clock, http2: undefined });
    givenBack = 0;
    lease = new PoolLease(pool, async () => {
      givenBack++;
      await pool.close();
    });
  });
  afterEach(async () => {
    await lease.close();
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });

  it('is over for all who close it at the same moment, and given back once', async () => {
    await lease.forStream(() => undefined);
    let open: (() => void) | undefined;
    pool.gate = new Promise<void>((resolve) => {
      open = resolve;
    });
    let isOver = false;
    const first = lease.close();
    const second = lease.close().then(() => {
      isOver = true;
    });
    await new Promise(setImmediate);
    expect([isOver, givenBack]).toEqual([false, 0]);
    open?.();
    await Promise.all([first, second, lease.close()]);
    expect(givenBack).toBe(1);
  });

  it('ends with close() the streams that are open, not those that are over', async () => {
    const over = await lease.forStream(() => undefined);
    const open = await lease.forStream(() => undefined);
    lease.release(over);
    await lease.close();
    expect(pool.released).toEqual([over, open]);
  });

  it('ends upgraded connections with close(), also one that comes to stand meanwhile', async () => {
    const { signal } = new AbortController();
    const connect = await lease.forUpgrade();
    const ends = (socket: Socket): Promise<unknown> => new Promise((resolve) => socket.once('error', resolve));
    const stands = await connect(signal);
    const standing = connect(signal);
    const ended = ends(stands);
    await lease.close();
    const canceled = { code: 'ECANCELED', message: 'the client is closed' };
    expect(await ended).toMatchObject(canceled);
    expect(await ends(await standing)).toMatchObject(canceled);
    await expect(lease.forUpgrade()).rejects.toThrow('the client is closed');
  });
});

// One client's share of a connection pool that equal clients use: its streams and upgraded connections, which end with it.
import type { Socket } from 'node:net';
import type { ConnectionPool, Generation } from './connection-pool.ts';
import type { Sender } from './sender.ts';

export class PoolLease {
  readonly #pool: ConnectionPool;
  readonly #giveBack: () => Promise<void>;
  readonly #streams = new Set<Sender>();
  readonly #upgraded = new Set<Socket>();
  #closing: Promise<void> | undefined;

  /** {@link close} calls `giveBack` once. */
  constructor(pool: ConnectionPool, giveBack: () => Promise<void>) {
    this.#pool = pool;
    this.#giveBack = giveBack;
  }

  /** Returns the sender for the next call. Rejects when certificates cannot be loaded, or after {@link close}. */
  async forCall(): Promise<Sender> {
    return (await this.#generation()).pool;
  }

  /**
   * Returns the sender for one stream; pass it to {@link release} afterwards. `onReplaced` is called when the client certificate has
   * changed and the stream should end. Rejects like {@link forCall}.
   */
  async forStream(onReplaced: () => void): Promise<Sender> {
    const stream = this.#pool.openStream(await this.#generation(), onReplaced);
    this.#streams.add(stream);
    return stream;
  }

  /**
   * Prepares a bare connection for an upgrade; it belongs to the caller, and {@link close} ends it too. Rejects as {@link forCall} does;
   * network errors come from the returned function.
   */
  async forUpgrade(): Promise<(signal: AbortSignal) => Promise<Socket>> {
    const generation = await this.#generation();
    return async (signal) => {
      const socket = await this.#pool.dial(generation, signal);
      if (this.#closing !== undefined) socket.destroy(closedError());
      this.#upgraded.add(socket);
      socket.once('close', () => this.#upgraded.delete(socket));
      return socket;
    };
  }

  /** Closes the connection of a stream, if it is not shared. */
  release(stream: Sender): void {
    this.#streams.delete(stream);
    this.#pool.release(stream).catch(() => undefined);
  }

  /** Ends streams and upgraded connections, and the rest when no other client shares it. Idempotent: all callers wait for the same end. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    for (const socket of this.#upgraded) socket.destroy(closedError());
    const streams = [...this.#streams];
    this.#streams.clear();
    await Promise.all(streams.map((stream) => this.#pool.release(stream)));
    await this.#giveBack();
  }

  // Atomic: anything that the caller creates from the result in the same turn belongs to an open lease.
  async #generation(): Promise<Generation> {
    const generation = await this.#pool.generation();
    if (this.#closing !== undefined) throw new TypeError('the client is closed');
    return generation;
  }
}

function closedError(): Error {
  return Object.assign(new Error('the client is closed'), { code: 'ECANCELED' });
}

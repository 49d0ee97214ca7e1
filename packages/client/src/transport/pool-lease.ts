// One client's part in a connection pool that equal clients share: its streams and upgraded connections, which end with it.
import type { Socket } from 'node:net';
import type { Dispatcher } from 'undici';
import type { ConnectionPool, Generation } from './connection-pool.ts';

export class PoolLease {
  readonly #pool: ConnectionPool;
  readonly #giveBack: () => Promise<void>;
  readonly #streams = new Set<Dispatcher>();
  readonly #upgraded = new Set<Socket>();
  #closing: Promise<void> | undefined;

  /** `giveBack` is called once, by {@link close}. */
  constructor(pool: ConnectionPool, giveBack: () => Promise<void>) {
    this.#pool = pool;
    this.#giveBack = giveBack;
  }

  /** The pool for the next call. Rejects when certificates cannot be had, or after {@link close}. */
  async forCall(): Promise<Dispatcher> {
    return (await this.#generation()).pool;
  }

  /**
   * A connection for one stream; give it to {@link release} when that is over. `onReplaced` is called when the client
   * certificate has changed: the stream should end. Rejects as {@link forCall}.
   */
  async forStream(onReplaced: () => void): Promise<Dispatcher> {
    const stream = this.#pool.openStream(await this.#generation(), onReplaced);
    this.#streams.add(stream);
    return stream;
  }

  /**
   * The way to a bare connection, for an upgrade; it belongs to the caller, {@link close} ends it too. Rejects as
   * {@link forCall}; network errors come from the second step.
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

  /** Ends the connection of a stream. */
  release(stream: Dispatcher): void {
    this.#streams.delete(stream);
    this.#pool.release(stream).catch(() => undefined);
  }

  /** Ends streams and upgraded connections; the rest when no other client shares it. Idempotent: all wait for the one end. */
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

  // Atomic: what is made of the result in the same turn belongs to a lease that is open.
  async #generation(): Promise<Generation> {
    const generation = await this.#pool.generation();
    if (this.#closing !== undefined) throw new TypeError('the client is closed');
    return generation;
  }
}

function closedError(): Error {
  return Object.assign(new Error('the client is closed'), { code: 'ECANCELED' });
}

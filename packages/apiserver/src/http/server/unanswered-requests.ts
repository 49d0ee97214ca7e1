// UnansweredRequests: the answers that HTTP/1.1 connections still owe, in turn: a client may send requests ahead. Kept by
// http-server.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const nothing = (): void => undefined;

export class UnansweredRequests {
  readonly #owed = new WeakMap<Socket, Map<ServerResponse, () => void>>();

  /** Calls back when the answer is out, or lost with its connection: one that waits for its turn is not told of that. */
  add(response: ServerResponse, over: () => void): void {
    const owed = this.#of(response.req.socket);
    owed.set(response, over);
    response.once('close', () => {
      if (owed.delete(response)) over();
    });
  }

  /**
   * Calls back when all that the connection owes now is answered, for who takes it from node:http; never when it is over before.
   */
  whenAnswered(socket: Socket, then: () => void): void {
    const owed = this.#of(socket);
    const last = [...owed.keys()].at(-1);
    if (last === undefined) return then();
    // node:http listens to it no more: an error would end the process, and an answer that waits for room would wait for ever.
    const onDrain = (): void => void owed.keys().next().value?.emit('drain');
    socket.on('error', nothing).on('drain', onDrain);
    last.once('close', () => {
      socket.off('error', nothing).off('drain', onDrain);
      if (socket.destroyed || socket.writableEnded) return void socket.on('error', nothing);
      // It is not idle after the last answer, as node:http takes it to be.
      socket.setTimeout(0);
      then();
    });
  }

  /** One listener a connection, however many requests come on it. */
  #of(socket: Socket): Map<ServerResponse, () => void> {
    const known = this.#owed.get(socket);
    if (known !== undefined) return known;
    const owed = new Map<ServerResponse, () => void>();
    this.#owed.set(socket, owed);
    socket.once('close', () => {
      const lost = [...owed.values()];
      owed.clear();
      for (const over of lost) over();
    });
    return owed;
  }
}

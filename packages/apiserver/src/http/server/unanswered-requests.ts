// UnansweredRequests keeps, in order, the answers that HTTP/1.1 connections still owe, because a client may send
// requests ahead. Used by http-server.ts.
import type { ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

const nothing = (): void => undefined;

export class UnansweredRequests {
  readonly #owed = new WeakMap<Socket, Map<ServerResponse, () => void>>();

  /**
   * Calls `over` when the answer is sent, or lost with its connection. Node does not notify an answer that waits for
   * its turn of that loss.
   */
  add(response: ServerResponse, over: () => void): void {
    const owed = this.#of(response.req.socket);
    owed.set(response, over);
    response.once('close', () => {
      if (owed.delete(response)) over();
    });
  }

  /**
   * Calls `then` when all answers that the connection owes now have been sent, for callers that take it over from
   * node:http. Never called if the connection closes first.
   */
  whenAnswered(socket: Socket, then: () => void): void {
    const owed = this.#of(socket);
    const last = [...owed.keys()].at(-1);
    if (last === undefined) return then();
    // node:http no longer listens: an error would end the process, and an answer that waits for room would wait
    // forever.
    const onDrain = (): void => void owed.keys().next().value?.emit('drain');
    socket.on('error', nothing).on('drain', onDrain);
    last.once('close', () => {
      socket.off('error', nothing).off('drain', onDrain);
      if (socket.destroyed || socket.writableEnded) return void socket.on('error', nothing);
      // node:http takes the connection to be idle after the last answer, so its timeout is taken away.
      socket.setTimeout(0);
      then();
    });
  }

  /** Each connection has one listener, however many requests arrive on it. */
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

// TurnFlusher: work that is put off to the end of this turn of the event loop, so that several events written to one
// socket become one write. One setImmediate serves all sockets.

export class TurnFlusher {
  #pending: (() => void)[] = [];

  /** Runs `flush` once, soon, after everything that happens in this turn. */
  schedule(flush: () => void): void {
    this.#pending.push(flush);
    if (this.#pending.length === 1) setImmediate(() => this.#run());
  }

  #run(): void {
    const flushes = this.#pending;
    this.#pending = [];
    for (const flush of flushes) flush();
  }
}

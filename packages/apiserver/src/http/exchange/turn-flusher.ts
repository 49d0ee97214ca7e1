// TurnFlusher puts writes off to the end of this turn of the event loop, so that several events for one socket become
// one write. One setImmediate serves all sockets.

/** Encrypting and writing one event takes some 40 us per socket, so this many take a few milliseconds. */
const flushesPerTurn = 64;

export class TurnFlusher {
  readonly #pending: (() => void)[] = [];
  #isScheduled = false;

  /** Runs `flush` once, after everything else that happens in this turn. A long queue takes several turns, in order. */
  schedule(flush: () => void): void {
    this.#pending.push(flush);
    this.#scheduleRun();
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    setImmediate(() => this.#run());
  }

  #run(): void {
    const flushes = this.#pending.splice(0, flushesPerTurn);
    this.#isScheduled = false;
    if (this.#pending.length > 0) this.#scheduleRun();
    for (const flush of flushes) flush();
  }
}

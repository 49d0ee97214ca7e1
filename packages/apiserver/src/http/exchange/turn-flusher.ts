// TurnFlusher: work that is put off to the end of this turn of the event loop, so that several events written to one
// socket become one write. One call of the next turn serves all sockets.
import { onNextTurn } from '@kapstan/api/internal';

/** Encrypting and writing one event takes some 40 us a socket: this is a few milliseconds. */
const flushesPerTurn = 64;

export class TurnFlusher {
  readonly #pending: (() => void)[] = [];
  #isScheduled = false;

  /** Runs `flush` once, soon, after everything that happens in this turn. Many of them take several turns, in order. */
  schedule(flush: () => void): void {
    this.#pending.push(flush);
    this.#scheduleRun();
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onNextTurn(() => this.#run());
  }

  #run(): void {
    const flushes = this.#pending.splice(0, flushesPerTurn);
    this.#isScheduled = false;
    if (this.#pending.length > 0) this.#scheduleRun();
    for (const flush of flushes) flush();
  }
}

// TurnFlusher puts writes off to the end of this turn of the event loop, so that several events for one socket become
// one write. One call of the next turn serves all sockets.
import { onNextTurn } from '@kapstan/api/internal';

/** Encrypting and writing one event takes about 40 us per socket, so this many take a few milliseconds. */
const flushesPerTurn = 64;

export interface Flushable {
  flush(): void;
}

export class TurnFlusher {
  readonly #pending: Flushable[] = [];
  #isScheduled = false;

  /** Flushes once, after everything else that happens in this turn. A long queue takes several turns, in order. */
  schedule(waiting: Flushable): void {
    this.#pending.push(waiting);
    this.#scheduleRun();
  }

  #scheduleRun(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    onNextTurn(() => this.#run());
  }

  #run(): void {
    const due = this.#pending.splice(0, flushesPerTurn);
    this.#isScheduled = false;
    if (this.#pending.length > 0) this.#scheduleRun();
    for (const waiting of due) waiting.flush();
  }
}

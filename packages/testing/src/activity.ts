// Activity tracks whether anything is going on in a test cluster. Its engine, proxy, server and clients report to it;
// settle() of the cluster waits on it.
import { type Clock, systemClock } from '@kapstan/api';
import { nextTurn } from '@kapstan/api/internal';

// A turn of the event loop polls the sockets once. A byte on the loopback needs one turn; an informer's slice or a queue's next item
// another.
const quietTurns = 16;
const patienceMs = 50;

/** Counts activity, and work in progress. */
export class Activity {
  readonly #clock: Pick<Clock, 'monotonicNow'>;
  #moves = 0;
  #operations = 0;
  #requests = 0;

  /** Patience is measured in real time by default, because the cluster's time stands still. */
  constructor(clock: Pick<Clock, 'monotonicNow'> = systemClock) {
    this.#clock = clock;
  }

  /** Reports activity: bytes arrived, an event was delivered. */
  moved(): void {
    this.#moves++;
  }

  /**
   * Reports work that ends by itself, so {@link settle} waits for it, however long it takes. Call the returned function when it ends.
   */
  beginOperation(): () => void {
    this.#moves++;
    this.#operations++;
    return once(() => {
      this.#moves++;
      this.#operations--;
    });
  }

  /** Reports a request, which may itself wait for time to pass. Call the returned function when it ends. */
  beginRequest(): () => void {
    this.#moves++;
    this.#requests++;
    return once(() => {
      this.#moves++;
      this.#requests--;
    });
  }

  /**
   * Resolves when no work is in progress and nothing has happened during 16 turns of the event loop. A request during which nothing happens
   * for 50 real milliseconds is assumed to wait for time, and does not count.
   */
  async settle(): Promise<void> {
    let seen = this.#moves;
    let stillSinceMs = this.#clock.monotonicNow();
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await nextTurn();
      const hasMoved = this.#moves !== seen || this.#operations > 0;
      if (hasMoved) {
        seen = this.#moves;
        stillSinceMs = this.#clock.monotonicNow();
        quiet = -1;
      } else if (this.#requests > 0 && this.#clock.monotonicNow() - stillSinceMs < patienceMs) quiet = -1;
    }
  }
}

function once(action: () => void): () => void {
  let isDone = false;
  return () => {
    if (isDone) return;
    isDone = true;
    action();
  };
}

// Activity: whether anything is going on in a test cluster. Told by the engine, the proxy, the server and the client of a
// cluster; asked by its settle().
import { type Clock, systemClock } from '@kapstan/api';

// A turn polls the sockets once; a byte on the loopback needs one, an informer's slice or a queue's next item another.
const quietTurns = 16;
const patienceMs = 50;

/** Counts what moves and what is under way. */
export class Activity {
  readonly #clock: Pick<Clock, 'monotonicNow'>;
  #moves = 0;
  #operations = 0;
  #requests = 0;

  /** Patience is real time by default: that of the cluster stands still. */
  constructor(clock: Pick<Clock, 'monotonicNow'> = systemClock) {
    this.#clock = clock;
  }

  /** Something happened: bytes came, an event was delivered. */
  moved(): void {
    this.#moves++;
  }

  /** Work that ends by itself: {@link settle} waits for it however long it takes. Call the result when it is over. */
  beginOperation(): () => void {
    this.#moves++;
    this.#operations++;
    return once(() => {
      this.#moves++;
      this.#operations--;
    });
  }

  /** Work that may itself wait for time to pass: a request. Call the result when it is over. */
  beginRequest(): () => void {
    this.#moves++;
    this.#requests++;
    return once(() => {
      this.#moves++;
      this.#requests--;
    });
  }

  /**
   * Resolves when nothing is under way and nothing has moved during 16 turns of the event loop. A request during which
   * nothing moves for 50 real milliseconds counts as waiting for time, and is not waited for.
   */
  async settle(): Promise<void> {
    let seen = this.#moves;
    let stillSinceMs = this.#clock.monotonicNow();
    for (let quiet = 0; quiet < quietTurns; quiet++) {
      await new Promise<void>((resolve) => setImmediate(resolve));
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

// Wake lets a loop sleep until its time has come or it is woken. Used by the loops that maintain certificates and
// configurations.
import type { Clock } from '@kapstan/api';

export class Wake {
  readonly #clock: Clock;
  #isWoken = false;
  #resolve: () => void = () => undefined;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Ends the present wait, or the next one if nobody waits. */
  now(): void {
    this.#isWoken = true;
    this.#resolve();
  }

  /** Resolves after the time (Infinity = never), when the loop is woken, and when the signal aborts. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#isWoken && !signal.aborted && ms > 0) {
      await new Promise<void>((resolve) => {
        const cancel =
          ms === Number.POSITIVE_INFINITY ? () => undefined : this.#clock.setBackgroundTimer(() => end(), ms);
        const end = (): void => {
          cancel();
          signal.removeEventListener('abort', end);
          resolve();
        };
        this.#resolve = end;
        signal.addEventListener('abort', end, { once: true });
      });
    }
    this.#resolve = () => undefined;
    this.#isWoken = false;
  }
}

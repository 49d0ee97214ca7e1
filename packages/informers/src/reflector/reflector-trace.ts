// Measures how long a reflector took to get a whole state, and warns when that was long. Used by reflector-driver.ts.
// Source: client-go tools/cache/reflector.go (initTrace of list and watchList).
import type { Clock } from '@kapstan/api';

const longMs = 10_000;

export interface RoundTraceOptions {
  /** Name of the listed objects, for the text. */
  readonly name: string;
  readonly clock: Clock;
  readonly onWarning: (text: string) => void;
}

/** Times one round after the other: requesting the state, then writing it. */
export class RoundTrace {
  readonly #options: RoundTraceOptions;
  #how: 'ListAndWatch' | 'WatchList' = 'ListAndWatch';
  #startedAtMs = 0;

  constructor(options: RoundTraceOptions) {
    this.#options = options;
  }

  start(how: 'ListAndWatch' | 'WatchList'): void {
    this.#how = how;
    this.#startedAtMs = this.#options.clock.monotonicNow();
  }

  /** Writes a complete state. Rethrows the error of the write. */
  finish(write: () => void): void {
    const { name, clock, onWarning } = this.#options;
    const listedAtMs = clock.monotonicNow();
    write();
    const replacedAtMs = clock.monotonicNow();
    const totalMs = Math.round(replacedAtMs - this.#startedAtMs);
    if (totalMs <= longMs) return;
    const replacedMs = Math.round(replacedAtMs - listedAtMs);
    const steps = `objects listed ${totalMs - replacedMs}ms, store replaced ${replacedMs}ms`;
    onWarning(`${name}: slow ${this.#how} (total time: ${totalMs}ms): ${steps}`);
  }
}

// ReaderPace tells whether the reader of a watch is too slow. Part of watch-response.ts.
import type { Clock } from '@kapstan/api';

/** Bytes that may wait for a reader that goes on reading, as a multiple of those for one that does not. */
const boundsInAll = 8;
/** A socket that has taken nothing for so long is stuck. A burst within one turn says nothing about its reader. */
const stuckMs = 500;

export interface ReaderPaceOptions {
  /** Bytes of live events that may wait for a reader that takes nothing. */
  readonly maxBufferedBytes: number;
  readonly clock: Clock;
}

export class ReaderPace {
  readonly #options: ReaderPaceOptions;
  /** True: the socket has had no room since the last flush. */
  #isBlocked = false;
  #blockedSinceMs = 0;
  /** Bytes that came since the socket was last seen to take some. */
  #bytesWhileBlocked = 0;

  constructor(options: ReaderPaceOptions) {
    this.#options = options;
  }

  /** Notes that the socket has no room. */
  block(): void {
    this.#isBlocked = true;
    this.#blockedSinceMs = this.#options.clock.monotonicNow();
    this.#bytesWhileBlocked = 0;
  }

  /** Notes that the socket has room again. */
  unblock(): void {
    this.#isBlocked = false;
  }

  /** Notes a live event that now waits. */
  noteWaiting(bytes: number): void {
    if (this.#isBlocked) this.#bytesWhileBlocked += bytes;
  }

  /** The socket took nothing for {@link stuckMs}, and more than the bound came meanwhile. */
  get isStuck(): boolean {
    const { clock, maxBufferedBytes } = this.#options;
    if (!this.#isBlocked || this.#bytesWhileBlocked <= maxBufferedBytes) return false;
    return clock.monotonicNow() - this.#blockedSinceMs >= stuckMs;
  }

  /**
   * Returns whether several bounds wait in all. Never before the socket was tried: events that come in one turn, as the
   * replay of a resume may, were not slow to be read.
   */
  isBehind(waitingBytes: number): boolean {
    return this.#isBlocked && waitingBytes > this.#options.maxBufferedBytes * boundsInAll;
  }
}

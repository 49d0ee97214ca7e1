// ReaderPace decides whether the reader of a watch is too slow. Part of watch-response.ts.
import type { Clock } from '@kapstan/api';

/** Queue limit of a reader that keeps reading, as a multiple of the limit of one that does not. */
const boundsInAll = 8;
/** Time after which a socket that takes nothing is stuck. A burst within one turn is no evidence of a slow reader. */
const stuckMs = 500;

export interface ReaderPaceOptions {
  /** Bytes of live events that may queue for a reader that takes nothing. */
  readonly maxBufferedBytes: number;
  readonly clock: Clock;
}

export class ReaderPace {
  readonly #options: ReaderPaceOptions;
  /** True when the socket has had no room since the last flush. */
  #isBlocked = false;
  #blockedSinceMs = 0;
  /** Bytes that arrived since the socket last took some. */
  #bytesWhileBlocked = 0;

  constructor(options: ReaderPaceOptions) {
    this.#options = options;
  }

  /** The time when the socket ran out of room, by the monotonic clock; undefined = it has room. */
  get blockedSinceMs(): number | undefined {
    return this.#isBlocked ? this.#blockedSinceMs : undefined;
  }

  /** Records that the socket has no room. */
  block(): void {
    this.#isBlocked = true;
    this.#blockedSinceMs = this.#options.clock.monotonicNow();
    this.#bytesWhileBlocked = 0;
  }

  /** Records that the socket has room again. */
  unblock(): void {
    this.#isBlocked = false;
  }

  /** Records a live event that was queued. */
  noteWaiting(bytes: number): void {
    if (this.#isBlocked) this.#bytesWhileBlocked += bytes;
  }

  /** True when the socket took nothing for {@link stuckMs} and more than the limit arrived in that time. */
  get isStuck(): boolean {
    const { clock, maxBufferedBytes } = this.#options;
    if (!this.#isBlocked || this.#bytesWhileBlocked <= maxBufferedBytes) return false;
    return clock.monotonicNow() - this.#blockedSinceMs >= stuckMs;
  }

  /**
   * Returns true when several times the limit is queued. A reader counts as behind only after a write to its socket was
   * tried, so events of one turn, such as the replay of a resume, do not make it slow.
   */
  isBehind(waitingBytes: number): boolean {
    return this.#isBlocked && waitingBytes > this.#options.maxBufferedBytes * boundsInAll;
  }
}

// DroppedRequests decides the Retry-After of the refused requests of a level: it rises while many are refused. It is pure. Used by
// priority-level.ts. Source: util/flowcontrol/dropped_requests_tracker.go.

/** Source: maxRetryAfter. */
const maxSeconds = 32;

interface SecondCount {
  readonly second: number;
  readonly count: number;
}

export class DroppedRequests {
  /** Seconds in which requests were refused, the oldest first. */
  #history: readonly SecondCount[] = [];
  #second = 0;
  #count = 0;
  #raisedAt = 0;
  #retryAfterSeconds = 1;

  get retryAfterSeconds(): number {
    return this.#retryAfterSeconds;
  }

  /** `second` is a whole number that rises by one each second. */
  record(second: number): void {
    if (second === this.#second) {
      this.#count++;
      return;
    }
    const maxAge = Math.min(2 * this.#retryAfterSeconds, maxSeconds);
    const ended = { second: this.#second, count: this.#count };
    this.#history = [...this.#history, ended].filter((past) => this.#second - past.second <= maxAge);
    this.#second = second;
    this.#count = 1;
    this.#adjust(second);
  }

  /** Doubles the time when there were many refusals during it, and subtracts a second when there were few. */
  #adjust(second: number): void {
    const seconds = this.#retryAfterSeconds;
    const dropped = this.#history
      .filter((past) => past.second < second && second - past.second <= seconds)
      .reduce((sum, { count }) => sum + count, 0);
    if (second - this.#raisedAt >= seconds && dropped >= 3 * seconds) {
      this.#retryAfterSeconds = Math.min(2 * seconds, maxSeconds);
      this.#raisedAt = second;
    } else if (dropped < seconds && seconds > 1) this.#retryAfterSeconds = seconds - 1;
  }
}

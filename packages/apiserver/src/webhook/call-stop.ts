// CallStop ends one call of a webhook early: at its time limit, when its caller gives up, or when the pool closes. It stands in
// for an AbortSignal, because a request of Node that listens to one costs some 20 us more. Used by webhook-pool.ts.

export class CallStop {
  #isStopped = false;
  #reason: unknown;
  #onStop: (() => void) | undefined;

  /** Only the first reason counts. */
  stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#onStop?.();
  }

  throwIfStopped(): void {
    if (this.#isStopped) throw this.#reason;
  }

  /** Sets what is to be ended at a stop, in place of what was to be ended before. Ends it at once after a stop. */
  onStop(end: () => void): void {
    this.#onStop = end;
    if (this.#isStopped) end();
  }
}

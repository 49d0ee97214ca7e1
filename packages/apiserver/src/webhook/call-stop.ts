// CallStop ends one call of a webhook early: at its time limit, when its caller gives up, or when the pool closes. It replaces an
// AbortSignal, because listening to one costs about 20 us a call. Used by webhook-pool.ts and webhook-connections.ts.

export class CallStop {
  #isStopped = false;
  #reason: unknown;
  #onStop: (() => void) | undefined;

  /** Ends the call. Only the first reason counts. */
  stop(reason: unknown): void {
    if (this.#isStopped) return;
    this.#isStopped = true;
    this.#reason = reason;
    this.#onStop?.();
  }

  throwIfStopped(): void {
    if (this.#isStopped) throw this.#reason;
  }

  /** Sets the thing to end at a stop, which replaces the previous one. Ends it at once after a stop. */
  onStop(end: () => void): void {
    this.#onStop = end;
    if (this.#isStopped) end();
  }
}

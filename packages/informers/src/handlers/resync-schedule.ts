// Decides when handlers are due for a resync, and adjusts requested periods. Source: client-go processorListener and
// sharedIndexInformer.AddEventHandlerWithOptions.

const minimumMs = 1000;

/** The resync period of one handler. */
export class ResyncSchedule {
  readonly requestedMs: number;
  #periodMs: number;
  #nextMs: number;
  // New handlers receive resyncs until the first evaluation.
  #isSyncing = true;

  /** `requestedMs`: the requested period; 0 = none. */
  constructor(options: { readonly requestedMs: number; readonly checkMs: number; readonly nowMs: number }) {
    this.requestedMs = options.requestedMs;
    this.#periodMs = effectivePeriod(options.requestedMs, options.checkMs);
    this.#nextMs = options.nowMs + this.#periodMs;
  }

  /** The period in milliseconds; 0 = none. */
  get periodMs(): number {
    return this.#periodMs;
  }

  /** True while the handler receives the changes of the current resync. */
  get isSyncing(): boolean {
    return this.#isSyncing;
  }

  /** Adapts to another check period of the informer. */
  adjust(checkMs: number, nowMs: number): void {
    this.#periodMs = effectivePeriod(this.requestedMs, checkMs);
    this.#nextMs = nowMs + this.#periodMs;
  }

  /** Sets {@link isSyncing} for the tick at `nowMs`, and returns it. */
  evaluate(nowMs: number): boolean {
    this.#isSyncing = this.#periodMs > 0 && nowMs >= this.#nextMs;
    if (this.#isSyncing) this.#nextMs = nowMs + this.#periodMs;
    return this.#isSyncing;
  }
}

/** Returns the period at which an informer checks, and the handler's own, for a handler that requests `requestedMs`. */
export function adjustResync(options: {
  readonly requestedMs: number;
  readonly checkMs: number;
  readonly isStarted: boolean;
}): {
  readonly requestedMs: number;
  readonly checkMs: number;
} {
  const { requestedMs, checkMs, isStarted } = options;
  if (requestedMs === 0) return { requestedMs, checkMs };
  const asked = Math.max(requestedMs, minimumMs);
  if (asked >= checkMs) return { requestedMs: asked, checkMs };
  // A running informer keeps its pace, so the handler is slowed down; an informer that has not started takes the faster pace.
  return isStarted ? { requestedMs: checkMs, checkMs } : { requestedMs: asked, checkMs: asked };
}

function effectivePeriod(requestedMs: number, checkMs: number): number {
  if (requestedMs === 0 || checkMs === 0) return 0;
  return Math.max(requestedMs, checkMs);
}

// CallSignal tells a call that nobody waits for it any more. Every AbortSignal is one. Code that makes one per call,
// such as the HTTP server, uses CallAbort, a plain object: an AbortController costs as much as a sixth of a small GET.

/** The part of an AbortSignal that calls need. {@link abortSignalOf} makes a real one, for the platform's functions. */
export interface CallSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A CallSignal that its owner can abort. */
export class CallAbort implements CallSignal {
  #isAborted = false;
  #reason: unknown;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** Undefined until it is aborted. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Aborts once; later calls change nothing. A listener that throws does not affect the others. */
  abort(reason: unknown): void {
    if (this.#isAborted) return;
    this.#isAborted = true;
    this.#reason = reason;
    for (const listener of this.#listeners ?? []) callApart(listener);
    this.#listeners = undefined;
  }

  throwIfAborted(): void {
    if (this.#isAborted) throw this.#reason;
  }

  /**
   * Each listener is called at most once, in the order added, and never if it is added after the abort, as with an
   * AbortSignal.
   */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#isAborted) return;
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}

/** An error of a listener becomes an uncaught one, as with an AbortSignal. */
function callApart(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** Returns a real AbortSignal that aborts with this one. */
export function abortSignalOf(signal: CallSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  return controller.signal;
}

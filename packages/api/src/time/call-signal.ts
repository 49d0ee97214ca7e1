// CallSignal: how a call learns that nobody waits for it any more. Every AbortSignal is one; who makes one for each of many calls,
// as the HTTP server does, uses CallAbort, which is a plain object: an AbortController costs as much as a sixth of a small GET.

/** What calls need of an AbortSignal. {@link abortSignalOf} makes a real one, for the platform's functions. */
export interface CallSignal {
  readonly aborted: boolean;
  readonly reason: unknown;
  throwIfAborted(): void;
  addEventListener(type: 'abort', listener: () => void, options?: { readonly once?: boolean }): void;
  removeEventListener(type: 'abort', listener: () => void): void;
}

/** A CallSignal with its controller. */
export class CallAbort implements CallSignal {
  #isAborted = false;
  #reason: unknown;
  #listeners: Set<() => void> | undefined;

  get aborted(): boolean {
    return this.#isAborted;
  }

  /** Undefined while it is not aborted. */
  get reason(): unknown {
    return this.#reason;
  }

  /** Once: later calls change nothing. A listener that throws does not keep it from the others. */
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

  /** Each is called once at most, in the order in which they came; never, when it comes after the abort. As of an AbortSignal. */
  addEventListener(_type: 'abort', listener: () => void): void {
    if (this.#isAborted) return;
    this.#listeners ??= new Set();
    this.#listeners.add(listener);
  }

  removeEventListener(_type: 'abort', listener: () => void): void {
    this.#listeners?.delete(listener);
  }
}

/** An error of a listener is an uncaught one, as that of an AbortSignal's is. */
function callApart(listener: () => void): void {
  try {
    listener();
  } catch (error) {
    queueMicrotask(() => {
      throw error;
    });
  }
}

/** The same as a real AbortSignal. */
export function abortSignalOf(signal: CallSignal): AbortSignal {
  if (signal instanceof AbortSignal) return signal;
  const controller = new AbortController();
  const abort = (): void => controller.abort(signal.reason);
  if (signal.aborted) abort();
  else signal.addEventListener('abort', abort);
  return controller.signal;
}

// The lifetime of one call: combines the caller's signal and the call's deadline in one AbortSignal. Used by the transport.
import type { CancelTimer, Clock } from '@kapstan/api';
import { addAbortListener, removeAbortListener, requireNotNegative, requireSignal } from '@kapstan/api/internal';
import { TransportError } from './transport-error.ts';

export interface CallScopeOptions {
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** 0 = no deadline. */
  readonly timeoutMs: number;
  readonly request: string;
}

export class CallScope {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal | undefined;
  readonly #request: string;
  readonly #onAbort = (): void => this.#controller.abort(this.#outer?.reason);
  #cancelTimer: CancelTimer | undefined;

  /** Throws TypeError for a timeout that is not a non-negative number, and for a value that is not a signal. */
  constructor({ clock, signal, timeoutMs, request }: CallScopeOptions) {
    requireSignal(signal);
    requireNotNegative(timeoutMs, 'timeoutMs');
    this.#outer = signal;
    this.#request = request;
    if (signal?.aborted) this.#controller.abort(signal.reason);
    addAbortListener(signal, this.#onAbort);
    if (timeoutMs > 0)
      this.#cancelTimer = clock.setTimer(() => this.fail('ETIMEDOUT', `no answer within ${timeoutMs} ms`), timeoutMs);
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  get isAbortedByCaller(): boolean {
    return this.#outer?.aborted === true;
  }

  /** Cancels the deadline, because the stream is open. */
  stopDeadline(): void {
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Aborts all remaining work. */
  abort(reason?: unknown): void {
    this.#controller.abort(reason);
    this.close();
  }

  /** Aborts all remaining work with this transport error. */
  fail(code: string, message: string): void {
    this.abort(new TransportError({ code, message, request: this.#request }));
  }

  /** Releases the timer and the listener. */
  close(): void {
    this.stopDeadline();
    removeAbortListener(this.#outer, this.#onAbort);
  }
}

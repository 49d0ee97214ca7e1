// InProcessConnection replaces the socket of a call or watch that has none, so that faults can act on it.
import type { CancelTimer, Clock } from '@kapstan/api';
import type { Connection } from './connection.ts';

export interface InProcessConnectionOptions {
  readonly kind: 'watch' | 'call';
  readonly clock: Clock;
  /** Called when the connection is cut. */
  readonly onCut: (error: Error) => void;
}

interface Delivery {
  readonly dueMs: number;
  readonly deliver: () => void;
}

/** Delivers in order: at once, later, or when it is released. */
export class InProcessConnection implements Connection {
  readonly kind: 'watch' | 'call';
  delayMs = 0;
  readonly #options: InProcessConnectionOptions;
  #queue: Delivery[] = [];
  #cancelTimer: CancelTimer | undefined;
  #isHeld = false;
  #isClosed = false;

  constructor(options: InProcessConnectionOptions) {
    this.kind = options.kind;
    this.#options = options;
  }

  deliver(deliver: () => void): void {
    if (this.#isClosed) return;
    if (!this.#isHeld && this.delayMs === 0 && this.#queue.length === 0) return deliver();
    this.#queue.push({ dueMs: this.#options.clock.monotonicNow() + this.delayMs, deliver });
    if (this.#cancelTimer === undefined) this.#pump();
  }

  cut(): void {
    if (this.#isClosed) return;
    this.close();
    this.#options.onCut(connectionError('ECONNRESET', 'the connection was reset'));
  }

  hold(): void {
    this.#isHeld = true;
  }

  release(): void {
    this.#isHeld = false;
    if (this.#cancelTimer === undefined) this.#pump();
  }

  close(): void {
    this.#isClosed = true;
    this.#queue = [];
    this.#cancelTimer?.();
    this.#cancelTimer = undefined;
  }

  /** Delivers everything that is due at the head of the queue, and sets a timer for the rest. */
  #pump(): void {
    const { clock } = this.#options;
    for (let next = this.#queue[0]; next !== undefined && !this.#isHeld; next = this.#queue[0]) {
      const delayMs = next.dueMs - clock.monotonicNow();
      if (delayMs > 0) {
        this.#cancelTimer = clock.setTimer(() => {
          this.#cancelTimer = undefined;
          this.#pump();
        }, delayMs);
        return;
      }
      this.#queue.shift();
      next.deliver();
    }
  }
}

/** Returns an error like the HTTP client's for a broken connection; `code` tells the kind. */
export function connectionError(code: 'ECONNRESET' | 'ECONNREFUSED', message: string): Error {
  return Object.assign(new Error(message), { code });
}

// Reachability notifies waiting informers when a client's server answers again, so that one success ends the pauses of all informers
// of the client. Fed by attempt-loop.ts with the status of every answer; used by lister-watchers.
import type { CancelTimer, Clock } from '@kapstan/api';
import { guardedCall } from '@kapstan/api/internal';

/** A proxy answers with these while its server is away. */
const gatewayStatuses: ReadonlySet<number> = new Set([502, 503, 504]);
/** Time between two probes, in milliseconds; up to the same amount is added at random. */
const probePauseMs = 2500;

export interface ReachabilityOptions {
  readonly clock: Clock;
  /** Uniform in [0, 1). Default Math.random. */
  readonly random?: () => number;
  /** Sends one cheap request. Its answer is reported through {@link Reachability.noteStatus}, like any other. */
  readonly probe: () => Promise<unknown>;
}

/**
 * While a caller waits, one probe at a time asks the server on behalf of all; the answer to any other request counts too.
 */
export class Reachability {
  readonly #options: ReachabilityOptions;
  readonly #waiting = new Set<() => void>();
  #isClosed = false;
  #isProbing = false;
  #cancelProbe: CancelTimer | undefined;

  constructor(options: ReachabilityOptions) {
    this.#options = options;
  }

  /** Reports the status of an answer. */
  noteStatus(status: number): void {
    if (this.#waiting.size === 0 || gatewayStatuses.has(status)) return;
    const told = [...this.#waiting];
    this.#waiting.clear();
    this.#stopProbing();
    for (const listener of told) guardedCall(listener, () => undefined);
  }

  /** Calls the listener once, with the server's next answer to any request. The returned function stops waiting. */
  whenReachable(listener: () => void): () => void {
    if (this.#isClosed) return () => undefined;
    // A separate function for each call, so that a listener that waits twice is called twice.
    const own = (): void => listener();
    this.#waiting.add(own);
    this.#armProbe();
    return () => {
      this.#waiting.delete(own);
      if (this.#waiting.size === 0) this.#stopProbing();
    };
  }

  /** Stops calling listeners. */
  close(): void {
    this.#isClosed = true;
    this.#waiting.clear();
    this.#stopProbing();
  }

  #armProbe(): void {
    if (this.#isProbing || this.#cancelProbe !== undefined || this.#waiting.size === 0) return;
    const { clock, random = Math.random, probe } = this.#options;
    this.#cancelProbe = clock.setBackgroundTimer(
      () => {
        this.#cancelProbe = undefined;
        this.#isProbing = true;
        const again = (): void => {
          this.#isProbing = false;
          this.#armProbe();
        };
        probe().then(again, again);
      },
      probePauseMs * (1 + random()),
    );
  }

  #stopProbing(): void {
    this.#cancelProbe?.();
    this.#cancelProbe = undefined;
  }
}

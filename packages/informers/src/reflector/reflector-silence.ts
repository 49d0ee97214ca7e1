// Checks every ten seconds whether the initial state, requested as a stream, still arrives. It only warns; the idle watchdog acts.
// Used by reflector-driver.ts. Source: client-go tools/cache/reflector.go (initialEventsEndBookmarkTicker).
import type { CancelTimer, Clock } from '@kapstan/api';

const periodMs = 10_000;

export interface InitialSilenceOptions {
  /** Name of the listed objects, for the text. */
  readonly name: string;
  readonly clock: Clock;
  /** Called once for each silence. */
  readonly onWarning: (text: string) => void;
}

/** Watches one initial stream after the other for silence. */
export class InitialSilence {
  readonly #options: InitialSilenceOptions;
  #startedAtMs = 0;
  #lastEventAtMs: number | undefined;
  #isTold = false;
  #cancel: CancelTimer | undefined;

  constructor(options: InitialSilenceOptions) {
    this.#options = options;
  }

  /** Starts to watch a new stream; the previous one no longer counts. */
  start(): void {
    this.stop();
    this.#startedAtMs = this.#options.clock.monotonicNow();
    this.#lastEventAtMs = undefined;
    this.#isTold = false;
    this.#arm();
  }

  noteEvent(): void {
    this.#lastEventAtMs = this.#options.clock.monotonicNow();
    this.#isTold = false;
  }

  /** Stops watching: the stream is complete, or broke. */
  stop(): void {
    this.#cancel?.();
    this.#cancel = undefined;
  }

  #arm(): void {
    this.#cancel = this.#options.clock.setBackgroundTimer(() => {
      this.#arm();
      this.#look();
    }, periodMs);
  }

  #look(): void {
    const silentMs = this.#options.clock.monotonicNow() - (this.#lastEventAtMs ?? this.#startedAtMs);
    if (this.#isTold || silentMs < periodMs) return;
    this.#isTold = true;
    const seconds = `${Math.floor(silentMs / 1000)}s`;
    this.#options.onWarning(
      this.#lastEventAtMs === undefined
        ? `${this.#options.name}: awaiting required bookmark event for initial events stream, no events received for ${seconds}`
        : `${this.#options.name}: hasn't received required bookmark event marking the end of initial events stream, received last event ${seconds} ago`,
    );
  }
}

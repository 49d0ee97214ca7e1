// Closers holds the started parts of a control plane and closes them in reverse order. Filled while control-plane.ts starts the parts.
import type { Clock, Logger } from '@kapstan/api';

/** Time after which a part that is still closing is reported, in milliseconds. */
const slowMs = 5_000;

interface Part {
  readonly name: string;
  readonly close: () => unknown;
}

export class Closers {
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #parts: Part[] = [];

  constructor({ clock, logger }: { readonly clock: Clock; readonly logger: Logger }) {
    this.#clock = clock;
    this.#logger = logger;
  }

  /** Adds a started part. The log names it when its close takes long. */
  add(name: string, close: () => unknown): void {
    this.#parts.push({ name, close });
  }

  /** Closes all parts, the last one first. Rejects with the errors of all when a part fails. */
  async closeAll(): Promise<void> {
    const errors: unknown[] = [];
    for (let part = this.#parts.pop(); part !== undefined; part = this.#parts.pop()) {
      // A part that fails must not keep the next from closing: the last one frees the data directory.
      await this.#close(part).catch((error: unknown) => errors.push(error));
    }
    if (errors.length > 0) throw new AggregateError(errors, 'the control plane did not close cleanly');
  }

  async #close({ name, close }: Part): Promise<void> {
    const report = (): void => this.#logger.info('a part of the server takes long to close', { part: name });
    const cancel = this.#clock.setBackgroundTimer(report, slowMs);
    try {
      await close();
    } finally {
      cancel();
    }
  }
}

// SpanBatches gathers the spans that have ended and gives them to an exporter in the background. It never delays a
// request and never grows beyond its limit. Made by tracing.ts. Source: go.opentelemetry.io/otel/sdk/trace
// BatchSpanProcessor, which has the same limits.

import type { CancelTimer, Clock, Logger } from '@kapstan/api';
import { messageOf } from '@kapstan/api/internal';
import type { FinishedSpan, SpanSink } from '@kapstan/apiserver';

interface SpanExporter {
  export(spans: readonly FinishedSpan[], signal: AbortSignal): Promise<void>;
  close(): void;
}

export interface SpanBatchesOptions {
  readonly exporter: SpanExporter;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Further spans are dropped. */
const maxWaiting = 2048;
const maxBatch = 512;
/** Time for which a span waits for others of its batch. */
const maxWaitMs = 5_000;
/** Time that the end of the server waits for the remaining spans. */
const closeTimeoutMs = 5_000;

export class SpanBatches implements SpanSink {
  readonly #options: SpanBatchesOptions;
  readonly #waiting: FinishedSpan[] = [];
  readonly #stop = new AbortController();
  #cancelWait: CancelTimer | undefined;
  #sending: Promise<void> | undefined;
  #isClosed = false;
  /** Spans that were lost since the collector last took some. */
  #lost = 0;

  constructor(options: SpanBatchesOptions) {
    this.#options = options;
  }

  add(span: FinishedSpan): void {
    if (this.#isClosed) return;
    if (this.#waiting.length >= maxWaiting) return this.#lose(1, 'more spans end than the trace collector takes');
    this.#waiting.push(span);
    if (this.#waiting.length >= maxBatch) this.#flush();
    else this.#cancelWait ??= this.#options.clock.setTimer(() => this.#flush(), maxWaitMs);
  }

  /** Sends the waiting spans while the time lasts, and closes the exporter. */
  async close(): Promise<void> {
    const { clock, exporter } = this.#options;
    this.#isClosed = true;
    const cancel = clock.setTimer(() => this.#stop.abort(new Error('the server is shutting down')), closeTimeoutMs);
    this.#flush();
    await this.#sending;
    cancel();
    exporter.close();
  }

  #flush(): void {
    this.#cancelWait?.();
    this.#cancelWait = undefined;
    if (this.#waiting.length > 0) this.#sending ??= this.#send();
  }

  async #send(): Promise<void> {
    const { exporter, clock } = this.#options;
    const { signal } = this.#stop;
    do {
      const batch = this.#waiting.splice(0, maxBatch);
      await exporter.export(batch, signal).then(
        () => this.#recover(),
        (error: unknown) => this.#lose(batch.length, messageOf(error)),
      );
    } while (!signal.aborted && (this.#waiting.length >= maxBatch || (this.#isClosed && this.#waiting.length > 0)));
    this.#sending = undefined;
    if (this.#isClosed) this.#waiting.length = 0;
    else if (this.#waiting.length > 0) this.#cancelWait ??= clock.setTimer(() => this.#flush(), maxWaitMs);
  }

  /** Logs the first loss, not each. */
  #lose(spans: number, error: string): void {
    if (this.#lost === 0)
      this.#options.logger.error('the trace collector does not take spans; they are lost until it does', { error });
    this.#lost += spans;
  }

  #recover(): void {
    if (this.#lost > 0) this.#options.logger.warn('the trace collector takes spans again', { lost: this.#lost });
    this.#lost = 0;
  }
}

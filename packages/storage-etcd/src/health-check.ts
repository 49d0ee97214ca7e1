// Whether etcd answers, asked no more often than needed. Source: apiserver storage/storagebackend/factory/etcd3.go
// (newETCD3Check). Part of etcd-engine.ts.
import type { Clock } from '@kapstan/api';

export interface HealthCheckOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Rejects when etcd does not answer in time. */
  readonly probe: (timeoutMs: number) => Promise<unknown>;
}

/** Probes once per half of the timeout; who asks in between gets the last probe's result. */
export class HealthCheck {
  readonly #options: HealthCheckOptions;
  #last: { readonly startedMs: number; readonly result: Promise<void> } | undefined;

  constructor(options: HealthCheckOptions) {
    this.#options = options;
  }

  check(): Promise<void> {
    const { clock, probe, timeoutMs } = this.#options;
    const nowMs = clock.monotonicNow();
    if (this.#last === undefined || nowMs - this.#last.startedMs >= timeoutMs / 2) {
      const result = probe(timeoutMs).then(() => undefined);
      this.#last = { startedMs: nowMs, result };
    }
    return this.#last.result;
  }
}

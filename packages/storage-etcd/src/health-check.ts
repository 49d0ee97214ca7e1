// Finds out whether etcd answers, asking no more often than needed. Part of etcd-engine.ts. Source: apiserver
// storage/storagebackend/factory/etcd3.go (newETCD3Check).
import type { Clock } from '@kapstan/api';

export interface HealthCheckOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** Rejects when etcd does not answer in time. */
  readonly probe: (timeoutMs: number) => Promise<unknown>;
}

/** Probes at most once per half of the timeout. Calls in between get the last probe's result. */
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

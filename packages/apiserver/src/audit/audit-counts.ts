// AuditCounts counts audit events, losses, levels and refusals under kube-apiserver's names. Kept by audit-backends.ts;
// each backend adds its losses. Source: apiserver pkg/audit/metrics.go.
import { counterFamily, formatMetrics, NumberSeries } from '@kapstan/api/internal';
import type { AuditLevel } from './audit-policy.ts';

/** The part of the audit that lost an event. */
export type AuditPlugin = 'log' | 'webhook' | 'buffered' | 'truncate';

export class AuditCounts {
  #events = 0;
  readonly #errors = new NumberSeries();
  readonly #levels = new NumberSeries();
  #rejections = 0;

  /** Counts an event that is given to the backends. */
  event(): void {
    this.#events++;
  }

  lost(plugin: AuditPlugin, events: number): void {
    if (events > 0) this.#errors.add({ plugin }, events);
  }

  level(level: AuditLevel): void {
    this.#levels.add({ level });
  }

  rejection(): void {
    this.#rejections++;
  }

  /** Returns the metrics as Prometheus text. */
  metrics(): string {
    const prefix = 'apiserver_audit';
    return formatMetrics([
      counterFamily(`${prefix}_event_total`, 'Events that were made.', this.#events),
      counterFamily(`${prefix}_error_total`, 'Events that were lost.', this.#errors.samples()),
      counterFamily(
        `${prefix}_level_total`,
        'Requests by the level at which they are recorded.',
        this.#levels.samples(),
      ),
      counterFamily(
        `${prefix}_requests_rejected_total`,
        'Requests that were refused as they could not be recorded.',
        this.#rejections,
      ),
    ]);
  }
}

// HealthMetrics counts the results of the checks of health.ts, for /metrics/slis. Source:
// component-base/metrics/prometheus/slis.
import { formatMetrics, type MetricSample } from '@kapstan/api/internal';

interface CheckCounts {
  readonly labels: { readonly name: string; readonly type: string };
  isHealthy: boolean;
  successes: number;
  errors: number;
}

export class HealthMetrics {
  readonly #checks = new Map<string, CheckCounts>();

  /** Counts one result. The label `type` is "healthz", "livez" or "readyz". */
  observe(labels: CheckCounts['labels'], isHealthy: boolean): void {
    const key = `${labels.type}/${labels.name}`;
    const counts = this.#checks.get(key) ?? { labels, isHealthy, successes: 0, errors: 0 };
    this.#checks.set(key, counts);
    counts.isHealthy = isHealthy;
    if (isHealthy) counts.successes++;
    else counts.errors++;
  }

  /** Returns the metrics in the text format of Prometheus. */
  metrics(): string {
    const checks = [...this.#checks.values()];
    const results = checks.map(({ labels, isHealthy }) => ({ labels: { ...labels }, value: isHealthy ? 1 : 0 }));
    const totals = checks.flatMap(({ labels, successes, errors }): MetricSample[] =>
      [
        { labels: { ...labels, status: 'success' }, value: successes },
        { labels: { ...labels, status: 'error' }, value: errors },
      ].filter(({ value }) => value > 0),
    );
    return formatMetrics([
      { name: 'kubernetes_healthcheck', help: 'Last result of a health check.', type: 'gauge', samples: results },
      { name: 'kubernetes_healthchecks_total', help: 'Results of health checks.', type: 'counter', samples: totals },
    ]);
  }
}

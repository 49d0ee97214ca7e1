// ConversionMetrics counts conversions by webhooks and functions under kube-apiserver's names.
// Filled by definition-conversion.ts. Source: apiextensions-apiserver conversion metrics.
import { DurationHistogram, LabelSeries, type MetricFamily, NumberSeries } from '@kapstan/api/internal';
import type { ConversionFailureType } from './converter.ts';

const callBounds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];
const definitionBounds = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
/** Maximum number of series of one name. Definitions come and go, and their counts stay until the server stops. */
const maxSeries = 10_000;

interface Conversion {
  /** Name of the definition. */
  readonly name: string;
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly durationMs: number;
  /** Absent = it succeeded. */
  readonly failure?: ConversionFailureType | undefined;
}

export class ConversionMetrics {
  readonly #requests = new NumberSeries();
  readonly #durations = new LabelSeries(() => new DurationHistogram(callBounds));
  readonly #definitions = new LabelSeries(() => new DurationHistogram(definitionBounds));
  readonly #keys = new Set<string>();

  observe({ name, fromVersion, toVersion, durationMs, failure }: Conversion): void {
    const outcome = { result: failure === undefined ? 'success' : 'failure', failure_type: failure ?? '' };
    this.#requests.add(outcome);
    this.#durations.of(outcome.failure_type, () => outcome).observe(durationMs);
    const succeeded = String(failure === undefined);
    const labels = { crd_name: name, from_version: fromVersion, to_version: toVersion, succeeded };
    const key = Object.values(labels).join(' ');
    if (!this.#keys.has(key) && this.#keys.size >= maxSeries) return;
    this.#keys.add(key);
    this.#definitions.of(key, () => labels).observe(durationMs);
  }

  families(): MetricFamily[] {
    return [
      {
        name: 'apiserver_conversion_webhook_request_total',
        help: '[ALPHA] Counter for conversion webhook requests with success/failure and failure error type',
        type: 'counter',
        samples: this.#requests.samples(),
      },
      {
        name: 'apiserver_conversion_webhook_duration_seconds',
        help: '[ALPHA] Conversion webhook request latency',
        type: 'histogram',
        samples: this.#durations.samples((histogram) => histogram.counts()),
      },
      {
        name: 'apiserver_crd_conversion_webhook_duration_seconds',
        help: '[ALPHA] CRD webhook conversion duration in seconds',
        type: 'histogram',
        samples: this.#definitions.samples((histogram) => histogram.counts()),
      },
    ];
  }
}

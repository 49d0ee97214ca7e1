// ConversionMetrics counts conversions by webhooks and functions under kube-apiserver's names.
// Filled by definition-conversion.ts. Source: apiextensions-apiserver conversion metrics.
import { DurationHistogram, type MetricFamily } from '@kapstan/storage';
import type { ConversionFailureType } from './converter.ts';

const callBounds = [0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 30, 45, 60];
const definitionBounds = Array.from({ length: 15 }, (_, power) => 0.001 * 2 ** power);
/** Series of one name. Definitions come and go, and what was counted of them stays until the server stops. */
const maxSeries = 10_000;

interface Conversion {
  /** Name of the definition. */
  readonly name: string;
  readonly fromVersion: string;
  readonly toVersion: string;
  readonly durationMs: number;
  /** Absent: it succeeded. */
  readonly failure?: ConversionFailureType | undefined;
}

type Labels = Readonly<Record<string, string>>;

export class ConversionMetrics {
  readonly #requests = new Map<string, { readonly labels: Labels; count: number }>();
  readonly #durations = new Map<string, { readonly labels: Labels; readonly histogram: DurationHistogram }>();
  readonly #definitions = new Map<string, { readonly labels: Labels; readonly histogram: DurationHistogram }>();

  observe({ name, fromVersion, toVersion, durationMs, failure }: Conversion): void {
    const result = failure === undefined ? 'success' : 'failure';
    const labels = { result, failure_type: failure ?? '' };
    const key = `${result} ${failure}`;
    const request = this.#requests.get(key) ?? { labels, count: 0 };
    request.count++;
    this.#requests.set(key, request);
    observe(this.#durations, { key, labels, bounds: callBounds, durationMs });
    const versions = { crd_name: name, from_version: fromVersion, to_version: toVersion };
    const succeeded = String(failure === undefined);
    const series = { ...versions, succeeded };
    observe(this.#definitions, {
      key: Object.values(series).join(' '),
      labels: series,
      bounds: definitionBounds,
      durationMs,
    });
  }

  families(): MetricFamily[] {
    return [
      {
        name: 'apiserver_conversion_webhook_request_total',
        help: '[ALPHA] Counter for conversion webhook requests with success/failure and failure error type',
        type: 'counter',
        samples: [...this.#requests.values()].map(({ labels, count }) => ({ labels, value: count })),
      },
      {
        name: 'apiserver_conversion_webhook_duration_seconds',
        help: '[ALPHA] Conversion webhook request latency',
        type: 'histogram',
        samples: samplesOf(this.#durations),
      },
      {
        name: 'apiserver_crd_conversion_webhook_duration_seconds',
        help: '[ALPHA] CRD webhook conversion duration in seconds',
        type: 'histogram',
        samples: samplesOf(this.#definitions),
      },
    ];
  }
}

type Histograms = Map<string, { readonly labels: Labels; readonly histogram: DurationHistogram }>;

interface Observation {
  readonly key: string;
  readonly labels: Labels;
  readonly bounds: readonly number[];
  readonly durationMs: number;
}

function observe(series: Histograms, { key, labels, bounds, durationMs }: Observation): void {
  let known = series.get(key);
  if (known === undefined) {
    if (series.size >= maxSeries) return;
    known = { labels, histogram: new DurationHistogram(bounds) };
    series.set(key, known);
  }
  known.histogram.observe(durationMs);
}

function samplesOf(series: Histograms): MetricFamily['samples'] {
  return [...series.values()].map(({ labels, histogram }) => ({ labels, value: histogram.counts() }));
}

// client-go's metrics of requests, computed from a client's reports of its attempts. This is the only place with their
// names: clients show them as Prometheus text, managers together with their own.
import { Histogram } from '../metrics/histogram.ts';
import { LabelSeries } from '../metrics/label-series.ts';
import {
  counterFamily,
  formatMetrics,
  histogramFamily,
  type Labels,
  type MetricFamily,
  type MetricSample,
} from '../metrics/metric-family.ts';
import { NumberSeries } from '../metrics/number-series.ts';

/** The report of one attempt; see `RequestDiagnostics` of @kapstan/client. */
export interface RequestMeasure {
  readonly method: string;
  /** Host and port of the server. */
  readonly host: string;
  /** Absent when there was no answer. */
  readonly status?: number;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** Time from the request to the answer's headers, in milliseconds. */
  readonly durationMs: number;
  /** Delay of the attempt caused by the client's own rate limit, in milliseconds; not part of the duration. */
  readonly rateLimitedMs: number;
}

// In seconds. Source: component-base metrics/prometheus/restclient.
const bounds: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * Counters and histograms by host, method and code, but never by path, so the clients that share them limit their
 * number. Use: `new Client(config, { onRequest: metrics.observe })`.
 */
export class RequestMetrics {
  readonly #requests = new NumberSeries();
  readonly #retries = new NumberSeries();
  readonly #durations: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(bounds));
  readonly #waits: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(bounds));

  /** Counts one attempt. May be passed on without its object. */
  readonly observe: (request: RequestMeasure) => void = (request) => {
    const { host, method, status, attempt, durationMs, rateLimitedMs } = request;
    const code = status === undefined ? '<error>' : String(status);
    this.#requests.add({ code, host, method });
    if (attempt > 0) this.#retries.add({ code, host, verb: method });
    const key = `${method} ${host}`;
    const labels = (): Labels => ({ host, verb: method });
    this.#durations.of(key, labels).observe(durationMs / 1000);
    this.#waits.of(key, labels).observe(rateLimitedMs / 1000);
  };

  /** The metrics for other formats than text. */
  get families(): readonly MetricFamily[] {
    const seconds = (series: LabelSeries<Histogram>): MetricSample[] => series.samples((each) => each.counts());
    return [
      counterFamily('rest_client_requests_total', 'Attempts by status code, method and host', this.#requests.samples()),
      counterFamily(
        'rest_client_request_retries_total',
        'Attempts after the first, by code, verb and host',
        this.#retries.samples(),
      ),
      histogramFamily(
        'rest_client_request_duration_seconds',
        'Time to the head of the answer',
        seconds(this.#durations),
      ),
      histogramFamily(
        'rest_client_rate_limiter_duration_seconds',
        "Waits for the client's own limit",
        seconds(this.#waits),
      ),
    ];
  }

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  text(): string {
    return formatMetrics(this.families);
  }
}

// client-go's metrics of requests, computed from a client's reports of its attempts. This is the only place with their
// names: clients show them as Prometheus text, managers beside their own.

/** The report of one attempt; see `RequestDiagnostics` of @kapstan/client. */
export interface RequestMeasure {
  readonly method: string;
  /** Host and port of the server. */
  readonly host: string;
  /** Absent when there was no answer. */
  readonly status?: number;
  /** 0 for the first attempt. */
  readonly attempt: number;
  /** From the request to the answer's headers, in milliseconds. */
  readonly durationMs: number;
  /** How long the client's own rate limit delayed the attempt before that, in milliseconds. */
  readonly rateLimitedMs: number;
}

type Labels = Readonly<Record<string, string>>;

/** One line of a metric. */
interface MetricSample {
  /** The metric's name; in histograms with "_bucket", "_sum" or "_count" at the end. */
  readonly metricName: string;
  readonly labels: Labels;
  readonly value: number;
}

/** The present values of one metric. */
export interface MetricFamily {
  readonly name: string;
  readonly help: string;
  readonly type: 'counter' | 'histogram';
  samples(): readonly MetricSample[];
}

// In seconds. Source: component-base metrics/prometheus/restclient.
const bounds: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

/**
 * Counters and histograms by host, method and code, but never by path, so the clients that share them limit their
 * number. Use: `new Client(config, { onRequest: metrics.observe })`.
 */
export class RequestMetrics {
  readonly #requests: CounterFamily = new CounterFamily(
    'rest_client_requests_total',
    'Attempts by status code, method and host',
  );
  readonly #retries: CounterFamily = new CounterFamily(
    'rest_client_request_retries_total',
    'Attempts after the first, by code, verb and host',
  );
  readonly #durations: HistogramFamily = new HistogramFamily(
    'rest_client_request_duration_seconds',
    'Time to the head of the answer',
  );
  readonly #waits: HistogramFamily = new HistogramFamily(
    'rest_client_rate_limiter_duration_seconds',
    "Waits for the client's own limit",
  );

  /** Counts one attempt. May be passed on without its object. */
  readonly observe: (request: RequestMeasure) => void = (request) => {
    const { host, method, status, attempt, durationMs, rateLimitedMs } = request;
    const code = status === undefined ? '<error>' : String(status);
    this.#requests.add({ code, host, method });
    if (attempt > 0) this.#retries.add({ code, host, verb: method });
    this.#durations.measure({ host, verb: method }, durationMs / 1000);
    this.#waits.measure({ host, verb: method }, rateLimitedMs / 1000);
  };

  /** The metrics for other formats than text. */
  get families(): readonly MetricFamily[] {
    return [this.#requests, this.#retries, this.#durations, this.#waits];
  }

  /** Returns the metrics in the text format of Prometheus, version 0.0.4. */
  text(): string {
    return this.families.map(familyText).join('');
  }
}

class CounterFamily implements MetricFamily {
  readonly type = 'counter';
  readonly name: string;
  readonly help: string;
  readonly #counts: Map<string, { readonly labels: Labels; value: number }> = new Map();

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  add(labels: Labels): void {
    const key = labelText(labels);
    const count = this.#counts.get(key) ?? { labels, value: 0 };
    this.#counts.set(key, count);
    count.value++;
  }

  samples(): readonly MetricSample[] {
    return [...this.#counts.values()].map(({ labels, value }) => ({ metricName: this.name, labels, value }));
  }
}

interface Histogram {
  readonly labels: Labels;
  readonly counts: number[];
  sum: number;
  count: number;
}

class HistogramFamily implements MetricFamily {
  readonly type = 'histogram';
  readonly name: string;
  readonly help: string;
  readonly #histograms: Map<string, Histogram> = new Map();

  constructor(name: string, help: string) {
    this.name = name;
    this.help = help;
  }

  measure(labels: Labels, seconds: number): void {
    const key = labelText(labels);
    const found = this.#histograms.get(key) ?? { labels, counts: bounds.map(() => 0), sum: 0, count: 0 };
    this.#histograms.set(key, found);
    found.sum += seconds;
    found.count++;
    for (const [at, bound] of bounds.entries()) if (seconds <= bound) found.counts[at] = (found.counts[at] ?? 0) + 1;
  }

  samples(): readonly MetricSample[] {
    return [...this.#histograms.values()].flatMap(({ labels, counts, sum, count }) => [
      ...bounds.map((bound, at) => this.#bucket({ ...labels, le: String(bound) }, counts[at] ?? 0)),
      this.#bucket({ ...labels, le: '+Inf' }, count),
      { metricName: `${this.name}_sum`, labels, value: sum },
      { metricName: `${this.name}_count`, labels, value: count },
    ]);
  }

  #bucket(labels: Labels, value: number): MetricSample {
    return { metricName: `${this.name}_bucket`, labels, value };
  }
}

function familyText(family: MetricFamily): string {
  const { name, help, type } = family;
  const lines = family
    .samples()
    .map(({ metricName, labels, value }) => `${metricName}{${labelText(labels)}} ${value}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} ${type}\n${lines.join('')}`;
}

function labelText(labels: Labels): string {
  return Object.entries(labels)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`)
    .join(',');
}

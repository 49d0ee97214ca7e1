// client-go's request metrics, collected from ClientOptions.onRequest and given as Prometheus text.
import type { RequestDiagnostics } from './transport/request-diagnostics.ts';

// Source: component-base metrics/prometheus/restclient, in seconds.
const bounds: readonly number[] = [0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60];

interface Histogram {
  readonly counts: number[];
  sum: number;
  count: number;
}

/**
 * Counters and histograms by host, method and code, never by path: their number is bounded by the clients that share
 * them. `new Client(config, { onRequest: metrics.observe })`.
 */
export class RequestMetrics {
  readonly #requests: Map<string, number> = new Map();
  readonly #retries: Map<string, number> = new Map();
  readonly #durations: Map<string, Histogram> = new Map();
  readonly #waits: Map<string, Histogram> = new Map();

  /** Takes one attempt. May be passed on as a function. */
  readonly observe: (request: RequestDiagnostics) => void = (request) => {
    const { host, method, status, attempt, durationMs, rateLimitedMs } = request;
    const code = status === undefined ? '<error>' : String(status);
    add(this.#requests, labels({ code, host, method }));
    if (attempt > 0) add(this.#retries, labels({ code, host, verb: method }));
    measure(this.#durations, labels({ host, verb: method }), durationMs / 1000);
    measure(this.#waits, labels({ host, verb: method }), rateLimitedMs / 1000);
  };

  /** The text format of Prometheus, version 0.0.4. */
  text(): string {
    return [
      counter('rest_client_requests_total', 'Attempts by status code, method and host', this.#requests),
      counter('rest_client_request_retries_total', 'Attempts after the first, by code, verb and host', this.#retries),
      histogram('rest_client_request_duration_seconds', 'Time to the head of the answer', this.#durations),
      histogram('rest_client_rate_limiter_duration_seconds', "Waits for the client's own limit", this.#waits),
    ].join('');
  }
}

function labels(values: Readonly<Record<string, string>>): string {
  return Object.entries(values)
    .map(([name, value]) => `${name}="${value.replace(/[\\"\n]/g, (char) => (char === '\n' ? '\\n' : `\\${char}`))}"`)
    .join(',');
}

function add(counts: Map<string, number>, key: string): void {
  counts.set(key, (counts.get(key) ?? 0) + 1);
}

function measure(histograms: Map<string, Histogram>, key: string, seconds: number): void {
  const found = histograms.get(key) ?? { counts: bounds.map(() => 0), sum: 0, count: 0 };
  histograms.set(key, found);
  found.sum += seconds;
  found.count++;
  for (const [at, bound] of bounds.entries()) if (seconds <= bound) found.counts[at] = (found.counts[at] ?? 0) + 1;
}

function counter(name: string, help: string, counts: ReadonlyMap<string, number>): string {
  const lines = [...counts].map(([key, count]) => `${name}{${key}} ${count}\n`);
  return `# HELP ${name} ${help}\n# TYPE ${name} counter\n${lines.join('')}`;
}

function histogram(name: string, help: string, histograms: ReadonlyMap<string, Histogram>): string {
  const lines = [...histograms].map(([key, { counts, sum, count }]) => {
    const buckets = bounds.map((bound, at) => `${name}_bucket{${key},le="${bound}"} ${counts[at]}\n`);
    return `${buckets.join('')}${name}_bucket{${key},le="+Inf"} ${count}\n${name}_sum{${key}} ${sum}\n${name}_count{${key}} ${count}\n`;
  });
  return `# HELP ${name} ${help}\n# TYPE ${name} histogram\n${lines.join('')}`;
}

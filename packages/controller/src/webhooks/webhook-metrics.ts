// WebhookMetrics counts the requests of webhooks under controller-runtime's names. Filled by webhook-server.ts, shown
// with the manager's other metrics. Source: controller-runtime pkg/webhook/internal/metrics.
import { Counter, Gauge, Histogram, type Registry } from '../metrics/prometheus.ts';

/** Source: the same file, in seconds. */
const buckets = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

export class WebhookMetrics {
  readonly #requests: Counter;
  readonly #seconds: Histogram;
  readonly #inFlight: Gauge;

  constructor(registry: Registry) {
    const registers = [registry];
    const labelNames = ['webhook'];
    this.#requests = new Counter({
      name: 'controller_runtime_webhook_requests_total',
      help: 'Requests of webhooks by HTTP status code.',
      labelNames: [...labelNames, 'code'],
      registers,
    });
    this.#seconds = new Histogram({
      name: 'controller_runtime_webhook_latency_seconds',
      help: 'Time that requests of webhooks took.',
      labelNames,
      buckets,
      registers,
    });
    this.#inFlight = new Gauge({
      name: 'controller_runtime_webhook_requests_in_flight',
      help: 'Requests of webhooks that are answered at present.',
      labelNames,
      registers,
    });
  }

  /** Shows a path before its first request. */
  add(webhook: string): void {
    this.#requests.inc({ webhook, code: '200' }, 0);
    this.#requests.inc({ webhook, code: '500' }, 0);
    this.#inFlight.set({ webhook }, 0);
  }

  began(webhook: string): void {
    this.#inFlight.inc({ webhook });
  }

  ended(webhook: string, { code, seconds }: { readonly code: number; readonly seconds: number }): void {
    this.#inFlight.dec({ webhook });
    this.#requests.inc({ webhook, code: String(code) });
    this.#seconds.observe({ webhook }, seconds);
  }
}

// Adds the metrics of requests (api) to a registry of prom-client, which asks for them when it is shown. For
// controller-metrics.ts.
import type { MetricFamily, RequestMetrics } from '@kapstan/api/internal';
import type { Metric, Registry } from 'prom-client';

/** Throws when the registry has one of that name. */
export function registerRequests(requests: RequestMetrics, registry: Registry): void {
  for (const family of requests.families) registry.registerMetric(new RegisteredFamily(family) as unknown as Metric);
}

/** The part of a metric that a registry needs: prom-client's own metrics count by themselves. */
class RegisteredFamily {
  /** Registries in the format OpenMetrics set another name here. */
  name: string;
  readonly type: string;
  readonly #family: MetricFamily;

  constructor(family: MetricFamily) {
    this.name = family.name;
    this.type = family.type;
    this.#family = family;
  }

  async get() {
    const { name, type } = this;
    const values = this.#family.samples().map(({ metricName, ...sample }) => {
      return metricName === this.#family.name ? sample : { metricName, ...sample };
    });
    return { name, type, help: this.#family.help, aggregator: 'sum', values };
  }

  /** Requests that were made cannot be reset. */
  reset(): void {
    // There is no state here.
  }
}

// Our own families (api) among the metrics of prom-client, which requests them when it shows its registry. Used by
// controller-metrics.ts.
import { type MetricFamily, plainSamples } from '@kapstan/api/internal';
import type { Metric, Registry } from 'prom-client';

/** Always the same families, in the same order. */
interface FamilySource {
  readonly families: readonly MetricFamily[];
}

/** Throws when the registry already has a metric of that name. */
export function registerFamilies(source: FamilySource, registry: Registry): void {
  for (const [index, family] of source.families.entries())
    registry.registerMetric(new RegisteredFamily(family, () => source.families[index] ?? family) as unknown as Metric);
}

/** The part of a metric that a registry needs: prom-client's own metrics count by themselves. */
class RegisteredFamily {
  /** Registries in the format OpenMetrics set another name here. */
  name: string;
  readonly type: string;
  readonly #read: () => MetricFamily;

  constructor({ name, type }: MetricFamily, read: () => MetricFamily) {
    this.name = name;
    this.type = type;
    this.#read = read;
  }

  async get() {
    const { name, type } = this;
    const family = this.#read();
    const values = family.samples
      .flatMap((sample) => plainSamples(family.name, sample))
      .map(({ metricName, ...sample }) => (metricName === family.name ? sample : { metricName, ...sample }));
    return { name, type, help: family.help, aggregator: 'sum', values };
  }

  /** Does nothing, because the counts are kept elsewhere and never go back. */
  reset(): void {
    // A registry calls this for each of its metrics.
  }
}

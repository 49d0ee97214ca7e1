// InformerMetrics: the metrics of informers under the names of client-go (KEP-4346): waiting changes, their durations, and the version of
// the cache. Informers register here by name; managers show it together with their own metrics. Source: client-go
// tools/cache/fifo_metrics.go, identity.go; component-base metrics/prometheus/clientgo/fifo.
import type { Resource } from '@kapstan/api';
import {
  DurationHistogram,
  formatMetrics,
  gaugeFamily,
  histogramFamily,
  type Labels,
  type MetricFamily,
  type MetricSample,
  requireString,
} from '@kapstan/api/internal';

/** In seconds. */
const bounds: readonly number[] = [0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
/** Numbers of Prometheus are exact up to here. */
const versionDigits = 15;

/** The values that an informer reports on request. */
export interface MeasuredInformer {
  readonly resource: Partial<Pick<Resource, 'group' | 'version' | 'plural'>> | undefined;
  /** Number of changes that wait. */
  queued(): number;
  /** The version of the cache; "" = none yet. */
  resourceVersion(): string;
}

/** Receives values from an informer, until it is released. */
export interface InformerMeasure {
  /** Records how long a change took, with all handlers, in milliseconds. */
  processed(ms: number): void;
  release(): void;
}

/** The label `name` of informers, which distinguishes those of one kind in one process. */
export interface InformerName {
  /** Returns undefined when another informer of the kind already uses the name; the first one counts. */
  measure(informer: MeasuredInformer): InformerMeasure | undefined;
  /** Returns the name of informers that see one namespace alone. */
  within(namespace: string): InformerName;
  /** Returns the name of informers of metadata alone, `NAME:metadata`, so that a kind may be cached whole as well. */
  ofMetadata(): InformerName;
}

interface Entry {
  readonly labels: Labels;
  readonly informer: MeasuredInformer;
  readonly processing: DurationHistogram;
}

/** Use: `new SharedInformerFactory(client, { metrics: metrics.named('my-program') })`. */
export class InformerMetrics {
  readonly #entries = new Map<string, Entry>();

  /** Throws TypeError for an empty name. */
  named(name: string): InformerName {
    requireString(name, 'the name of informers');
    if (name === '') throw new TypeError('informer name cannot be empty');
    return {
      measure: (informer) => this.#measure(name, informer),
      within: (namespace) => this.named(`${name}/${namespace}`),
      ofMetadata: () => this.named(`${name}:metadata`),
    };
  }

  /** The metrics for other formats than text. */
  get families(): readonly MetricFamily[] {
    const each = (read: (entry: Entry) => MetricSample['value'] | undefined): MetricSample[] =>
      [...this.#entries.values()].flatMap((entry) => {
        const value = read(entry);
        return value === undefined ? [] : [{ labels: entry.labels, value }];
      });
    return [
      gaugeFamily(
        'informer_queued_items',
        'Number of items currently queued in the FIFO.',
        each(({ informer }) => informer.queued()),
      ),
      histogramFamily(
        'informer_processing_latency_seconds',
        'Time taken to process events after popping from the queue.',
        each(({ processing }) => processing.counts()),
      ),
      gaugeFamily(
        'informer_store_resource_version',
        'The 15 least significant digits of the resource version of the store.',
        each(({ informer }) => versionNumber(informer.resourceVersion())),
      ),
    ];
  }

  /** Returns the metrics in the text format of Prometheus. */
  metrics(): string {
    return formatMetrics(this.families);
  }

  #measure(name: string, informer: MeasuredInformer): InformerMeasure | undefined {
    const { group = '', version = '', plural: resource = '' } = informer.resource ?? {};
    const labels = { name, group, version, resource };
    const key = JSON.stringify(labels);
    if (this.#entries.has(key)) return undefined;
    const processing = new DurationHistogram(bounds);
    this.#entries.set(key, { labels, informer, processing });
    return {
      processed: (ms) => processing.observe(ms),
      release: () => void this.#entries.delete(key),
    };
  }
}

/** Versions that are not numbers are not shown. */
function versionNumber(version: string): number | undefined {
  return /^\d+$/.test(version) ? Number(version.slice(-versionDigits)) : undefined;
}

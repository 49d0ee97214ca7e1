// ServerMetrics holds the metrics of the HTTP layer on /metrics, under kube-apiserver's names. Source: apiserver
// endpoints/metrics.
import type { Clock } from '@kapstan/api';
import {
  counterFamily,
  formatMetrics,
  gaugeFamily,
  Histogram,
  histogramFamily,
  LabelSeries,
  type Labels,
  type MetricFamily,
  type MetricSample,
  type MetricsText,
} from '@kapstan/api/internal';
import { versionInfo } from '../../discovery/version-info.ts';
import type { ResourceCatalog } from '../../registry/definition/catalog.ts';
import type { ResourceDefinition } from '../../registry/definition/resource-definition.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { isLongRunning, type RequestInfo, type ResourceRequest } from '../exchange/request-info.ts';
import { dryRunOf, fieldValidationOf, scopeOf, verbOf } from '../exchange/request-labels.ts';
import { AccessMetrics } from '../request/access-metrics.ts';
import type { KindCounts, RequestLimit } from '../request/request-limit.ts';
import type { WatchRegistry } from '../watch/watch-registry.ts';

const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** 1 kB to 1 GB. */
const answerBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** 50 kB, then steps of 100 kB up to the largest body. */
const bodyBuckets = Array.from({ length: 31 }, (_, i) => 50_000 + i * 100_000);

export interface ServerMetricsSources {
  readonly catalog: ResourceCatalog;
  readonly limit: RequestLimit;
  readonly watches: WatchRegistry;
  readonly clock: Clock;
  /** Other metrics to show as well. */
  readonly others: readonly MetricsText[];
}

/** The same values as /version. */
const buildLabels: Labels = {
  build_date: versionInfo.buildDate,
  compiler: versionInfo.compiler,
  git_commit: versionInfo.gitCommit,
  git_tree_state: versionInfo.gitTreeState,
  git_version: versionInfo.gitVersion,
  go_version: versionInfo.goVersion,
  major: versionInfo.major,
  minor: versionInfo.minor,
  platform: versionInfo.platform,
};

const noNames = { group: '', version: '', resource: '', subresource: '' };

/** Counts of the requests that have all labels in common. */
interface RequestCounts {
  /** Requests by status code. */
  readonly codes: Map<number, number>;
  readonly seconds: Histogram;
}

export class ServerMetrics {
  readonly #catalog: ResourceCatalog;
  readonly #limit: RequestLimit;
  readonly #others: readonly MetricsText[];
  readonly #watches: WatchRegistry;
  readonly #requests: LabelSeries<RequestCounts> = new LabelSeries(() => ({
    codes: new Map(),
    seconds: new Histogram(durationBuckets),
  }));
  readonly #validationSeconds: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(durationBuckets.slice(2)));
  readonly #bodySizes: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(bodyBuckets));
  readonly #answerSizes: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(answerBuckets));
  readonly #deprecated: LabelSeries<1> = new LabelSeries(() => 1);
  #aggregations = 0;
  /** Metrics of authentication and authorization. */
  readonly access: AccessMetrics;

  constructor(sources: ServerMetricsSources) {
    this.#catalog = sources.catalog;
    this.#limit = sources.limit;
    this.#others = sources.others;
    this.#watches = sources.watches;
    this.access = new AccessMetrics(sources.clock);
  }

  /** Counts a finished request. Only names that exist become labels, because other names could be any number. */
  observe(exchange: Exchange, info: RequestInfo, durationMs: number): void {
    const definition = this.#definitionOf(info);
    const known = definition === undefined ? (exchange.reportedResource ?? noNames) : (info as ResourceRequest);
    const { group, version, resource, subresource } = known;
    const [verb, scope, dry_run] = [verbOf(exchange, info), scopeOf(info), dryRunOf(exchange.query)];
    const names = { group, version, resource, subresource, scope, component: 'apiserver' };
    const key = `${verb} ${group}/${version}/${resource}/${subresource} ${scope}`;
    const counts = this.#requests.of(`${key} ${dry_run}`, () => ({ verb, dry_run, ...names }));
    counts.codes.set(exchange.status, (counts.codes.get(exchange.status) ?? 0) + 1);
    if (definition !== undefined && exchange.bodyBytes !== undefined) {
      const labels = (): Labels => ({ group, resource, verb: info.verb });
      this.#bodySizes.of(`${group}/${resource} ${info.verb}`, labels).observe(exchange.bodyBytes);
    }
    // Only reads, including watches, are counted here.
    if (verb === 'GET' || verb === 'LIST' || verb === 'WATCH') {
      this.#answerSizes.of(key, () => ({ verb, ...names })).observe(exchange.answerBytes);
    }
    // The label of the removal release stays empty: no served version has one.
    if (definition !== undefined && definition.deprecationWarning !== undefined) {
      const named = `${group}/${version}/${resource}/${subresource}`;
      this.#deprecated.of(named, () => ({ group, version, resource, subresource, removed_release: '' }));
    }
    if (isLongRunning(info)) return;
    counts.seconds.observe(durationMs / 1000);
    if (!['create', 'update', 'patch'].includes(info.verb)) return;
    const field_validation = fieldValidationOf(exchange.query);
    this.#validationSeconds.of(field_validation, () => ({ field_validation })).observe(durationMs / 1000);
  }

  /** Returns undefined for paths outside the resources and for resources that are not served. */
  #definitionOf(info: RequestInfo): ResourceDefinition | undefined {
    if (info.type === 'path') return undefined;
    const { group, version, resource, subresource } = info;
    const definition = this.#catalog.find(group, version, resource)?.definition;
    if (subresource === '' || definition === undefined) return definition;
    return definition.subresources.some(({ name }) => name === subresource) ? definition : undefined;
  }

  countAggregation(): void {
    this.#aggregations++;
  }

  async serve(exchange: Exchange): Promise<void> {
    const others = await Promise.all(this.#others.map((registry) => registry.metrics()));
    this.serveText(exchange, `${formatMetrics(this.#families())}${others.join('')}`);
  }

  /** Sends metrics that another part has rendered. */
  serveText(exchange: Exchange, text: string): void {
    // The names have the old form, because Prometheus requests no other. Source: promhttp.
    exchange.setHeader('Content-Type', 'text/plain; version=0.0.4; charset=utf-8; escaping=underscores');
    exchange.send(200, Buffer.from(text));
  }

  #families(): MetricFamily[] {
    return [
      ...this.access.families(),
      ...this.#requestFamilies(),
      counterFamily(
        'aggregator_discovery_aggregation_count_total',
        'Number of times the aggregated discovery document was made.',
        [{ labels: {}, value: this.#aggregations }],
      ),
      gaugeFamily('apiserver_requested_deprecated_apis', 'Deprecated resources that were requested.', [
        ...this.#deprecated.samples((shown) => shown),
      ]),
      gaugeFamily(
        'apiserver_current_inflight_requests',
        'Requests currently running.',
        samplesOf(this.#limit.executing()),
      ),
      gaugeFamily(
        'apiserver_current_inqueue_requests',
        'Requests currently waiting for a place.',
        samplesOf(this.#limit.waiting()),
      ),
      gaugeFamily('apiserver_longrunning_requests', 'Watches currently open.', [
        { labels: {}, value: this.#watches.size },
      ]),
      counterFamily(
        'apiserver_terminated_watchers_total',
        'Watches ended because their client read too slowly.',
        [...this.#watches.overflows].map(({ group, resource, count }) => ({
          labels: { group, resource },
          value: count,
        })),
      ),
      ...this.#watches.metrics(),
      ...this.#limit.families(),
      gaugeFamily('kubernetes_build_info', 'Version of the server as labels; always 1.', [
        { labels: buildLabels, value: 1 },
      ]),
    ];
  }

  #requestFamilies(): MetricFamily[] {
    const byCode = this.#requests.flatSamples(({ codes }, labels) =>
      [...codes].map(([code, value]) => ({ labels: { ...labels, code: String(code) }, value })),
    );
    return [
      counterFamily('apiserver_request_total', 'Requests by verb, resource and status code.', byCode),
      histogramFamily(
        'apiserver_request_duration_seconds',
        'Time to answer requests other than watches.',
        this.#requests.samples(({ seconds }) => (seconds.counts().count === 0 ? undefined : seconds.counts())),
      ),
      histogramFamily(
        'field_validation_request_duration_seconds',
        'Time to answer writes, by field validation mode.',
        this.#validationSeconds.samples((seconds) => seconds.counts()),
      ),
      histogramFamily(
        'apiserver_request_body_size_bytes',
        'Sizes of request bodies, by resource and verb.',
        this.#bodySizes.samples((sizes) => sizes.counts()),
      ),
      histogramFamily(
        'apiserver_response_sizes',
        'Sizes of the answers to reads of objects and lists, as sent.',
        this.#answerSizes.samples((sizes) => sizes.counts()),
      ),
    ];
  }
}

function samplesOf({ readOnly, mutating }: KindCounts): MetricSample[] {
  return [
    { labels: { request_kind: 'readOnly' }, value: readOnly },
    { labels: { request_kind: 'mutating' }, value: mutating },
  ];
}

// ServerMetrics: what /metrics shows of the HTTP layer, under kube-apiserver's names. Source: apiserver endpoints/metrics.
import type { Clock } from '@kapstan/api';
import { formatMetrics } from '@kapstan/storage';
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ResourceCatalog } from '../registry/catalog.ts';
import { AccessMetrics } from './access-metrics.ts';
import { deprecationWarning } from './deprecated-resources.ts';
import type { Exchange } from './exchange.ts';
import type { InflightLimit } from './inflight-limit.ts';
import { isLongRunning, type RequestInfo, type ResourceRequest } from './request-info.ts';
import { dryRunOf, fieldValidationOf, scopeOf, verbOf } from './request-labels.ts';
import type { WatchRegistry } from './watch-registry.ts';

const labels = ['verb', 'dry_run', 'group', 'version', 'resource', 'subresource', 'scope', 'component'] as const;
const durationBuckets = [
  0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.25, 1.5, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 45, 60,
];
/** 1 kB to 1 GB. */
const answerBuckets = [1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9];
/** 50 kB, then one each 100 kB up to the largest body. */
const bodyBuckets = Array.from({ length: 31 }, (_, i) => 50_000 + i * 100_000);

export interface ServerMetricsSources {
  readonly catalog: ResourceCatalog;
  readonly limit: InflightLimit;
  readonly watches: WatchRegistry;
  readonly clock: Clock;
  /** Shown too. */
  readonly others: readonly Pick<Registry, 'metrics'>[];
}

export class ServerMetrics {
  readonly #catalog: ResourceCatalog;
  readonly #registry = new Registry();
  readonly #others: readonly Pick<Registry, 'metrics'>[];
  readonly #watches: WatchRegistry;
  readonly #requests: Counter<(typeof labels)[number] | 'code'>;
  readonly #durations: Histogram<(typeof labels)[number]>;
  readonly #validationDurations: Histogram<'field_validation'>;
  readonly #bodySizes: Histogram<'group' | 'resource' | 'verb'>;
  readonly #answerSizes: Histogram<Exclude<(typeof labels)[number], 'dry_run'>>;
  readonly #aggregations: Counter;
  readonly #deprecated: Gauge<'group' | 'version' | 'resource' | 'subresource' | 'removed_release'>;
  /** Of identities and permissions. */
  readonly access: AccessMetrics;

  constructor(sources: ServerMetricsSources) {
    this.#catalog = sources.catalog;
    this.#others = sources.others;
    this.#watches = sources.watches;
    this.access = new AccessMetrics(this.#registry, sources.clock);
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests by verb, resource and status code.',
      labelNames: [...labels, 'code'],
      registers,
    });
    this.#durations = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time to answer requests that are not watches.',
      labelNames: labels,
      buckets: durationBuckets,
      registers,
    });
    this.#validationDurations = new Histogram({
      name: 'field_validation_request_duration_seconds',
      help: 'Time to answer writes, by what was asked to be done about unknown fields.',
      labelNames: ['field_validation'],
      buckets: durationBuckets.slice(2),
      registers,
    });
    this.#bodySizes = new Histogram({
      name: 'apiserver_request_body_size_bytes',
      help: 'Sizes of the bodies of requests, by resource and verb.',
      labelNames: ['group', 'resource', 'verb'],
      buckets: bodyBuckets,
      registers,
    });
    this.#answerSizes = new Histogram({
      name: 'apiserver_response_sizes',
      help: 'Sizes of the answers to reads of objects and lists, as they are sent.',
      labelNames: ['verb', 'group', 'version', 'resource', 'subresource', 'scope', 'component'],
      buckets: answerBuckets,
      registers,
    });
    this.#aggregations = new Counter({
      name: 'aggregator_discovery_aggregation_count_total',
      help: 'How often the document of aggregated discovery was made.',
      registers,
    });
    this.#deprecated = new Gauge({
      name: 'apiserver_requested_deprecated_apis',
      help: 'Resources on their way out that were asked for.',
      labelNames: ['group', 'version', 'resource', 'subresource', 'removed_release'],
      registers,
    });
    addInflightGauges(this.#registry, sources.limit);
    new Gauge({
      name: 'apiserver_longrunning_requests',
      help: 'Watches that are open now.',
      registers,
      collect() {
        this.set(sources.watches.size);
      },
    });
    new Counter({
      name: 'apiserver_terminated_watchers_total',
      help: 'Watches ended because their client read too slowly.',
      labelNames: ['group', 'resource'],
      registers,
      collect() {
        this.reset();
        for (const { group, resource, count } of sources.watches.overflows) this.inc({ group, resource }, count);
      },
    });
  }

  /** Counts a request that is over. Only names that exist become labels: others could be any number. */
  observe(exchange: Exchange, info: RequestInfo, durationMs: number): void {
    const { group, version, resource, subresource } = this.#namesOf(info);
    const common = { group, version, resource, subresource, scope: scopeOf(info), component: 'apiserver' };
    const all = { verb: verbOf(exchange, info), dry_run: dryRunOf(exchange.query), ...common };
    this.#requests.inc({ ...all, code: String(exchange.status) });
    if (resource !== '' && exchange.bodyBytes !== undefined) {
      this.#bodySizes.observe({ group, resource, verb: info.verb }, exchange.bodyBytes);
    }
    // Of reads alone, watches among them.
    if (['GET', 'LIST', 'WATCH'].includes(all.verb)) {
      this.#answerSizes.observe({ verb: all.verb, ...common }, exchange.answerBytes);
    }
    // None of what is served has a release in which it will be gone.
    const isDeprecated = this.#isDeprecated(group, version, resource);
    if (isDeprecated) this.#deprecated.set({ group, version, resource, subresource, removed_release: '' }, 1);
    if (isLongRunning(info)) return;
    this.#durations.observe(all, durationMs / 1000);
    if (!['create', 'update', 'patch'].includes(info.verb)) return;
    const validation = { field_validation: fieldValidationOf(exchange.query) };
    this.#validationDurations.observe(validation, durationMs / 1000);
  }

  countAggregation(): void {
    this.#aggregations.inc();
  }

  #namesOf(info: RequestInfo): Pick<ResourceRequest, 'group' | 'version' | 'resource' | 'subresource'> {
    if (info.type === 'resource' && this.#isServed(info)) return info;
    return { group: '', version: '', resource: '', subresource: '' };
  }

  #isDeprecated(group: string, version: string, resource: string): boolean {
    const definition = this.#catalog.find(group, version, resource)?.definition;
    return definition !== undefined && deprecationWarning(definition) !== undefined;
  }

  #isServed({ group, version, resource, subresource }: ResourceRequest): boolean {
    const definition = this.#catalog.find(group, version, resource)?.definition;
    return (
      definition !== undefined && (subresource === '' || definition.subresources.some((s) => s.name === subresource))
    );
  }

  async serve(exchange: Exchange): Promise<void> {
    const texts = await Promise.all([this.#registry, ...this.#others].map((registry) => registry.metrics()));
    this.serveText(exchange, `${texts.join('')}${formatMetrics(this.#watches.metrics())}`);
  }

  /** Numbers of somebody else. */
  serveText(exchange: Exchange, text: string): void {
    exchange.setHeader('Content-Type', this.#registry.contentType);
    exchange.send(200, Buffer.from(text));
  }
}

function addInflightGauges(registry: Registry, limit: InflightLimit): void {
  const gauge = (name: string, help: string, counts: () => Readonly<Record<'reading' | 'mutating', number>>): Gauge =>
    new Gauge({
      name,
      help,
      labelNames: ['request_kind'],
      registers: [registry],
      collect() {
        const { reading, mutating } = counts();
        this.set({ request_kind: 'readOnly' }, reading);
        this.set({ request_kind: 'mutating' }, mutating);
      },
    });
  gauge('apiserver_current_inflight_requests', 'Requests that run now.', () => limit.counts());
  gauge('apiserver_current_inqueue_requests', 'Requests that wait for a place among those that run.', () =>
    limit.waiting(),
  );
}

// ServerMetrics: what /metrics shows of the HTTP layer, under kube-apiserver's names. Source: apiserver endpoints/metrics.
import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import type { ResourceCatalog } from '../registry/catalog.ts';
import type { Exchange } from './exchange.ts';
import type { InflightLimit } from './inflight-limit.ts';
import { isLongRunning, type RequestInfo, type ResourceRequest } from './request-info.ts';
import type { WatchRegistry } from './watch-registry.ts';

const labels = ['verb', 'group', 'version', 'resource', 'subresource', 'code'] as const;

export interface ServerMetricsSources {
  readonly catalog: ResourceCatalog;
  readonly limit: InflightLimit;
  readonly watches: WatchRegistry;
  /** Shown too. */
  readonly others: readonly Pick<Registry, 'metrics'>[];
}

export class ServerMetrics {
  readonly #catalog: ResourceCatalog;
  readonly #registry = new Registry();
  readonly #others: readonly Pick<Registry, 'metrics'>[];
  readonly #requests: Counter<(typeof labels)[number]>;
  readonly #durations: Histogram<'verb' | 'group' | 'resource'>;

  constructor(sources: ServerMetricsSources) {
    this.#catalog = sources.catalog;
    this.#others = sources.others;
    const registers = [this.#registry];
    this.#requests = new Counter({
      name: 'apiserver_request_total',
      help: 'Requests by verb, resource and status code.',
      labelNames: labels,
      registers,
    });
    this.#durations = new Histogram({
      name: 'apiserver_request_duration_seconds',
      help: 'Time to answer requests that are not watches.',
      labelNames: ['verb', 'group', 'resource'],
      buckets: [0.005, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1, 1.5, 2, 3, 5, 10, 30, 60],
      registers,
    });
    new Gauge({
      name: 'apiserver_current_inflight_requests',
      help: 'Requests that run now.',
      labelNames: ['request_kind'],
      registers,
      collect() {
        const { reading, mutating } = sources.limit.counts();
        this.set({ request_kind: 'readOnly' }, reading);
        this.set({ request_kind: 'mutating' }, mutating);
      },
    });
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
    const isKnown = info.type === 'resource' && this.#isServed(info);
    const resource = isKnown ? info.resource : '';
    const group = isKnown ? info.group : '';
    const verb = info.verb.toUpperCase();
    const version = isKnown ? info.version : '';
    const subresource = isKnown ? info.subresource : '';
    this.#requests.inc({ verb, group, version, resource, subresource, code: String(exchange.status) });
    if (!isLongRunning(info)) this.#durations.observe({ verb, group, resource }, durationMs / 1000);
  }

  #isServed({ group, version, resource, subresource }: ResourceRequest): boolean {
    const definition = this.#catalog.find(group, version, resource)?.definition;
    return (
      definition !== undefined && (subresource === '' || definition.subresources.some((s) => s.name === subresource))
    );
  }

  async serve(exchange: Exchange): Promise<void> {
    const texts = await Promise.all([this.#registry, ...this.#others].map((registry) => registry.metrics()));
    this.serveText(exchange, texts.join(''));
  }

  /** Numbers of somebody else. */
  serveText(exchange: Exchange, text: string): void {
    exchange.setHeader('Content-Type', this.#registry.contentType);
    exchange.send(200, Buffer.from(text));
  }
}

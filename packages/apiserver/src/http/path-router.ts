// PathRouter: everything that is no resource: health, version, discovery, OpenAPI, the index. Each path as
// kube-apiserver serves it, with its refusals.

import { DiscoveryIndex } from '../discovery/discovery-index.ts';
import { apiVersionsDocument, groupDocument, groupListDocument, resourceListDocument } from '../discovery/documents.ts';
import { versionInfo } from '../discovery/version-info.ts';
import type { ResourceCatalog } from '../registry/catalog.ts';
import { serveAggregatedDiscovery } from './aggregated-discovery.ts';
import type { Exchange } from './exchange.ts';
import { type HealthCheck, HealthEndpoints } from './health.ts';
import { negotiatePlainOutput, notAcceptableHere } from './negotiation.ts';
import { methodNotAllowed, resourceNotFound } from './route-errors.ts';
import { outputRequestOf, sendPageNotFound, sendValue } from './status-response.ts';

export type { HealthCheck };

export interface PathRouterOptions {
  readonly catalog: ResourceCatalog;
  readonly healthChecks: readonly HealthCheck[];
}

type PathHandler = (exchange: Exchange) => Promise<void> | void;

export class PathRouter {
  readonly #discovery: DiscoveryIndex;
  readonly #health: HealthEndpoints;
  readonly #exact: ReadonlyMap<string, PathHandler>;

  constructor(options: PathRouterOptions) {
    this.#discovery = new DiscoveryIndex(options.catalog);
    this.#health = new HealthEndpoints(options.healthChecks);
    this.#exact = new Map<string, PathHandler>([
      ['/', (exchange) => this.#serveIndex(exchange)],
      ['/version', (exchange) => serveDocument(exchange, versionInfo)],
      ['/version/', (exchange) => serveDocument(exchange, versionInfo)],
    ]);
  }

  async serve(exchange: Exchange): Promise<void> {
    const { path } = exchange;
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact(exchange);
    if (await this.#health.serve(exchange)) return;
    if (/^\/apis?(?:\/|$)/.test(path)) return this.#serveDiscovery(exchange);
    sendPageNotFound(exchange);
  }

  #serveDiscovery(exchange: Exchange): void {
    const [, root = '', ...rest] = exchange.path.replace(/\/+$/, '').split('/');
    const index = this.#discovery.current();
    if (rest.length === 0) {
      if (exchange.method === 'GET' && serveAggregatedDiscovery(exchange, index, root)) return;
      return serveDocument(
        exchange,
        root === 'api'
          ? apiVersionsDocument(exchange.header('host') ?? exchange.header(':authority') ?? '')
          : groupListDocument(index),
      );
    }
    const group = root === 'api' ? '' : (rest[0] ?? '');
    const [version, ...more] = root === 'api' ? rest : rest.slice(1);
    const entry = index.groups.get(group);
    if (entry === undefined) return sendPageNotFound(exchange);
    const served = version === undefined ? undefined : entry.versions.find((v) => v.version === version);
    if (more.length > 0 || (version !== undefined && served === undefined)) {
      if (entry.isCustom) return sendPageNotFound(exchange);
      throw resourceNotFound();
    }
    serveDocument(exchange, served === undefined ? groupDocument(entry) : resourceListDocument(entry, served));
  }

  #serveIndex(exchange: Exchange): void {
    sendValue(exchange, 200, {
      paths: [...this.#discovery.current().paths(), ...this.#health.paths(), '/version'].sort(),
    });
  }
}

/** Documents are read only and come in JSON or YAML. */
function serveDocument(exchange: Exchange, document: unknown): void {
  if (exchange.method !== 'GET') throw methodNotAllowed();
  if (negotiatePlainOutput(outputRequestOf(exchange)) === undefined) throw notAcceptableHere();
  sendValue(exchange, 200, document);
}

// PathRouter serves everything but resources: health, version, discovery, OpenAPI, the index. Each path is served and
// refused as by kube-apiserver.

import type { Clock } from '@kapstan/api';
import type { ApiRegistrations } from '../../aggregation/api-registrations.ts';
import { jsonFormat } from '../../codec/wire-format.ts';
import { DiscoveryIndex, type DiscoverySnapshot, type GroupEntry } from '../../discovery/discovery-index.ts';
import {
  apiVersionsDocument,
  groupDocument,
  groupListDocument,
  resourceListDocument,
} from '../../discovery/documents.ts';
import { versionInfo } from '../../discovery/version-info.ts';
import { OpenApiDocuments } from '../../openapi/openapi-documents.ts';
import { issuerPages } from '../../openapi/root-paths.ts';
import { SwaggerDocuments } from '../../openapi/swagger-documents.ts';
import type { ResourceCatalog } from '../../registry/definition/catalog.ts';
import { methodNotAllowed, resourceNotFound } from '../../registry/definition/route-errors.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { knownMediaTypes, negotiatePlainOutput, notAcceptableHere, requireProduced } from '../exchange/negotiation.ts';
import { type Page, servePage } from '../exchange/page.ts';
import { trimSlashes } from '../exchange/request-info.ts';
import { outputRequestOf, sendDocument, sendJson, sendPageNotFound } from '../exchange/status-response.ts';
import { serveAggregatedDiscovery } from './aggregated-discovery.ts';
import { flagzPage } from './flagz.ts';
import { type HealthCheck, HealthEndpoints } from './health.ts';
import { serveOpenApi, serveSwagger } from './openapi-endpoints.ts';
import type { ServerMetrics } from './server-metrics.ts';
import { statuszPage } from './statusz.ts';
import { type StructuredPage, serveStructuredPage } from './structured-page.ts';

export type { HealthCheck };

export interface PathRouterOptions {
  readonly catalog: ResourceCatalog;
  /** Group versions of other API servers. Undefined = there are none. */
  readonly registrations: ApiRegistrations | undefined;
  readonly healthChecks: readonly HealthCheck[];
  readonly livezGraceMs: number;
  readonly metrics: ServerMetrics;
  readonly pages: readonly Page[];
  /** Undefined = there is no /flagz. */
  readonly flags: ReadonlyMap<string, string> | undefined;
  readonly hasStatusz: boolean;
  readonly random: () => number;
  readonly clock: Clock;
}

type PathHandler = (exchange: Exchange) => Promise<void> | void;

export class PathRouter {
  readonly #discovery: DiscoveryIndex;
  readonly #health: HealthEndpoints;
  readonly #openApi: OpenApiDocuments;
  readonly #clock: Clock;
  readonly #metrics: ServerMetrics;
  readonly #exact: ReadonlyMap<string, PathHandler>;
  readonly #pages: ReadonlyMap<string, Page>;
  readonly #structured: readonly StructuredPage[];

  constructor(options: PathRouterOptions) {
    this.#discovery = new DiscoveryIndex(options.catalog, options.registrations);
    this.#health = new HealthEndpoints({
      checks: options.healthChecks,
      livezGraceMs: options.livezGraceMs,
      clock: options.clock,
    });
    this.#clock = options.clock;
    this.#metrics = options.metrics;
    this.#pages = new Map(options.pages.map((page) => [page.path, page]));
    const told = new Map([...issuerPages].filter(([path]) => this.#pages.has(`/${path}`)));
    const sources = { morePages: told, registrations: options.registrations };
    this.#openApi = new OpenApiDocuments(options.catalog, sources);
    const swagger = new SwaggerDocuments(options.catalog, sources);
    this.#structured = this.#structuredPages(options);
    this.#exact = new Map<string, PathHandler>([
      ...this.#structured.map((page) => [`/${page.name}`, pageHandler(page)] as const),
      ['/', (exchange) => this.#serveIndex(exchange)],
      ['/version', serveVersion],
      ['/version/', serveVersion],
      ['/openapi/v2', (exchange) => serveSwagger(exchange, swagger, options.clock)],
      ['/metrics', (exchange) => options.metrics.serve(exchange)],
      ['/metrics/slis', (exchange) => options.metrics.serveText(exchange, this.#health.metrics.metrics())],
    ]);
  }

  async serve(exchange: Exchange): Promise<void> {
    const { path } = exchange;
    const exact = this.#exact.get(path);
    if (exact !== undefined) return exact(exchange);
    const page = this.#pages.get(path) ?? this.#pages.get(path.replace(/\/$/, ''));
    if (page !== undefined) {
      if (page.method !== 'any' && exchange.method !== page.method) throw methodNotAllowed();
      return servePage(exchange, page);
    }
    if (await this.#health.serve(exchange)) return;
    if (await serveOpenApi(exchange, this.#openApi, this.#clock)) return;
    if (/^\/version\/+$/.test(path)) return serveVersion(exchange);
    // As in go-restful, paths below a served route get an answer of their own.
    if (path.startsWith('/version/')) throw resourceNotFound();
    if (/^\/apis?(?:\/|$)/.test(path)) return this.#serveDiscovery(exchange);
    sendPageNotFound(exchange);
  }

  async #serveDiscovery(exchange: Exchange): Promise<void> {
    const [root = '', ...rest] = trimSlashes(exchange.path).split('/');
    const index = this.#discovery.current();
    // The aggregator knows exactly these two spellings; go-restful ignores slashes at the end.
    const isGroupList = root === 'apis' && rest.length === 0;
    if (isGroupList && !/^\/apis\/?$/.test(exchange.path)) return sendPageNotFound(exchange);
    if (root === 'apis' && rest[0] === '') return sendPageNotFound(exchange);
    if (rest.length > 0) return serveGroup(exchange, index, root === 'api' ? ['', ...rest] : rest);
    if (exchange.method === 'GET' && (await this.#serveAggregated(exchange, index, root))) return;
    const address = exchange.header('host') ?? exchange.header(':authority') ?? '';
    if (root === 'api') return serveRoute(exchange, apiVersionsDocument(address), knownMediaTypes);
    return serveDocument(exchange, groupListDocument(index));
  }

  #serveAggregated(exchange: Exchange, index: DiscoverySnapshot, root: string): Promise<boolean> {
    return serveAggregatedDiscovery(exchange, { index, root, onMade: () => this.#metrics.countAggregation() });
  }

  #serveIndex(exchange: Exchange): Promise<void> {
    return sendDocument(exchange, { paths: this.#listedPaths() });
  }

  #listedPaths(): string[] {
    return [
      ...this.#discovery.current().paths(),
      ...this.#health.paths(),
      ...[...this.#pages.values()].filter(({ isListed }) => isListed !== false).map((page) => page.path),
      ...this.#structured.map(({ name }) => `/${name}`),
      '/metrics',
      '/metrics/slis',
      '/openapi/v2',
      '/version',
    ].sort();
  }

  #structuredPages({ flags, hasStatusz, clock, random }: PathRouterOptions): readonly StructuredPage[] {
    return [
      ...(flags === undefined ? [] : [flagzPage({ flags, random })]),
      ...(hasStatusz ? [statuszPage({ clock, random, paths: () => this.#listedPaths() })] : []),
    ];
  }
}

function pageHandler(page: StructuredPage): PathHandler {
  return (exchange) => serveStructuredPage(exchange, page);
}

/** Serves a group or version; `path` names no more than these. Paths below a served group are refused with a Status. */
async function serveGroup(exchange: Exchange, index: DiscoverySnapshot, path: readonly string[]): Promise<void> {
  const [group = '', version, ...more] = path;
  const entry = index.groups.get(group);
  if (entry === undefined) return sendPageNotFound(exchange);
  if (version === undefined) {
    if (hasOwnRoute(entry)) return serveRoute(exchange, groupDocument(entry), knownMediaTypes);
    return serveDocument(exchange, groupDocument(entry));
  }
  const served = entry.versions.find((candidate) => candidate.version === version);
  if (served !== undefined && more.length === 0) {
    const document = resourceListDocument(entry, served);
    return entry.isCustom ? serveDocument(exchange, document) : serveRoute(exchange, document, knownMediaTypes);
  }
  if (!entry.isCustom) throw resourceNotFound();
  sendPageNotFound(exchange);
}

function serveVersion(exchange: Exchange): Promise<void> {
  return serveRoute(exchange, versionInfo, [jsonFormat.mediaType]);
}

/** Serves a document that has its own route: for GET, in the types that the route produces. */
async function serveRoute(exchange: Exchange, document: unknown, produced: readonly string[]): Promise<void> {
  if (exchange.method !== 'GET') throw methodNotAllowed();
  requireProduced(exchange.header('accept') ?? '', produced);
  // The only form is JSON, whatever the parameters of the media type say.
  if (produced.length === 1) sendJson(exchange, document);
  else await serveDocument(exchange, document);
}

/**
 * Serves documents for which the method does not matter: those of the aggregator and of custom resources. Source:
 * kube-aggregator apisHandler, apiGroupHandler; apiextensions versionDiscoveryHandler.
 */
async function serveDocument(exchange: Exchange, document: unknown): Promise<void> {
  if (negotiatePlainOutput(outputRequestOf(exchange)) === undefined) throw notAcceptableHere();
  await sendDocument(exchange, document);
}

/** The aggregator serves the documents of groups other than its own. */
function hasOwnRoute({ versions }: GroupEntry): boolean {
  return versions.some(({ resources }) => resources.some(({ hasGroupRoute }) => hasGroupRoute === true));
}

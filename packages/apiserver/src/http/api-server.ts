// ApiServer: the filter chain around every request (identity, impersonation, limits, permission, time) and the paths.
// Source: apiserver server/config.go (DefaultBuildHandlerChain), whose order this keeps.
import { randomUUID } from 'node:crypto';
import type { Socket } from 'node:net';
import {
  type CallSignal,
  type Clock,
  isStatusError,
  type Logger,
  newTimeout,
  newUnauthorized,
  silentLogger,
  systemClock,
} from '@kapstan/api';
import type { Registry } from 'prom-client';
import type { AuthenticationOptions } from '../authn/authenticator.ts';
import type { Authorizer } from '../authz/authorizer.ts';
import type { ResourceCatalog } from '../registry/catalog.ts';
import type { ObjectPatching } from '../registry/object-writes.ts';
import type { UserInfo } from '../registry/request-context.ts';
import { isConnectUrl } from './connect-handler.ts';
import { deprecationWarning } from './deprecated-resources.ts';
import type { Exchange } from './exchange.ts';
import { GracefulShutdown, type ShutdownOptions } from './graceful-shutdown.ts';
import { type HttpServer, type HttpServerOptions, startHttpServer, type TlsOptions } from './http-server.ts';
import { InflightLimit } from './inflight-limit.ts';
import type { Page } from './page.ts';
import { type HealthCheck, PathRouter } from './path-router.ts';
import { RequestAccess, sendInternalError } from './request-access.ts';
import { type AuditOptions, endAudit, RequestAudit } from './request-audit.ts';
import { requestTimeoutMs } from './request-deadline.ts';
import { isLongRunning, parseRequestInfo, type RequestInfo } from './request-info.ts';
import { RequestTurns } from './request-turns.ts';
import type { HandlerPorts, ResourceCall } from './resource-call.ts';
import { routeResource } from './resource-router.ts';
import { ServerMetrics } from './server-metrics.ts';
import { sendError, sendPageNotFound, sendText } from './status-response.ts';
import { TunnelRegistry } from './tunnel-registry.ts';
import { type KubeletOptions, TunnelTransport, type TunnelTransportOptions } from './tunnel-transport.ts';
import { TurnFlusher } from './turn-flusher.ts';
import { WarningRecorder } from './warning-recorder.ts';
import { WatchRegistry } from './watch-registry.ts';
import { isWebSocketRequest } from './websocket-watch.ts';
import { YamlBodies } from './yaml-bodies.ts';

export interface ApiServerOptions {
  readonly catalog: ResourceCatalog;
  readonly authentication: AuthenticationOptions;
  readonly authorizer: Authorizer;
  /** Of the field manager that the stores of the catalog track managed fields with. */
  readonly patching: ObjectPatching;
  /** Absent = plain HTTP/1.1, for tests. */
  readonly tls?: TlsOptions;
  /** Default 127.0.0.1. */
  readonly host?: string;
  /** 0 or absent = any free one. */
  readonly port?: number;
  /** Checks of /readyz, /livez and /healthz beside ping. */
  readonly healthChecks?: readonly HealthCheck[];
  /** How long /livez takes parts of the start that are not done for healthy, in milliseconds. Default 0. */
  readonly livezGraceMs?: number;
  /** What /metrics shows beside the numbers of the HTTP layer. Default none. */
  readonly metrics?: readonly Pick<Registry, 'metrics'>[];
  /** Paths outside the API that are served too. Default none. */
  readonly pages?: readonly Page[];
  /** Largest body of a request, in bytes. Default 3 145 728. */
  readonly maxBodyBytes?: number;
  /**
   * Whether objects that cannot be read may be deleted with ignoreStoreReadErrorWithClusterBreakingPotential; when not, that
   * option is ignored. Default false, as the feature gate AllowUnsafeMalformedObjectDeletion.
   */
  readonly allowsUnsafeDeletion?: boolean;
  /**
   * Reads at once; 0 = no limit. Default 400. When so many run they are shared: a user who has fewer than his share waits for a
   * place, at most a quarter of the time of a request; who has his share gets 429. Neither holds for system:masters and probes.
   */
  readonly maxRequestsInflight?: number;
  /** Writes at once, as above; 0 = no limit. Default 200. */
  readonly maxMutatingRequestsInflight?: number;
  /** Longest time for a request that is no watch, in milliseconds; writes get at most 34 000. Default 60 000. */
  readonly requestTimeoutMs?: number;
  /** Shortest time after which a watch without a timeout is ended, in milliseconds. Default 1 800 000. */
  readonly minWatchMs?: number;
  /**
   * What may come for a watcher whose socket takes nothing for 500 ms, in bytes, before its connection is cut. Eight times
   * that may wait for one that reads slowly; then its watch ends in peace. Default 4 194 304.
   */
  readonly maxWatchBufferBytes?: number;
  /** How kubelets are reached. Default: with any certificate, showing none. */
  readonly kubelet?: KubeletOptions;
  /** Longest silence on the upgraded connection of an exec, a port-forward, …, in milliseconds; 0 = without end. Default 14 400 000. */
  readonly tunnelIdleMs?: number;
  /** Opens connections to kubelets, pods and endpoints. Default: by TCP. */
  readonly dial?: TunnelTransportOptions['dial'];
  /** Share of requests, in [0, 1], after which an HTTP/2 client is asked to connect anew. Default 0. */
  readonly goawayChance?: number;
  /** Requests at once on one HTTP/2 connection. Default 250. */
  readonly maxConcurrentStreams?: number;
  /** What is recorded of requests, and where. Default: nothing. */
  readonly audit?: AuditOptions;
  /** How long a close waits for running requests, in milliseconds. Default: the longest time that they may take. */
  readonly drainMs?: number;
  /** The steps of a close. Default: none but the end. */
  readonly shutdown?: ShutdownOptions;
  /** Called with each request before anything is done for it; what it throws is the answer. Default: nothing. */
  readonly onRequest?: (request: IncomingRequest) => void | Promise<void>;
  readonly clock?: Clock;
  readonly logger?: Logger;
  /** In [0, 1); spreads the ends of watches, and of connections. Default Math.random. */
  readonly random?: () => number;
}

/** A request as {@link ApiServerOptions.onRequest} sees it. */
export interface IncomingRequest {
  readonly method: string;
  /** Decoded, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** Aborts when the peer goes away or the answer is over. */
  readonly signal: CallSignal;
  /** The connection that it came on. */
  readonly socket: Pick<Socket, 'remotePort'> | undefined;
  /** Calls back when the answer is over or the connection is lost, at once where that was before. */
  onClose(callback: () => void): void;
}

const defaults = {
  maxBodyBytes: 3_145_728,
  maxRequestsInflight: 400,
  maxMutatingRequestsInflight: 200,
  requestTimeoutMs: 60_000,
  minWatchMs: 1_800_000,
  maxWatchBufferBytes: 4_194_304,
  // As long as a kubelet keeps a silent stream. Source: streamingConnectionIdleTimeout.
  tunnelIdleMs: 14_400_000,
} as const satisfies Partial<ApiServerOptions>;

/** Longest wait for a place among the requests in flight. Source: flowcontrol's request wait limit. */
const maxWaitMs = 60_000;

export interface ApiServer {
  readonly url: string;
  readonly port: number;
  /** Ends watches, lets running requests end, closes. Idempotent. */
  close(): Promise<void>;
}

/** Starts serving the catalog. Resolves when it listens. */
export async function startApiServer(options: ApiServerOptions): Promise<ApiServer> {
  const chain = new RequestChain(options);
  const { tls, host, port, goawayChance, maxConcurrentStreams, random, clock, logger } = options;
  const httpOptions: HttpServerOptions = {
    handle: (exchange) => chain.serve(exchange),
    upgrades: (request) => isConnectUrl(request.url ?? '/') || isWebSocketRequest(request),
    ...(tls === undefined ? {} : { tls }),
    ...(host === undefined ? {} : { host }),
    ...(port === undefined ? {} : { port }),
    ...(goawayChance === undefined ? {} : { goawayChance }),
    ...(maxConcurrentStreams === undefined ? {} : { maxConcurrentStreams }),
    ...(random === undefined ? {} : { random }),
    ...(clock === undefined ? {} : { clock }),
    ...(logger === undefined ? {} : { logger }),
  };
  const server: HttpServer = await startHttpServer(httpOptions);
  let closing: Promise<void> | undefined;
  return {
    url: server.url,
    port: server.port,
    close: () => {
      closing ??= chain.shutdown.run(server);
      return closing;
    },
  };
}

class RequestChain {
  readonly shutdown: GracefulShutdown;
  readonly #options: ApiServerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ports: HandlerPorts;
  readonly #limit: InflightLimit;
  readonly #paths: PathRouter;
  readonly #metrics: ServerMetrics;
  readonly #access: RequestAccess;
  readonly #audit: RequestAudit | undefined;

  constructor(options: ApiServerOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#logger = options.logger ?? silentLogger;
    this.#ports = handlerPorts(options, this.#clock);
    this.shutdown = new GracefulShutdown({
      ...options.shutdown,
      drainMs: options.drainMs ?? options.requestTimeoutMs ?? defaults.requestTimeoutMs,
      watches: this.#ports.watches,
      tunnels: this.#ports.tunnels,
      yamlBodies: this.#ports.yamlBodies,
      clock: this.#clock,
    });
    this.#limit = new InflightLimit({
      maxRequestsInflight: options.maxRequestsInflight ?? defaults.maxRequestsInflight,
      maxMutatingRequestsInflight: options.maxMutatingRequestsInflight ?? defaults.maxMutatingRequestsInflight,
      maxWaitMs: Math.min((options.requestTimeoutMs ?? defaults.requestTimeoutMs) / 4, maxWaitMs),
      clock: this.#clock,
    });
    this.#metrics = new ServerMetrics({
      catalog: options.catalog,
      limit: this.#limit,
      watches: this.#ports.watches,
      clock: this.#clock,
      others: options.metrics ?? [],
    });
    this.#access = new RequestAccess({
      authentication: options.authentication,
      authorizer: options.authorizer,
      metrics: this.#metrics.access,
      clock: this.#clock,
      logger: this.#logger,
    });
    this.#audit = options.audit && new RequestAudit(options.audit, this.#clock);
    this.#paths = new PathRouter({
      catalog: options.catalog,
      healthChecks: [...(options.healthChecks ?? []), this.shutdown.healthCheck],
      livezGraceMs: options.livezGraceMs ?? 0,
      metrics: this.#metrics,
      pages: options.pages ?? [],
      clock: this.#clock,
    });
  }

  /** Answers every request; never rejects. */
  async serve(exchange: Exchange): Promise<void> {
    try {
      exchange.auditId = auditId(exchange.header('audit-id'));
      exchange.setHeader('Audit-Id', exchange.auditId);
      if (this.shutdown.refuses(exchange)) return;
      exchange.setHeader('Cache-Control', 'no-cache, private');
      const { onRequest } = this.#options;
      if (onRequest !== undefined) await onRequest(exchange);
      await this.#serve(exchange);
    } catch (error) {
      this.#answerError(exchange, error);
    } finally {
      endAudit(exchange);
    }
  }

  async #serve(exchange: Exchange): Promise<void> {
    const info = readRequestInfo(exchange);
    if (info === undefined) return;
    const leave = this.shutdown.enter(info);
    try {
      const startMs = this.#clock.monotonicNow();
      exchange.onClose(() => this.#metrics.observe(exchange, info, this.#clock.monotonicNow() - startMs));
      if (!isLongRunning(info)) this.#limitTime(exchange, info);
      await this.#serveInTime(exchange, info);
    } finally {
      leave();
    }
  }

  async #serveInTime(exchange: Exchange, info: RequestInfo): Promise<void> {
    const startMs = this.#clock.monotonicNow();
    const requester = await this.#access.authenticate(exchange);
    const authenticatedMs = this.#clock.monotonicNow();
    // For whoever answers, also for who refuses. A resource adds its own.
    if (exchange.earlyWarnings.length > 0) exchange.setHeader('Warning', earlyWarnings(exchange).headers());
    if (this.#audit !== undefined && !(await this.#audit.begin(exchange, info, requester))) {
      return sendInternalError(exchange, 'failed to store audit event');
    }
    if (exchange.signal.aborted) return;
    exchange.audit?.spend('authentication', authenticatedMs - startMs);
    if (requester === undefined) throw newUnauthorized();
    const acting = this.#access.actAs(exchange, info, requester);
    const user = acting instanceof Promise ? await acting : acting;
    // Answered meanwhile, or nobody is there any more.
    if (exchange.signal.aborted) return;
    const askedMs = this.#clock.monotonicNow();
    const place = this.#limit.enter(info, user, exchange.signal);
    const leave = place instanceof Promise ? await place : place;
    exchange.audit?.spend('apf-queue-wait', this.#clock.monotonicNow() - askedMs);
    if (leave === undefined) {
      if (exchange.signal.aborted) return;
      exchange.setHeader('Retry-After', '1');
      return sendText(exchange, 429, 'Too many requests, please try again later.\n');
    }
    try {
      const isAllowed = await this.#access.authorize(exchange, info, user);
      if (isAllowed && !exchange.signal.aborted) await this.#dispatch(exchange, info, user);
    } finally {
      leave();
    }
  }

  async #dispatch(exchange: Exchange, info: RequestInfo, user: UserInfo): Promise<void> {
    if (info.type === 'path') return this.#paths.serve(exchange);
    // "//api/…" is read as a resource by authorisation, but no path begins so.
    const isRooted = /^\/apis?\//.test(exchange.path);
    const route = isRooted ? routeResource(this.#options.catalog, info, exchange.method) : 'unknown';
    if (route === 'unknown') return sendPageNotFound(exchange);
    const warnings = earlyWarnings(exchange);
    const { served, subresource, name } = route;
    const requireVerb: ResourceCall['requireVerb'] = (verb, describe) =>
      this.#access.requireVerb({ info, user }, verb, describe);
    const call = { exchange, info, name, served, subresource, user, warnings, ports: this.#ports, requireVerb };
    const deprecation = deprecationWarning(served.definition);
    if (deprecation !== undefined) {
      warnings.add(deprecation);
      exchange.audit?.annotate('k8s.io/deprecated', 'true');
    }
    exchange.beforeHead(() => {
      const headers = warnings.headers();
      if (headers.length > 0) exchange.setHeader('Warning', headers);
    });
    await route.handler(call);
  }

  /**
   * A request that takes too long, from its arrival on, is answered with 504, and whoever works for it is told to stop. An
   * answer that has begun is cut off, also when only its reader is slow. Source: filters/timeout.go, request_deadline.go.
   */
  #limitTime(exchange: Exchange, info: RequestInfo): void {
    const maxMs = this.#options.requestTimeoutMs ?? defaults.requestTimeoutMs;
    const timeoutMs = this.#timeoutMs(exchange, info, maxMs);
    const cancel = this.#clock.setBackgroundTimer(() => {
      const message = 'request did not complete within requested timeout - context deadline exceeded';
      const late = newTimeout(message, 0);
      exchange.cancel(late);
      if (exchange.hasAnswered) exchange.abort();
      else sendError(exchange, late);
    }, timeoutMs);
    exchange.onClose(cancel);
  }

  /** Throws 400, which is recorded: nobody is known yet. Source: filters/request_deadline.go (withFailedRequestAudit). */
  #timeoutMs(exchange: Exchange, info: RequestInfo, maxMs: number): number {
    try {
      return requestTimeoutMs(info, exchange.query, maxMs);
    } catch (error) {
      void this.#audit?.begin(exchange, info, undefined);
      throw error;
    }
  }

  /** What is thrown is the answer; in the middle of one it can only be cut off. */
  #answerError(exchange: Exchange, error: unknown): void {
    const isEarly = exchange.hasAnswered || exchange.signal.aborted;
    if (isEarly) this.#logger.debug('request ended early', { path: exchange.path, error: textOf(error) });
    else if (!isStatusError(error)) {
      const shown = error instanceof Error ? error.stack : error;
      this.#logger.error('request failed', { path: exchange.path, error: shown });
    }
    if (isPanic(error)) exchange.audit?.panic(error);
    if (isEarly) exchange.abortUnfinished();
    else sendError(exchange, error);
  }
}

function handlerPorts(options: ApiServerOptions, clock: Clock): HandlerPorts {
  return {
    clock,
    random: options.random ?? Math.random,
    maxBodyBytes: options.maxBodyBytes ?? defaults.maxBodyBytes,
    allowsUnsafeDeletion: options.allowsUnsafeDeletion === true,
    minWatchMs: options.minWatchMs ?? defaults.minWatchMs,
    maxWatchBufferBytes: options.maxWatchBufferBytes ?? defaults.maxWatchBufferBytes,
    patching: options.patching,
    flusher: new TurnFlusher(),
    turns: new RequestTurns(clock),
    yamlBodies: new YamlBodies(clock),
    watches: new WatchRegistry(),
    tunnels: new TunnelRegistry(),
    transport: new TunnelTransport({
      ...options.kubelet,
      clock,
      ...(options.dial !== undefined && { dial: options.dial }),
    }),
    tunnelIdleMs: options.tunnelIdleMs ?? defaults.tunnelIdleMs,
  };
}

/** Undefined: it cannot be told what is asked for, which is answered. Source: filters/requestinfo.go. */
function readRequestInfo(exchange: Exchange): RequestInfo | undefined {
  try {
    return parseRequestInfo(exchange);
  } catch (error) {
    sendInternalError(exchange, `failed to create RequestInfo: ${textOf(error)}`);
    return undefined;
  }
}

function earlyWarnings(exchange: Exchange): WarningRecorder {
  const warnings = new WarningRecorder();
  for (const text of exchange.earlyWarnings) warnings.add(text);
  return warnings;
}

/** What nobody throws on purpose. */
function isPanic(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

/** A client's own id is kept as it is. Source: filters/audit_init.go. */
function auditId(sent: string | undefined): string {
  return sent === undefined || sent === '' ? randomUUID() : sent;
}

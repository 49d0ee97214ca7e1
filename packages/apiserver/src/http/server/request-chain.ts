// RequestChain runs every request through the filters (identity, impersonation, limits, permission, time) to its handler. Made by
// api-server.ts. Source: apiserver server/config.go (DefaultBuildHandlerChain), which has the same order.
import { randomUUID } from 'node:crypto';
import { type Clock, isStatusError, type Logger, silentLogger, systemClock } from '@kapstan/api';
import { timeout, unauthorized } from '@kapstan/api/errors';
import { formatGroupResource, messageOf, TurnShare } from '@kapstan/api/internal';
import type { ApiRegistrations } from '../../aggregation/api-registrations.ts';
import type { CertificateAuthorities } from '../../authn/client-certificate.ts';
import { RequestHeaderNames } from '../../authn/request-header-names.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import { type ProxyPorts, serveRemote } from '../aggregation/proxy-handler.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { Page } from '../exchange/page.ts';
import { isLongRunning, parseRequestInfo, type RequestInfo } from '../exchange/request-info.ts';
import { sendError, sendPageNotFound, sendText } from '../exchange/status-response.ts';
import { TurnFlusher } from '../exchange/turn-flusher.ts';
import { WarningRecorder } from '../exchange/warning-recorder.ts';
import { PathRouter } from '../paths/path-router.ts';
import { ServerMetrics } from '../paths/server-metrics.ts';
import { flowControlPages } from '../request/flow-control-pages.ts';
import { InflightLimit } from '../request/inflight-limit.ts';
import { PriorityAndFairness } from '../request/priority-and-fairness.ts';
import { RequestAccess, sendInternalError } from '../request/request-access.ts';
import { endAudit, RequestAudit } from '../request/request-audit.ts';
import { requestTimeoutMs } from '../request/request-deadline.ts';
import type { RequestLimit, RequestPlace } from '../request/request-limit.ts';
import {
  beginTrace,
  enterFilter,
  type FilterName,
  type TracedExchange,
  traceResource,
} from '../request/request-trace.ts';
import { YamlBodies } from '../request/yaml-bodies.ts';
import type { HandlerPorts, ResourceCall, ResourceHandler } from '../resource/resource-call.ts';
import { routeResource } from '../resource/resource-router.ts';
import type { Route } from '../resource/route.ts';
import { TunnelRegistry } from '../tunnel/tunnel-registry.ts';
import { type KubeletCertificates, TunnelTransport } from '../tunnel/tunnel-transport.ts';
import { InitialSlices } from '../watch/initial-slices.ts';
import { WatchBudget } from '../watch/watch-budget.ts';
import { WatchRegistry } from '../watch/watch-registry.ts';
import { type ApiServerOptions, apiServerDefaults as defaults } from './api-server-options.ts';
import { GracefulShutdown } from './graceful-shutdown.ts';

const writeVerbs: ReadonlySet<string> = new Set(['create', 'update', 'patch']);

/**
 * Time per turn, in milliseconds, for beginning requests and for reading and admitting their bodies. Without it, a
 * thousand requests that arrive at once, or sixty with long bodies, would fill one turn.
 */
const requestsMs = 20;

/** A request that may run. */
interface AdmittedRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly place: RequestPlace;
}

export class RequestChain {
  readonly shutdown: GracefulShutdown;
  readonly #options: ApiServerOptions;
  readonly #clock: Clock;
  readonly #logger: Logger;
  readonly #ports: HandlerPorts;
  readonly #limit: RequestLimit;
  readonly #paths: PathRouter;
  readonly #metrics: ServerMetrics;
  readonly #access: RequestAccess;
  readonly #audit: RequestAudit | undefined;
  #identityHeaders: RequestHeaderNames | undefined;

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
      initialSlices: this.#ports.initialSlices,
      clock: this.#clock,
    });
    this.#limit = limitOf(options, this.#clock);
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
      clientAuthorities: options.tls?.clientCa,
      metrics: this.#metrics.access,
      clock: this.#clock,
      logger: this.#logger,
    });
    this.#audit = options.audit && new RequestAudit(options.audit, this.#clock);
    this.#paths = new PathRouter({
      catalog: options.catalog,
      registrations: options.aggregation,
      healthChecks: [...(options.healthChecks ?? []), this.shutdown.healthCheck],
      livezGraceMs: options.livezGraceMs ?? 0,
      metrics: this.#metrics,
      pages: [...(options.pages ?? []), ...flowPages(options, this.#clock)],
      flags: options.flags,
      hasStatusz: options.hasStatusz ?? true,
      random: options.random ?? Math.random,
      clock: this.#clock,
    });
  }

  get watches(): WatchRegistry {
    return this.#ports.watches;
  }

  /** Reads new certificate authorities; the returned function puts them to use. Throws when they are invalid. */
  authorities(next: CertificateAuthorities): () => void {
    return this.#access.authorities(next);
  }

  useKubeletCertificates(certificates: KubeletCertificates): void {
    this.#ports.transport.useCertificates(certificates);
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
    const info = readRequestInfo(exchange, this.#options.catalog.longSubresources);
    if (info === undefined) return;
    const leave = this.shutdown.enter(info);
    try {
      const startMs = this.#clock.monotonicNow();
      this.#options.requestLog?.begin(exchange, info);
      exchange.onClose(() => this.#metrics.observe(exchange, info, this.#clock.monotonicNow() - startMs));
      if (!isLongRunning(info)) this.#limitTime(exchange, info);
      if (!this.#ports.turns.hasTime()) await this.#ports.turns.room();
      if (!exchange.signal.aborted) await this.#serveInTime(exchange, info, startMs);
    } finally {
      leave();
    }
  }

  async #serveInTime(exchange: Exchange, info: RequestInfo, arrivedMs: number): Promise<void> {
    const startMs = this.#clock.monotonicNow();
    exchange.steps?.enter('authentication');
    const requester = await this.#access.authenticate(exchange);
    const authenticatedMs = this.#clock.monotonicNow();
    // Refusals carry these warnings too. A resource adds its own.
    if (exchange.earlyWarnings.length > 0) exchange.setHeader('Warning', earlyWarnings(exchange).headers());
    this.#trace({ exchange, info, user: requester, arrivedMs });
    this.#enterFilter(exchange, 'audit');
    if (this.#audit !== undefined && !(await this.#audit.begin(exchange, info, { user: requester, arrivedMs }))) {
      return sendInternalError(exchange, 'failed to store audit event');
    }
    if (exchange.signal.aborted) return;
    exchange.audit?.spend('authentication', authenticatedMs - startMs);
    if (requester === undefined) throw unauthorized();
    const reading = this.#access.readSelector(info);
    if (reading !== undefined) await reading;
    this.#enterFilter(exchange, 'constrainedimpersonation');
    const acting = this.#access.actAs(exchange, info, requester);
    const user = acting instanceof Promise ? await acting : acting;
    // The request was answered meanwhile, or its client has gone.
    if (exchange.signal.aborted) return;
    const askedMs = this.#clock.monotonicNow();
    exchange.steps?.enter('waiting for a seat', user.name);
    this.#enterFilter(exchange, 'priorityandfairness');
    const entered = this.#limit.enter({ exchange, info, user, nowMs: askedMs });
    const place = entered instanceof Promise ? await entered : entered;
    exchange.audit?.spend('apf-queue-wait', this.#clock.monotonicNow() - askedMs);
    // A client may also go while its request has a seat and waits for its turn.
    if (exchange.signal.aborted) return place?.end();
    if (place === undefined) return sendText(exchange, 429, 'Too many requests, please try again later.\n');
    try {
      exchange.steps?.enter('authorization');
      this.#enterFilter(exchange, 'authorization');
      const isAllowed = await this.#access.authorize(exchange, info, user);
      if (isAllowed && !exchange.signal.aborted) await this.#dispatch({ exchange, info, user, place });
    } finally {
      place.end();
    }
  }

  /** Begins the trace of a request whose user is known, if requests are traced. */
  #trace({ user, ...request }: Omit<TracedExchange, 'user'> & { readonly user: UserInfo | undefined }): void {
    const { tracer } = this.#options;
    if (tracer !== undefined && user !== undefined) beginTrace(tracer, { ...request, user });
  }

  /** Does nothing for a request that is not traced. */
  #enterFilter(exchange: Exchange, name: FilterName): void {
    if (exchange.span === undefined) return;
    if (name !== 'priorityandfairness' || this.#options.flowControl !== undefined) enterFilter(exchange, name);
  }

  async #dispatch({ exchange, info, user, place }: AdmittedRequest): Promise<void> {
    exchange.steps?.enter('handler');
    const { aggregation } = this.#options;
    const server = aggregation?.at(exchange.path) ?? aggregation?.schemasAt(exchange.path);
    if (aggregation !== undefined && server !== undefined) {
      // The code that serves the watch counts it; it is no longer starting.
      if (info.verb === 'watch') place.leave();
      return serveRemote({ exchange, info, user, server }, this.#proxyPorts(aggregation));
    }
    if (info.type === 'path') return this.#paths.serve(exchange);
    // Authorisation reads "//api/…" and "/apis//…" as resources, although no path of the API begins so.
    const isRooted = /^\/(?:api\/|apis\/(?!\/))/.test(exchange.path);
    const route = isRooted ? routeResource(this.#options.catalog, info, exchange.method) : 'unknown';
    if (route === 'unknown') return sendPageNotFound(exchange);
    const warnings = earlyWarnings(exchange);
    const { served, subresource, name } = route;
    const requireVerb: ResourceCall['requireVerb'] = (verb, describe) =>
      this.#access.requireVerb({ info, user }, verb, describe);
    const call = { exchange, info, name, served, subresource, user, place, warnings, ports: this.#ports, requireVerb };
    const deprecation = served.definition.deprecationWarning;
    if (deprecation !== undefined) {
      warnings.add(deprecation);
      exchange.audit?.annotate('k8s.io/deprecated', 'true');
    }
    this.#warnOfWrite(route, info, warnings);
    exchange.beforeHead(() => {
      const headers = warnings.headers();
      if (headers.length > 0) exchange.setHeader('Warning', headers);
    });
    const { span } = exchange;
    if (span === undefined) await route.handler(call);
    else await traceResource({ exchange, info, span }, () => this.#answer(call, route.handler));
  }

  /** Runs a handler and answers its error within its span. */
  async #answer(call: ResourceCall, handler: ResourceHandler): Promise<void> {
    try {
      await handler(call);
    } catch (error) {
      this.#answerError(call.exchange, error);
    }
  }

  #proxyPorts(registrations: ApiRegistrations): ProxyPorts {
    const { tunnels, tunnelIdleMs } = this.#ports;
    const { requestHeader } = this.#options.authentication;
    this.#identityHeaders ??= new RequestHeaderNames(requestHeader);
    const ports = { registrations, tunnels, tunnelIdleMs, identityHeaders: this.#identityHeaders };
    return { ...ports, clock: this.#clock, logger: this.#logger };
  }

  /** Warns that the server may not act on the written object. */
  #warnOfWrite({ served, subresource }: Route, { verb }: RequestInfo, warnings: WarningRecorder): void {
    const { writeWarnings } = this.#options;
    if (writeWarnings === undefined || subresource !== undefined || !writeVerbs.has(verb)) return;
    const text = writeWarnings.get(formatGroupResource(served.definition));
    if (text !== undefined) warnings.add(text);
  }

  /**
   * Answers a request that takes too long since its arrival with 504 and cancels the work for it. An answer that has
   * begun is cut off, even if only its reader is slow. Source: filters/timeout.go, request_deadline.go.
   */
  #limitTime(exchange: Exchange, info: RequestInfo): void {
    const maxMs = this.#options.requestTimeoutMs ?? defaults.requestTimeoutMs;
    const timeoutMs = this.#timeoutMs(exchange, info, maxMs);
    const cancel = this.#clock.setBackgroundTimer(() => {
      const message = 'request did not complete within requested timeout - context deadline exceeded';
      const late = timeout(message, 0);
      exchange.cancel(late);
      if (exchange.hasAnswered) exchange.abort();
      else sendError(exchange, late);
    }, timeoutMs);
    exchange.onClose(cancel);
  }

  /**
   * Returns the timeout of a request. Throws 400, which is recorded here because the user is not known yet. Source:
   * filters/request_deadline.go (withFailedRequestAudit).
   */
  #timeoutMs(exchange: Exchange, info: RequestInfo, maxMs: number): number {
    try {
      return requestTimeoutMs(info, exchange.query, maxMs);
    } catch (error) {
      void this.#audit?.begin(exchange, info, { user: undefined, arrivedMs: this.#clock.monotonicNow() });
      throw error;
    }
  }

  /** Answers with the error; an answer that has begun can only be cut off. */
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

function limitOf({ flowControl: control, ...options }: ApiServerOptions, clock: Clock): RequestLimit {
  if (control === undefined) {
    return new InflightLimit({
      maxRequestsInflight: options.maxRequestsInflight ?? defaults.maxRequestsInflight,
      maxMutatingRequestsInflight: options.maxMutatingRequestsInflight ?? defaults.maxMutatingRequestsInflight,
    });
  }
  const timeoutMs = options.requestTimeoutMs ?? defaults.requestTimeoutMs;
  return new PriorityAndFairness({ control, requestTimeoutMs: timeoutMs, clock });
}

function flowPages({ flowControl }: ApiServerOptions, clock: Clock): readonly Page[] {
  return flowControl === undefined ? [] : flowControlPages(flowControl, clock);
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
    turns: new TurnShare(clock, requestsMs),
    yamlBodies: new YamlBodies(systemClock),
    watches: new WatchRegistry(),
    watchBudget: new WatchBudget({
      userBytes: options.maxUserWatchBufferBytes ?? defaults.maxUserWatchBufferBytes,
      serverBytes: options.maxServerWatchBufferBytes ?? defaults.maxServerWatchBufferBytes,
    }),
    initialSlices: new InitialSlices(clock),
    tunnels: new TunnelRegistry(),
    transport: new TunnelTransport({
      ...options.kubelet,
      clock,
      dial: options.dial,
    }),
    tunnelIdleMs: options.tunnelIdleMs ?? defaults.tunnelIdleMs,
  };
}

/**
 * Reads the request info. Returns undefined after answering a request whose path cannot be read. Source:
 * filters/requestinfo.go.
 */
function readRequestInfo(exchange: Exchange, longSubresources: ReadonlySet<string>): RequestInfo | undefined {
  try {
    return parseRequestInfo(exchange, longSubresources);
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

/** True for errors that no code throws on purpose. */
function isPanic(error: unknown): error is Error {
  return error instanceof TypeError || error instanceof RangeError || error instanceof ReferenceError;
}

function textOf(error: unknown): string {
  return messageOf(error);
}

/** Keeps an id that the client has sent. Source: filters/audit_init.go. */
function auditId(sent: string | undefined): string {
  return sent === undefined || sent === '' ? randomUUID() : sent;
}

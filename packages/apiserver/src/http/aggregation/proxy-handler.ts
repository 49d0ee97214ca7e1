// Passes a request on to the API server that serves its group version, and the answer back. Authentication,
// authorization, limits, audit and time are the request chain's, before this. Called by request-chain.ts. Source:
// kube-aggregator handler_proxy.go, apiserver util/proxy (NewRequestForProxy), apimachinery util/proxy.
import type { ClientRequest, IncomingMessage } from 'node:http';
import { posix } from 'node:path';
import { pipeline } from 'node:stream';
import type { Clock, Logger } from '@kapstan/api';
import { abortSignalOf, messageOf } from '@kapstan/api/internal';
import type { ApiRegistrations } from '../../aggregation/api-registrations.ts';
import { identityHeaders } from '../../aggregation/identity-headers.ts';
import { type RemoteServer, TooManyRemoteRequests, UnusableRegistration } from '../../aggregation/remote-server.ts';
import type { RequestHeaderNames } from '../../authn/request-header-names.ts';
import type { ServiceAddress } from '../../peer/service-address.ts';
import { escapePath, formatHostPort, formatQuery } from '../../registry/definition/destination.ts';
import type { UserInfo } from '../../registry/definition/request-context.ts';
import type { Span, SpanAttributes } from '../../tracing/span.ts';
import type { Exchange } from '../exchange/exchange.ts';
import { type RequestInfo, trimSlashes } from '../exchange/request-info.ts';
import { sendText } from '../exchange/status-response.ts';
import { passAnswer } from '../tunnel/pass-answer.ts';
import { answerHeaders, type HeaderList, requestHeaders } from '../tunnel/tunnel-headers.ts';
import { linkMender } from '../tunnel/tunnel-links.ts';
import type { TunnelRegistry } from '../tunnel/tunnel-registry.ts';
import { tunnelUpgrade } from '../tunnel/tunnel-upgrade.ts';

export interface ProxyPorts {
  readonly registrations: ApiRegistrations;
  readonly tunnels: TunnelRegistry;
  readonly tunnelIdleMs: number;
  /** Names of headers that carry identities, which clients must not set. */
  readonly identityHeaders: RequestHeaderNames;
  readonly clock: Clock;
  readonly logger: Logger;
}

export interface ProxiedRequest {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  readonly server: RemoteServer;
}

/** Discovery of one group version should be fast; clients ask all of them one after the other. */
const discoveryTimeoutMs = 5000;
const redirectText = 'the backend attempted to redirect this request, which is not permitted';

/** Answers the request in any case, unless its client has gone. */
export async function serveRemote(request: ProxiedRequest, ports: ProxyPorts): Promise<void> {
  const { exchange, server } = request;
  if (!server.isAvailable) return sendText(exchange, 503, 'service unavailable\n');
  const address = await addressOf(request, ports);
  if (address === undefined) return;
  try {
    server.requireUsable();
    if (exchange.isUpgrade) await upgrade(request, address, ports);
    else await forward(request, address, ports);
  } catch (error) {
    // No error can be sent to a client that got part of an answer, or that has gone.
    if (exchange.hasAnswered || exchange.signal.aborted) throw error;
    answerFailure(exchange, error);
  }
}

async function addressOf(
  { exchange, server }: ProxiedRequest,
  { logger }: ProxyPorts,
): Promise<ServiceAddress | undefined> {
  try {
    return await server.resolve();
  } catch (error) {
    const { namespace, name } = server.remote.service;
    logger.error('could not find an address of the service of an API server', {
      service: `${namespace}/${name}`,
      error: textOf(error),
    });
    sendText(exchange, 503, 'service unavailable\n');
    return undefined;
  }
}

function answerFailure(exchange: Exchange, error: unknown): void {
  if (error instanceof TooManyRemoteRequests) {
    exchange.setHeader('Retry-After', '1');
    return sendText(exchange, 429, 'Too many requests, please try again later.\n');
  }
  sendText(exchange, error instanceof UnusableRegistration ? 500 : 503, `${textOf(error)}\n`);
}

async function forward(request: ProxiedRequest, address: ServiceAddress, ports: ProxyPorts): Promise<void> {
  const { exchange } = request;
  const leave = ports.tunnels.add(() => exchange.abort());
  exchange.onClose(leave);
  const answer = await ask(request, address, ports);
  const code = answer.statusCode ?? 0;
  const isRedirect = code >= 300 && code <= 399 && (answer.headers.location ?? '') !== '';
  if (isRedirect && ports.registrations.rejectsRedirects) {
    answer.destroy();
    exchange.setHeader('Content-Type', 'text/plain; charset=utf-8');
    return exchange.send(502, Buffer.from(redirectText));
  }
  const mend = linkMender({
    prefix: '',
    hosts: [exchange.header('host') ?? '', formatHostPort(address.host, address.port)],
  });
  for (const [name, value] of answerHeaders(answer.rawHeaders)) {
    const key = name.toLowerCase();
    // The client knows the request by one id, which both servers log.
    if (key === 'audit-id') continue;
    exchange.addHeader(name, [key === 'location' ? mend(value) : value]);
  }
  await passAnswer(exchange, answer);
}

/** Sends the client's headers and body to the server. */
async function ask(request: ProxiedRequest, address: ServiceAddress, ports: ProxyPorts): Promise<IncomingMessage> {
  const { exchange, info, server } = request;
  const client = abortSignalOf(exchange.signal);
  const signal = isDiscovery(info) ? limited(exchange, client, ports.clock) : client;
  const target = targetOf(exchange);
  const passed = requestHeaders({
    rawHeaders: exchange.rawHeaders,
    client: exchange.socket?.remoteAddress,
    scope: 'request',
  });
  const send = (sent: ClientRequest): void => {
    if (!sent.hasHeader('content-length')) sent.setHeader('Transfer-Encoding', 'chunked');
    // An error on either side ends the other. If the answer has begun by then, it reports the error, so nothing is done
    // here.
    pipeline(exchange.body, sent, () => undefined);
  };
  const span = exchange.span?.startPart(`HTTP ${exchange.method}`, spanAttributes(exchange, address), 'client');
  try {
    const own = [...ownHeaders(request, passed, ports), ...forwardedHeaders(target.path, address)];
    const headers = span === undefined ? own : traced(own, span);
    const answer = await server.ask(address, {
      method: exchange.method,
      target: target.query === '' ? target.path : `${target.path}?${target.query}`,
      headers,
      send: exchange.hasBody ? send : undefined,
      signal,
    });
    if (span !== undefined) endWith(span, answer);
    return answer;
  } catch (error) {
    span?.fail();
    span?.end();
    if (client.aborted || error instanceof TooManyRemoteRequests || error instanceof UnusableRegistration) throw error;
    throw new Error(`error trying to reach service: ${textOf(error)}`, { cause: error });
  }
}

/** Source: otelhttp (Transport), which kube-aggregator wraps around requests. */
function spanAttributes(exchange: Exchange, { host, port }: ServiceAddress): SpanAttributes {
  const { method, path } = exchange;
  return { 'http.request.method': method, 'url.path': path, 'server.address': host, 'server.port': port };
}

/** Replaces the client's traceparent header with one that names this span. */
function traced(headers: HeaderList, span: Span): HeaderList {
  return [...headers.filter(([name]) => name.toLowerCase() !== 'traceparent'), ['Traceparent', span.traceParent]];
}

function endWith(span: Span, answer: IncomingMessage): void {
  const { statusCode = 0 } = answer;
  span.addAttributes({ 'http.response.status_code': statusCode });
  if (statusCode >= 400) span.fail();
  answer.once('close', () => span.end());
}

/** Returns the path and query as parsed here, so that the other server acts on exactly what was authorized. */
function targetOf({ path, query }: Exchange): { readonly path: string; readonly query: string } {
  return { path: escapePath(path), query: formatQuery([...query]) };
}

/** Replaces all identity headers with this server's own knowledge of the user. */
function ownHeaders({ exchange, user }: ProxiedRequest, passed: HeaderList, ports: ProxyPorts): HeaderList {
  const { identityHeaders: names } = ports;
  const kept = passed.filter(([name]) => {
    const key = name.toLowerCase();
    return key !== 'host' && key !== 'audit-id' && !key.startsWith('x-forwarded-') && !names.has(key);
  });
  const ways = passed.filter(([name]) => name.toLowerCase() === 'x-forwarded-for');
  return [...kept, ...ways, ['Audit-Id', exchange.auditId], ...identityHeaders(user)];
}

function forwardedHeaders(path: string, { host, port }: ServiceAddress): HeaderList {
  return [
    ['X-Forwarded-Uri', posix.normalize(path)],
    ['X-Forwarded-Host', formatHostPort(host, port)],
    ['X-Forwarded-Proto', 'https'],
  ];
}

function isDiscovery(info: RequestInfo): boolean {
  return info.type === 'path' && trimSlashes(info.path).split('/').length === 3;
}

/** Ends the request to the other server, and its answer, when it takes too long. */
function limited(exchange: Exchange, client: AbortSignal, clock: Clock): AbortSignal {
  const stop = new AbortController();
  const cancel = clock.setBackgroundTimer(() => stop.abort(new Error('context deadline exceeded')), discoveryTimeoutMs);
  exchange.onClose(cancel);
  return AbortSignal.any([client, stop.signal]);
}

async function upgrade(request: ProxiedRequest, address: ServiceAddress, ports: ProxyPorts): Promise<void> {
  const { exchange, server } = request;
  const { path, query } = exchange;
  const target = { ...address, path, query: formatQuery([...query]) };
  await tunnelUpgrade(exchange, target, {
    ...{ clock: ports.clock, tunnels: ports.tunnels, tunnelIdleMs: ports.tunnelIdleMs },
    transport: { connect: (to, signal) => server.connect(to, signal) },
    headers: (passed) => [['Host', formatHostPort(address.host, address.port)], ...ownHeaders(request, passed, ports)],
  });
}

function textOf(error: unknown): string {
  return messageOf(error);
}

// The spans of a request: one for the exchange over HTTP, and within it one for the work on a resource. Called by server/request-chain.ts
// if requests are traced. Source: apiserver endpoints/filters/traces.go, handlers/trace_util.go, and otelhttp, from which the names come.
import type { UserInfo } from '../../registry/definition/request-context.ts';
import { namespacesSegment } from '../../registry/meta/names.ts';
import type { RequestTracer } from '../../tracing/request-tracer.ts';
import type { Span, SpanAttributes, SpanValue } from '../../tracing/span.ts';
import { encodingAttributes, protocolOf } from '../exchange/encoding-trace.ts';
import type { Exchange } from '../exchange/exchange.ts';
import type { RequestInfo, ResourceRequest } from '../exchange/request-info.ts';
import { scopeOf, verbOf } from '../exchange/request-labels.ts';

export interface TracedExchange {
  readonly exchange: Exchange;
  readonly info: RequestInfo;
  readonly user: UserInfo;
  /** When the request arrived, on the monotonic clock. */
  readonly arrivedMs: number;
}

/** Steps on the way of a request to its handler. */
export type FilterName = 'audit' | 'constrainedimpersonation' | 'priorityandfairness' | 'authorization';

/** Spans of the filters of traced requests, the outermost first. */
const filters = new WeakMap<Exchange, Span[]>();

/** For members of these groups the header traceparent decides what is traced. */
const trustedGroups = new Set(['system:masters', 'system:monitoring']);
/** Longer user agents are cut in the spans of resources. */
const maxUserAgentLength = 1024;

/** Starts the span of the exchange, which ends with it. Does nothing for a request that is not traced. */
export function beginTrace(tracer: RequestTracer, { exchange, info, user, arrivedMs }: TracedExchange): void {
  const spans = tracer.start({
    name: nameOf(exchange, info),
    isTrusted: user.groups.some((group) => trustedGroups.has(group)),
    traceParent: exchange.header('traceparent'),
    traceState: exchange.header('tracestate'),
    arrivedMs,
    attributes: () => requestAttributes(exchange),
  });
  if (spans === undefined) return;
  const { request, authentication } = spans;
  exchange.span = request;
  const open: Span[] = [];
  filters.set(exchange, open);
  exchange.onClose(() => {
    for (const filter of open.reverse()) filter.end();
    request.addAttributes(answerAttributes(exchange));
    if (exchange.status >= 500) request.fail();
    request.end();
    authentication.end();
  });
}

/**
 * Begins the span of a filter, which contains all later steps and ends with the exchange. Call it for traced requests.
 * The names come from filterlatency.go and server/config.go.
 */
export function enterFilter(exchange: Exchange, name: FilterName): void {
  const open = filters.get(exchange);
  if (open === undefined || exchange.span === undefined) return;
  const part = exchange.span.startPart(name, {});
  open.push(part);
  exchange.span = part;
}

/** Runs the handler of a resource within its own span. */
export async function traceResource(
  { exchange, info, span }: { readonly exchange: Exchange; readonly info: ResourceRequest; readonly span: Span },
  handle: () => Promise<void> | void,
): Promise<void> {
  const name = spanNames.get(info.verb);
  if (name === undefined) return handle();
  const part = span.startPart(name, resourceAttributes(exchange, info));
  exchange.span = part;
  try {
    await handle();
  } finally {
    exchange.span = span;
    part.end();
  }
}

/** The spans of a watch until its initial events are sent, and of its stream. */
export interface WatchSpans {
  /** Records that the initial events of a streamed list are written. */
  initialEventsSent(): void;
  /** Begins the span of the stream, after the store has answered. */
  open(mediaType: string): void;
  end(): void;
}

/**
 * Starts the spans of a watch; later calls of the exchange get their spans within them. Undefined = the request is not
 * traced.
 */
export function traceWatch(exchange: Exchange, info: ResourceRequest, isList: boolean): WatchSpans | undefined {
  const { span } = exchange;
  if (span === undefined) return undefined;
  const list = isList ? span.startPart('WatchList', resourceAttributes(exchange, info)) : undefined;
  if (list !== undefined) exchange.span = list;
  let stream: Span | undefined;
  const end = (): void => {
    stream?.end();
    list?.end();
    exchange.span = span;
  };
  return {
    open: (mediaType) => {
      stream = (list ?? span).startPart('WatchServer.HandleHTTP', encodingAttributes(exchange, mediaType));
      stream.addEvent('About to start writing response');
    },
    initialEventsSent: () => {
      stream?.addEvent('Writing initial events done');
      end();
    },
    end,
  };
}

/** Watches and connections have no such span: see {@link traceWatch}. */
const spanNames: ReadonlyMap<string, string> = new Map([
  ['get', 'Get'],
  ['list', 'List'],
  ['create', 'Create'],
  ['update', 'Update'],
  ['patch', 'Patch'],
  ['delete', 'Delete'],
  ['deletecollection', 'Delete'],
]);

/** Source: getSpanNameFromRequestInfo. */
function nameOf({ method }: Exchange, info: RequestInfo): string {
  if (info.type === 'path') return method;
  const group = info.group === '' ? '/api' : `/apis/${info.group}`;
  const namespace = info.namespace === '' ? '' : `/${namespacesSegment}/{:namespace}`;
  const name = info.name === '' ? '' : '/{:name}';
  const subresource = info.subresource === '' ? '' : `/${info.subresource}`;
  return `${method} ${group}/${info.version}${namespace}/${info.resource}${name}${subresource}`;
}

function requestAttributes(exchange: Exchange): SpanAttributes {
  const { socket, path, auditId, method } = exchange;
  const { host, port } = hostOf(exchange);
  const peer = socket?.remoteAddress ?? '';
  const userAgent = exchange.header('user-agent') ?? '';
  return known({
    'server.address': host,
    'http.request.method': methods.has(method) ? method : '_OTHER',
    'url.scheme': socket?.encrypted === true ? 'https' : 'http',
    'server.port': port,
    'http.request.method_original': methods.has(method) ? undefined : method,
    'network.peer.address': peer || undefined,
    'network.peer.port': socket?.remotePort,
    'user_agent.original': userAgent || undefined,
    'client.address': clientOf(exchange),
    'url.path': path,
    'network.protocol.version': protocolOf(exchange).slice('HTTP/'.length).replace('2.0', '2'),
    'http.target': exchange.rawQuery === '' ? path : `${path}?${exchange.rawQuery}`,
    'audit-id': auditId,
  });
}

const methods = new Set(['CONNECT', 'DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'TRACE']);

function answerAttributes({ status, bodyBytes = 0, answerBytes }: Exchange): SpanAttributes {
  return known({
    'http.request.body.size': bodyBytes || undefined,
    'http.response.body.size': answerBytes || undefined,
    'http.response.status_code': status || undefined,
  });
}

/** Returns only the attributes that are known. */
function known(attributes: Readonly<Record<string, SpanValue | undefined>>): SpanAttributes {
  return Object.fromEntries(
    Object.entries(attributes).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])),
  );
}

/** Source: traceFields. */
function resourceAttributes(exchange: Exchange, info: ResourceRequest): SpanAttributes {
  return {
    accept: exchange.header('accept') ?? '',
    'audit-id': exchange.auditId,
    client: clientOf(exchange),
    'api-group': info.group,
    'api-version': info.version,
    name: info.name,
    subresource: info.subresource,
    namespace: info.namespace,
    protocol: protocolOf(exchange),
    resource: info.resource,
    scope: scopeOf(info),
    url: exchange.path,
    'user-agent': (exchange.header('user-agent') ?? '').slice(0, maxUserAgentLength),
    verb: verbOf(exchange, info),
  };
}

function clientOf(exchange: Exchange): string {
  const [first = ''] = (exchange.headerValues('x-forwarded-for')[0] ?? '').split(',');
  return first.trim() || exchange.socket?.remoteAddress || '';
}

/** A standard port is left out. */
function hostOf(exchange: Exchange): { readonly host: string; readonly port: number | undefined } {
  const text = exchange.header('host') ?? exchange.header(':authority') ?? '';
  const [, host = text, digits] = /^(.*?)(?::(\d+))?$/.exec(text) ?? [];
  const standard = exchange.socket?.encrypted === true ? 443 : 80;
  const port = digits === undefined || Number(digits) === standard ? undefined : Number(digits);
  return { host: host.replace(/^\[(.*)\]$/, '$1'), port };
}

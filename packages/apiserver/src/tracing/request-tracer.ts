// RequestTracer decides which requests are traced and starts their spans. request-chain.ts asks it. Source: apiserver
// endpoints/filters/traces.go, endpoints/filterlatency, component-base tracing, otel sdk sampling.go.
import { randomBytes } from 'node:crypto';
import { type Clock, systemClock } from '@kapstan/api';
import { parseTraceParent, type TraceContext } from '@kapstan/api/internal';
import { Span, type SpanAttributes, type SpanPorts, type SpanSink } from './span.ts';

/** Options of a {@link RequestTracer}. */
export interface RequestTracerOptions {
  readonly sink: SpanSink;
  /** Number of requests per million that are traced although the caller does not ask for it. Default 0. */
  readonly samplingRatePerMillion?: number | undefined;
  readonly clock?: Clock | undefined;
  /** Returns random bytes for ids. */
  readonly random?: ((bytes: number) => Buffer) | undefined;
}

/** The trace context that a request carries. */
export interface TracedRequest {
  readonly name: string;
  /** True when its user may decide what is traced. The traces of other users only become links. */
  readonly isTrusted: boolean;
  readonly traceParent: string | undefined;
  readonly traceState: string | undefined;
  /** When it arrived, on the monotonic clock. */
  readonly arrivedMs: number;
  /** Called only for requests that are traced. */
  readonly attributes: () => SpanAttributes;
}

/** The spans of a request that has begun. */
export interface RequestSpans {
  readonly request: Span;
  /**
   * The span of the request's authentication. If a trusted user's trace begins here, it contains the request and ends
   * after it, as in kube-apiserver; otherwise it is a part of the request and has ended already.
   */
  readonly authentication: Span;
}

const nowhere: SpanSink = { add: () => undefined };
const authentication = 'authentication';

/** Makes spans of requests, as configured by `--tracing-config-file`. */
export class RequestTracer {
  readonly #ports: SpanPorts;
  readonly #random: (bytes: number) => Buffer;
  /** A trace id below it is sampled. Source: traceIDRatioSampler. */
  readonly #bound: bigint;

  constructor({ sink, samplingRatePerMillion = 0, clock = systemClock, random = randomBytes }: RequestTracerOptions) {
    this.#random = random;
    this.#ports = { sink, clock, newSpanId: () => this.#newId(8) };
    this.#bound = (BigInt(samplingRatePerMillion) * (1n << 63n)) / 1_000_000n;
  }

  /**
   * Returns the spans of a request whose user is known, or undefined when it is not traced. The span of a caller who
   * traces nothing is given to nobody.
   */
  start(request: TracedRequest): RequestSpans | undefined {
    const remote = parseTraceParent(request.traceParent, request.traceState);
    const parent = request.isTrusted ? remote : undefined;
    const traceId = parent?.traceId ?? this.#newId(16);
    const isSampled = parent?.isSampled ?? this.#samples(traceId);
    // A caller that does not trace still wants its webhooks to get the trace context.
    if (!isSampled && parent === undefined) return undefined;
    const ports = isSampled ? this.#ports : { ...this.#ports, sink: nowhere };
    const context = { traceId, spanId: this.#newId(8), isSampled, traceState: parent?.traceState ?? '' };
    if (request.isTrusted && parent === undefined) return this.#startHeld(request, context, ports);
    const { name, arrivedMs: startedAtMs } = request;
    const links = parent === undefined && remote !== undefined ? [remote] : [];
    const parentSpanId = parent?.spanId ?? '';
    const attributes = request.attributes();
    const span = new Span({ context, parentSpanId, name, kind: 'server', attributes, links, startedAtMs }, ports);
    const known = span.startPartAt(authentication, { attributes: {}, kind: 'internal', startedAtMs });
    known.end();
    return { request: span, authentication: known };
  }

  /** Starts a trace whose first span is that of the authentication. */
  #startHeld({ name, arrivedMs, attributes }: TracedRequest, context: TraceContext, ports: SpanPorts): RequestSpans {
    const start = { context, parentSpanId: '', kind: 'internal', attributes: {}, links: [] } as const;
    const holder = new Span({ ...start, name: authentication, startedAtMs: arrivedMs }, ports);
    const request = holder.startPartAt(name, { attributes: attributes(), kind: 'server', startedAtMs: arrivedMs });
    return { request, authentication: holder };
  }

  #newId(bytes: number): string {
    return this.#random(bytes).toString('hex');
  }

  #samples(traceId: string): boolean {
    return this.#bound > 0n && BigInt(`0x${traceId.slice(16)}`) >> 1n < this.#bound;
  }
}

// RequestTracer decides which requests are traced and starts their spans; calls of the store become parts of them. Used by
// request-chain.ts. Source: apiserver endpoints/filters/traces.go, component-base tracing, otel sdk sampling.go.
import { randomBytes } from 'node:crypto';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import { type Clock, systemClock } from '@kapstan/api';
import { parseTraceParent } from '@kapstan/api/internal';
import { type StoreSpan, storeChannelName } from '@kapstan/storage';
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
  readonly auditId: string;
  readonly name: string;
  /** True when its user may decide what is traced. The traces of other users only become links. */
  readonly isTrusted: boolean;
  readonly traceParent: string | undefined;
  readonly traceState: string | undefined;
  /** Called only for traced requests. */
  readonly attributes: () => SpanAttributes;
}

/** The span of a running request, and the span that calls of the store are now parts of. */
export interface RunningSpans {
  readonly request: Span;
  readonly now: Span;
}

const nowhere: SpanSink = { add: () => undefined };

/** Makes spans of requests, by `--tracing-config-file`. */
export class RequestTracer {
  readonly #ports: SpanPorts;
  readonly #random: (bytes: number) => Buffer;
  /** A trace id below it is sampled. Source: traceIDRatioSampler. */
  readonly #bound: bigint;
  /**
   * Running requests by audit id, under which calls of the store name them. Clients choose the ids; of requests with the
   * same id, the first has the calls of the store.
   */
  readonly #running = new Map<string, RunningSpans>();
  readonly #onStoreSpan = (message: unknown): void => this.#addStoreSpan(message as StoreSpan);

  /** Listens to all stores of the process until {@link RequestTracer.close}. */
  constructor({ sink, samplingRatePerMillion = 0, clock = systemClock, random = randomBytes }: RequestTracerOptions) {
    this.#random = random;
    this.#ports = { sink, clock, newSpanId: () => this.#newId(8) };
    this.#bound = (BigInt(samplingRatePerMillion) * (1n << 63n)) / 1_000_000n;
    subscribe(storeChannelName, this.#onStoreSpan);
  }

  close(): void {
    unsubscribe(storeChannelName, this.#onStoreSpan);
  }

  /**
   * Returns the span of a request, or undefined when it is not traced. The span of a caller that does not trace is not
   * returned.
   */
  start(request: TracedRequest): Span | undefined {
    const remote = parseTraceParent(request.traceParent, request.traceState);
    const parent = request.isTrusted ? remote : undefined;
    const traceId = parent?.traceId ?? this.#newId(16);
    const isSampled = parent?.isSampled ?? this.#samples(traceId);
    // A caller that does not trace still wants its webhooks to get the trace context.
    if (!isSampled && parent === undefined) return undefined;
    const context = { traceId, spanId: this.#newId(8), isSampled, traceState: parent?.traceState ?? '' };
    const links = parent === undefined && remote !== undefined ? [remote] : [];
    const { name, auditId } = request;
    const attributes = request.attributes();
    const span = new Span(
      { context, parentSpanId: parent?.spanId ?? '', name, kind: 'server', attributes, links },
      isSampled ? this.#ports : { ...this.#ports, sink: nowhere },
    );
    if (isSampled && !this.#running.has(auditId)) this.#running.set(auditId, { request: span, now: span });
    return span;
  }

  /** Makes calls of the store parts of `spans.now` from now on. Does nothing once the request has been forgotten. */
  follow(auditId: string, spans: RunningSpans): void {
    if (this.#isRunning(auditId, spans.request)) this.#running.set(auditId, spans);
  }

  /** Forgets a request by the span that {@link start} returned. */
  forget(auditId: string, request: Span): void {
    if (this.#isRunning(auditId, request)) this.#running.delete(auditId);
  }

  #isRunning(auditId: string, request: Span): boolean {
    return this.#running.get(auditId)?.request === request;
  }

  #newId(bytes: number): string {
    return this.#random(bytes).toString('hex');
  }

  #samples(traceId: string): boolean {
    return this.#bound > 0n && BigInt(`0x${traceId.slice(16)}`) >> 1n < this.#bound;
  }

  #addStoreSpan({ name, attributes, startMs, durationMs, steps, error }: StoreSpan): void {
    const running = this.#running.get(String(attributes['audit-id']));
    running?.now.addPart({
      name,
      attributes: error === undefined ? attributes : { ...attributes, err: error },
      startMs,
      endMs: startMs + durationMs,
      events: steps.map((step) => ({
        name: step.name,
        atMs: startMs + step.atMs,
        attributes: step.len === undefined ? {} : { len: step.len },
      })),
      isError: error !== undefined,
    });
  }
}

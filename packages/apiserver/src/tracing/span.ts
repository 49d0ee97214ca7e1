// Span: a timed part of the work for a sampled request, with its own events and child spans. Made by request-tracer.ts;
// handlers and webhooks add to it. Source: go.opentelemetry.io/otel/trace.
import type { Clock } from '@kapstan/api';
import { formatTraceParent, type TraceContext } from '@kapstan/api/internal';

/** A value of a span's attribute. */
export type SpanValue = string | number | boolean;
export type SpanAttributes = Readonly<Record<string, SpanValue>>;
/** The side of a call that a span represents. */
export type SpanKind = 'server' | 'client' | 'internal';

/** Something that happened during a span. */
export interface SpanEvent {
  readonly name: string;
  /** Wall clock in milliseconds. */
  readonly atMs: number;
  readonly attributes: SpanAttributes;
}

/** A span that has ended. */
export interface FinishedSpan {
  readonly context: TraceContext;
  /** "" = the trace begins here. */
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: SpanKind;
  /** Wall clock in milliseconds. */
  readonly startMs: number;
  readonly endMs: number;
  readonly attributes: SpanAttributes;
  readonly events: readonly SpanEvent[];
  /** Spans of other traces that caused this one. */
  readonly links: readonly TraceContext[];
  readonly isError: boolean;
}

/** Receives the spans that have ended. Must not throw. */
export interface SpanSink {
  add(span: FinishedSpan): void;
}

export interface SpanPorts {
  readonly sink: SpanSink;
  readonly clock: Clock;
  /** Returns a new id of 16 hexadecimal digits. */
  readonly newSpanId: () => string;
}

export interface SpanStart {
  readonly context: TraceContext;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: SpanKind;
  readonly attributes: SpanAttributes;
  readonly links: readonly TraceContext[];
  /** When the span began, on the monotonic clock. Absent = now. */
  readonly startedAtMs?: number;
}

/** Later events are dropped. Source: the limit of the Go library. */
const maxEvents = 128;
/** Longer texts are cut: paths and user agents come from clients. */
const maxTextLength = 2048;

export class Span {
  readonly #start: SpanStart;
  readonly #ports: SpanPorts;
  readonly #startMs: number;
  readonly #startedAtMs: number;
  readonly #events: SpanEvent[] = [];
  #attributes: SpanAttributes;
  #isError = false;
  #isOver = false;

  constructor(start: SpanStart, ports: SpanPorts) {
    this.#start = start;
    this.#ports = ports;
    const nowMs = ports.clock.monotonicNow();
    this.#startedAtMs = start.startedAtMs ?? nowMs;
    this.#startMs = ports.clock.now() - (nowMs - this.#startedAtMs);
    this.#attributes = cutTexts(start.attributes);
  }

  get context(): TraceContext {
    return this.#start.context;
  }

  /** The header for requests that belong to this span. */
  get traceParent(): string {
    return formatTraceParent(this.context);
  }

  /** This span if it is recorded; otherwise undefined, because its parts would cost work and reach nobody. */
  get recorded(): this | undefined {
    return this.context.isSampled ? this : undefined;
  }

  /** Starts a part of this span. */
  startPart(name: string, attributes: SpanAttributes, kind: SpanKind = 'internal'): Span {
    return this.startPartAt(name, { attributes, kind });
  }

  /** Starts a part that began before, at a time on the monotonic clock. */
  startPartAt(name: string, part: Pick<SpanStart, 'attributes' | 'kind' | 'startedAtMs'>): Span {
    const context = { ...this.context, spanId: this.#ports.newSpanId() };
    return new Span({ ...part, name, context, parentSpanId: this.context.spanId, links: [] }, this.#ports);
  }

  /** Records that something happened now. */
  addEvent(name: string, attributes: SpanAttributes = {}): void {
    if (this.#events.length >= maxEvents) return;
    this.#events.push({ name, atMs: this.#nowMs(), attributes: cutTexts(attributes) });
  }

  addAttributes(attributes: SpanAttributes): void {
    this.#attributes = { ...this.#attributes, ...cutTexts(attributes) };
  }

  fail(): void {
    this.#isError = true;
  }

  /** Gives the span to the sink, once. */
  end(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const { context, parentSpanId, name, kind, links } = this.#start;
    this.#ports.sink.add({
      ...{ context, parentSpanId, name, kind, links },
      startMs: this.#startMs,
      endMs: this.#nowMs(),
      attributes: this.#attributes,
      events: this.#events,
      isError: this.#isError,
    });
  }

  /** The wall clock may jump; a span must not. */
  #nowMs(): number {
    return this.#startMs + (this.#ports.clock.monotonicNow() - this.#startedAtMs);
  }
}

function cutTexts(attributes: SpanAttributes): SpanAttributes {
  const isLong = (value: SpanValue): boolean => typeof value === 'string' && value.length > maxTextLength;
  if (!Object.values(attributes).some(isLong)) return attributes;
  const cut = (value: SpanValue): SpanValue => (typeof value === 'string' ? value.slice(0, maxTextLength) : value);
  return Object.fromEntries(Object.entries(attributes).map(([name, value]) => [name, cut(value)]));
}

// The used part of @opentelemetry/api as our own types, so that programs without tracing do not need the package; and the class
// OpenTelemetry, which finds the tracer. Used by http-call-tracer.ts and by the controllers' tracer.
import { type OptionTable, objectWith, optional, requireOptions } from '../guards/option-table.ts';
import { requireFunctions } from '../guards/required.ts';
import { requireObject } from '../objects/object-target.ts';
import { formatTraceParent } from './trace-context.ts';

export type TraceAttributes = Readonly<Record<string, string | number | boolean>>;

/** The place of a span in a trace. */
export interface TraceSpanContext {
  readonly traceId: string;
  readonly spanId: string;
  readonly traceFlags: number;
}

export interface TraceLink {
  readonly context: TraceSpanContext;
  readonly attributes?: TraceAttributes;
}

export interface TraceSpan {
  spanContext(): TraceSpanContext;
  isRecording(): boolean;
  setAttributes(attributes: TraceAttributes): unknown;
  addEvent(name: string, attributes: TraceAttributes): unknown;
  recordException(error: Error | string): void;
  setStatus(status: { readonly code: number }): unknown;
  end(): void;
}

/** A Context of OpenTelemetry, which is passed from a span to its parts. */
export interface TraceScope {
  getValue(key: symbol): unknown;
  setValue(key: symbol, value: unknown): TraceScope;
  deleteValue(key: symbol): TraceScope;
}

export interface TraceSpanOptions {
  readonly kind?: number;
  /** True = the span has no parent, whatever the scope holds. */
  readonly root?: boolean;
  readonly attributes?: TraceAttributes;
  readonly links?: TraceLink[];
}

interface Tracer {
  startSpan(name: string, options: TraceSpanOptions, scope: TraceScope): TraceSpan;
}

export interface TracerProvider {
  getTracer(name: string): Tracer;
}

/** The module: `import * as opentelemetry from '@opentelemetry/api'`. */
export interface OpenTelemetryApi {
  readonly trace: {
    getTracerProvider(): TracerProvider;
    setSpan(scope: TraceScope, span: TraceSpan): TraceScope;
    getSpan(scope: TraceScope): TraceSpan | undefined;
  };
  readonly context: {
    active(): TraceScope;
    with<R>(scope: TraceScope, work: () => R): R;
  };
  readonly propagation: {
    inject(scope: TraceScope, carrier: Record<string, string>): void;
    fields(): string[];
  };
}

/** The destination of spans. */
export interface TracingOptions {
  /**
   * The module `@opentelemetry/api`: `import * as opentelemetry from '@opentelemetry/api'`. The caller passes it in, so that programs and
   * bundles need the package only if they trace.
   */
  readonly api: OpenTelemetryApi;
  /** Default: the registered provider, see `trace.setGlobalTracerProvider`. */
  readonly tracerProvider?: TracerProvider | undefined;
}

export const tracingTable: OptionTable<TracingOptions> = {
  api: requireApi,
  tracerProvider: optional(objectWith('getTracer')),
};

/** Throws TypeError unless given options, or undefined. */
export function requireTracing(tracing: unknown): void {
  if (tracing === undefined) return;
  requireObject(tracing, 'tracing, such as { api: opentelemetry },');
  requireOptions(tracing as TracingOptions, tracingTable, 'tracing');
}

function requireApi(api: unknown): void {
  const { trace, context, propagation } = (api ?? {}) as Partial<OpenTelemetryApi>;
  requireFunctions(trace, 'the trace of tracing.api', ['getTracerProvider', 'setSpan', 'getSpan']);
  requireFunctions(context, 'the context of tracing.api', ['active', 'with']);
  requireFunctions(propagation, 'the propagation of tracing.api', ['inject', 'fields']);
}

/** Source: SpanKind and SpanStatusCode of @opentelemetry/api. */
export const spanKinds = { internal: 0, client: 2 } as const;
const errorStatus = { code: 2 } as const;

/** Spans of one part of the program. */
export class OpenTelemetry {
  readonly #api: OpenTelemetryApi;
  readonly #tracer: Tracer;

  constructor(api: OpenTelemetryApi, tracer: Tracer) {
    this.#api = api;
    this.#tracer = tracer;
  }

  /** Returns the scope that is active in this turn. Without a context manager none ever is. */
  active(): TraceScope {
    return this.#api.context.active();
  }

  /** Returns the active scope if it is within a span, otherwise the given one. */
  activeOr(scope: TraceScope): TraceScope {
    const active = this.#api.context.active();
    return this.#api.trace.getSpan(active) === undefined ? scope : active;
  }

  start(name: string, options: TraceSpanOptions, scope: TraceScope): TraceSpan {
    return this.#tracer.startSpan(name, options, scope);
  }

  /** Returns the scope of the parts of a span. */
  within(scope: TraceScope, span: TraceSpan): TraceScope {
    return this.#api.trace.setSpan(scope, span);
  }

  /** Calls the function while the scope is active. */
  run<R>(scope: TraceScope, work: () => R): R {
    return this.#api.context.with(scope, work);
  }

  /** Returns the headers that propagate the span: from the registered propagator, or else W3C Trace Context. */
  headers(scope: TraceScope, span: TraceSpan): Readonly<Record<string, string>> {
    const { propagation } = this.#api;
    if (propagation.fields().length === 0) return { traceparent: traceParentOf(span) };
    const headers: Record<string, string> = {};
    propagation.inject(this.within(scope, span), headers);
    return headers;
  }
}

/** Returns undefined while no tracer provider is registered, so that there is nothing to do for spans. */
export function findOpenTelemetry({ api, tracerProvider }: TracingOptions, name: string): OpenTelemetry | undefined {
  const provider = tracerProvider ?? api.trace.getTracerProvider();
  // Without a registered provider the API answers with a proxy that has no tracer to delegate to.
  const { getDelegateTracer } = provider as { getDelegateTracer?: (name: string) => Tracer | undefined };
  const isProxy = typeof getDelegateTracer === 'function';
  const tracer = isProxy ? getDelegateTracer.call(provider, name) : provider.getTracer(name);
  return tracer && new OpenTelemetry(api, tracer);
}

/** Marks a span as failed. */
export function failSpan(span: TraceSpan, error: unknown): void {
  if (!span.isRecording()) return;
  span.recordException(error instanceof Error ? error : String(error));
  span.setStatus(errorStatus);
}

/** Marks a span as failed because of its server's answer. */
export function failSpanByStatus(span: TraceSpan, status: number): void {
  span.setAttributes({ 'error.type': String(status) });
  span.setStatus(errorStatus);
}

/** Returns the header traceparent of a span. */
export function traceParentOf(span: TraceSpan): string {
  const { traceId, spanId, traceFlags } = span.spanContext();
  return formatTraceParent({ traceId, spanId, isSampled: (traceFlags & 1) === 1 });
}

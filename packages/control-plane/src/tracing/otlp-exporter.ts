// OtlpExporter sends spans to an OpenTelemetry collector over gRPC. Loaded by tracing.ts only where requests are traced;
// span-batches.ts gives it the spans. Source: OTLP 1.x, go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracegrpc.
import { fileURLToPath } from 'node:url';
import {
  Client,
  credentials,
  Metadata,
  type MethodDefinition,
  type ServiceDefinition,
  type ServiceError,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';
import { type Clock, delay } from '@kapstan/api';
import type { FinishedSpan, SpanEvent, SpanKind, SpanValue } from '@kapstan/apiserver';

export interface OtlpExporterOptions {
  /** "host:port", or a target of gRPC such as "dns:///host:port" or "unix:///path". */
  readonly endpoint: string;
  /** Attributes of this process that all spans carry. */
  readonly resource: Readonly<Record<string, string>>;
  readonly clock: Clock;
}

/** Limits of the Go library: of one attempt, of all attempts of a batch, and of the pauses between them. */
const attemptMs = 10_000;
const maxElapsedMs = 60_000;
const firstPauseMs = 5_000;
const maxPauseMs = 30_000;

/** Codes after which a batch is sent again. Source: the OTLP specification. */
const retried: ReadonlySet<status> = new Set([
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.ABORTED,
  status.OUT_OF_RANGE,
  status.UNAVAILABLE,
  status.DATA_LOSS,
]);

export class OtlpExporter {
  readonly #options: OtlpExporterOptions;
  readonly #client: Client;

  /** Connects at the first batch. */
  constructor(options: OtlpExporterOptions) {
    this.#options = options;
    this.#client = new Client(options.endpoint, credentials.createInsecure());
  }

  /** Rejects when the collector does not take the spans in time, and with the signal's reason. */
  async export(spans: readonly FinishedSpan[], signal: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const request = exportRequest(spans, this.#options.resource);
    const startMs = clock.monotonicNow();
    for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(pauseMs * 1.5, maxPauseMs)) {
      try {
        return await this.#send(request, signal);
      } catch (error) {
        signal.throwIfAborted();
        const isFinal = !retried.has((error as ServiceError).code);
        if (isFinal || clock.monotonicNow() - startMs + pauseMs > maxElapsedMs) throw error;
        await delay(clock, pauseMs, signal);
      }
    }
  }

  close(): void {
    this.#client.close();
  }

  #send(request: ExportRequest, signal: AbortSignal): Promise<void> {
    const { path, requestSerialize, responseDeserialize } = exportMethod();
    const deadline = this.#options.clock.now() + attemptMs;
    return new Promise((resolve, reject) => {
      const onAbort = (): void => call.cancel();
      const call = this.#client.makeUnaryRequest(
        path,
        requestSerialize,
        responseDeserialize,
        request,
        new Metadata(),
        { deadline },
        (error) => {
          signal.removeEventListener('abort', onAbort);
          if (error === null) resolve();
          else reject(error);
        },
      );
      signal.addEventListener('abort', onAbort);
    });
  }
}

interface WireAttribute {
  readonly key: string;
  readonly value: object;
}

interface ExportRequest {
  readonly resourceSpans: readonly object[];
}

const scope = { name: 'k8s.io/component-base/tracing' };

function exportRequest(spans: readonly FinishedSpan[], resource: Readonly<Record<string, string>>): ExportRequest {
  return {
    resourceSpans: [
      { resource: { attributes: attributesOf(resource) }, scopeSpans: [{ scope, spans: spans.map(wireSpan) }] },
    ],
  };
}

const kinds: Readonly<Record<SpanKind, string>> = {
  internal: 'SPAN_KIND_INTERNAL',
  server: 'SPAN_KIND_SERVER',
  client: 'SPAN_KIND_CLIENT',
};

function wireSpan(span: FinishedSpan): object {
  const { context, parentSpanId, name, kind, startMs, endMs, links, isError } = span;
  return {
    ...wireContext(context),
    parentSpanId: Buffer.from(parentSpanId, 'hex'),
    name,
    kind: kinds[kind],
    startTimeUnixNano: nanos(startMs),
    endTimeUnixNano: nanos(endMs),
    attributes: attributesOf(span.attributes),
    events: span.events.map(wireEvent),
    links: links.map(wireContext),
    status: isError ? { code: 'STATUS_CODE_ERROR' } : {},
  };
}

function wireContext({ traceId, spanId, traceState, isSampled }: FinishedSpan['context']): object {
  const ids = { traceId: Buffer.from(traceId, 'hex'), spanId: Buffer.from(spanId, 'hex') };
  return { ...ids, traceState, flags: isSampled ? 1 : 0 };
}

function wireEvent({ name, atMs, attributes }: SpanEvent): object {
  return { name, timeUnixNano: nanos(atMs), attributes: attributesOf(attributes) };
}

function attributesOf(attributes: Readonly<Record<string, SpanValue>>): readonly WireAttribute[] {
  return Object.entries(attributes).map(([key, value]) => ({ key, value: wireValue(value) }));
}

function wireValue(value: SpanValue): object {
  if (typeof value === 'string') return { stringValue: value };
  if (typeof value === 'boolean') return { boolValue: value };
  return Number.isSafeInteger(value) ? { intValue: value } : { doubleValue: value };
}

/** A double holds microseconds of today, not nanoseconds. */
function nanos(ms: number): string {
  return `${Math.round(ms * 1000)}000`;
}

type ExportMethod = MethodDefinition<ExportRequest, object>;

let loaded: ExportMethod | undefined;

function exportMethod(): ExportMethod {
  loaded ??= loadMethod();
  return loaded;
}

function loadMethod(): ExportMethod {
  const file = fileURLToPath(new URL('../../proto/otlp-trace.proto', import.meta.url));
  const service = loadSync(file, { longs: String, enums: String })[
    'opentelemetry.proto.collector.trace.v1.TraceService'
  ];
  const method = (service as ServiceDefinition).Export;
  if (method === undefined) throw new TypeError('otlp-trace.proto lacks Export');
  // The cast relies on the types declared above; the tests decode the sent bytes.
  return method as never;
}

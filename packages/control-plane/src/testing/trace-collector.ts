// A collector of traces for tests: a gRPC server on a real socket that decodes the received spans.
import { fileURLToPath } from 'node:url';
import {
  Server,
  ServerCredentials,
  type ServerUnaryCall,
  type ServiceDefinition,
  type sendUnaryData,
  status,
} from '@grpc/grpc-js';
import { loadSync } from '@grpc/proto-loader';

export interface CollectedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string;
  readonly name: string;
  readonly kind: string;
  readonly durationNanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly events: readonly { readonly name: string; readonly attributes: Readonly<Record<string, unknown>> }[];
  readonly links: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly isError: boolean;
}

interface WireAttribute {
  readonly key: string;
  readonly value: { readonly value: string; readonly [kind: string]: unknown };
}

interface WireSpan {
  readonly traceId: Buffer;
  readonly spanId: Buffer;
  readonly parentSpanId: Buffer;
  readonly name: string;
  readonly kind: string;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly WireAttribute[];
  readonly events: readonly { readonly name: string; readonly attributes: readonly WireAttribute[] }[];
  readonly links: readonly { readonly traceId: Buffer; readonly spanId: Buffer }[];
  readonly status: { readonly code: string } | null;
}

interface WireRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly WireAttribute[] };
    readonly scopeSpans: readonly { readonly scope: { readonly name: string }; readonly spans: readonly WireSpan[] }[];
  }[];
}

export class TraceCollector {
  readonly spans: CollectedSpan[] = [];
  readonly resources: Readonly<Record<string, unknown>>[] = [];
  /** Number of requests so far. */
  requests = 0;
  answers: 'ok' | 'refused' | 'never' = 'ok';
  port = 0;
  #server: Server | undefined;
  #onRequest: () => void = () => undefined;

  async listen(): Promise<void> {
    const file = fileURLToPath(new URL('../../proto/otlp-trace.proto', import.meta.url));
    const loaded = loadSync(file, { longs: String, enums: String, defaults: true, arrays: true, oneofs: true });
    const server = new Server();
    server.addService(loaded['opentelemetry.proto.collector.trace.v1.TraceService'] as ServiceDefinition, {
      Export: (call: ServerUnaryCall<WireRequest, object>, answer: sendUnaryData<object>) => this.#take(call, answer),
    });
    const address = `127.0.0.1:${this.port}`;
    this.port = await new Promise<number>((resolve, reject) => {
      server.bindAsync(address, ServerCredentials.createInsecure(), (error, port) =>
        error === null ? resolve(port) : reject(error),
      );
    });
    this.#server = server;
  }

  /** Resolves when a span of that name has arrived. */
  async whenCollected(name: string): Promise<CollectedSpan> {
    for (;;) {
      const span = this.spans.find((candidate) => candidate.name === name);
      if (span !== undefined) return span;
      await this.nextRequest();
    }
  }

  nextRequest(): Promise<void> {
    return new Promise((resolve) => {
      this.#onRequest = resolve;
    });
  }

  close(): void {
    this.#server?.forceShutdown();
    this.#server = undefined;
  }

  #take({ request }: ServerUnaryCall<WireRequest, object>, answer: sendUnaryData<object>): void {
    this.requests++;
    if (this.answers === 'refused') answer({ code: status.INVALID_ARGUMENT, details: 'no' });
    if (this.answers === 'ok') {
      for (const { resource, scopeSpans } of request.resourceSpans) {
        this.resources.push(attributesOf(resource.attributes));
        this.spans.push(...scopeSpans.flatMap(({ spans }) => spans.map(collected)));
      }
      answer(null, {});
    }
    this.#onRequest();
  }
}

function collected(span: WireSpan): CollectedSpan {
  return {
    traceId: span.traceId.toString('hex'),
    spanId: span.spanId.toString('hex'),
    parentSpanId: span.parentSpanId.toString('hex'),
    name: span.name,
    kind: span.kind,
    durationNanos: BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano),
    attributes: attributesOf(span.attributes),
    events: span.events.map(({ name, attributes }) => ({ name, attributes: attributesOf(attributes) })),
    links: span.links.map(({ traceId, spanId }) => ({
      traceId: traceId.toString('hex'),
      spanId: spanId.toString('hex'),
    })),
    isError: span.status?.code === 'STATUS_CODE_ERROR',
  };
}

function attributesOf(attributes: readonly WireAttribute[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    attributes.map(({ key, value }) => {
      const shown = value[value.value];
      return [key, value.value === 'intValue' ? Number(shown) : shown];
    }),
  );
}

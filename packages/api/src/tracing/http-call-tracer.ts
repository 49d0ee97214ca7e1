// HttpCallTracer makes a span of each attempt of a call over HTTP, following OpenTelemetry's conventions for clients. A client has one
// tracer for all its calls, and a reconcile has one for its own calls.

import type { CallSpan, CallTracer, TracedCall } from './call-tracer.ts';
import {
  failSpan,
  failSpanByStatus,
  type OpenTelemetry,
  spanKinds,
  type TraceAttributes,
  type TraceScope,
  type TraceSpan,
} from './open-telemetry.ts';
import { urlTemplate, withoutSecrets } from './traced-url.ts';

export class HttpCallTracer implements CallTracer {
  readonly #tracing: () => OpenTelemetry | undefined;
  readonly #scope: TraceScope | undefined;

  /** `scope` has the span to which calls belong when no span is active. `tracing` may return undefined while there is no provider. */
  constructor(tracing: () => OpenTelemetry | undefined, scope?: TraceScope) {
    this.#tracing = tracing;
    this.#scope = scope;
  }

  startCall(call: TracedCall): CallSpan {
    const tracing = this.#tracing();
    if (tracing === undefined) return untraced;
    return new HttpCallSpan(
      tracing,
      call,
      this.#scope === undefined ? tracing.active() : tracing.activeOr(this.#scope),
    );
  }
}

const noHeaders = {};
const untraced: CallSpan = {
  attempt: () => noHeaders,
  answered: () => undefined,
  failed: () => undefined,
  end: () => undefined,
};

class HttpCallSpan implements CallSpan {
  readonly #tracing: OpenTelemetry;
  readonly #call: TracedCall;
  readonly #scope: TraceScope;
  #attempts = 0;
  #span: TraceSpan | undefined;

  constructor(tracing: OpenTelemetry, call: TracedCall, scope: TraceScope) {
    this.#tracing = tracing;
    this.#call = call;
    this.#scope = scope;
  }

  attempt(): Readonly<Record<string, string>> {
    this.end();
    const { method, path, resource } = this.#call;
    const template = urlTemplate(path, resource);
    const options = { kind: spanKinds.client, attributes: attributesOf(this.#call, template, this.#attempts) };
    const span = this.#tracing.start(`${method} ${template}`, options, this.#scope);
    this.#attempts++;
    this.#span = span;
    return this.#tracing.headers(this.#scope, span);
  }

  answered(status: number): void {
    const span = this.#span;
    if (span === undefined || !span.isRecording()) return;
    span.setAttributes({ 'http.response.status_code': status });
    if (status >= 400) failSpanByStatus(span, status);
  }

  failed(error: unknown): void {
    const span = this.#span;
    if (span === undefined) return;
    const { code, name } = (error ?? {}) as { readonly code?: unknown; readonly name?: unknown };
    span.setAttributes({ 'error.type': typeof code === 'string' ? code : String(name ?? '_OTHER') });
    failSpan(span, error);
    this.end();
  }

  end(): void {
    this.#span?.end();
    this.#span = undefined;
  }
}

/** Source: opentelemetry.io/docs/specs/semconv/http/http-spans (HTTP client). */
function attributesOf({ method, server, path }: TracedCall, template: string, attempt: number): TraceAttributes {
  const prefix = server.pathname.replace(/\/+$/, '');
  const isSecure = server.protocol === 'https:';
  return {
    'http.request.method': method,
    'url.full': `${server.origin}${prefix}${withoutSecrets(path)}`,
    'url.template': template,
    'server.address': server.hostname.replace(/^\[|\]$/g, ''),
    'server.port': server.port === '' ? (isSecure ? 443 : 80) : Number(server.port),
    ...(attempt > 0 && { 'http.request.resend_count': attempt }),
  };
}

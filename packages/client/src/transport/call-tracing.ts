// Makes the calls of a client parts of traces: of the trace that a call's options name, or else of the client's own. Used by transport.ts.
import {
  type CallSpan,
  type CallTracer,
  findOpenTelemetry,
  HttpCallTracer,
  type TracingOptions,
} from '@kapstan/api/internal';
import type { CallLimits, HttpRequest } from './http-request.ts';

/** Returns the tracer of all calls of a client, which keeps looking for a provider until there is one. */
export function clientTracer(tracing: TracingOptions | undefined): CallTracer | undefined {
  if (tracing === undefined) return undefined;
  let found: ReturnType<typeof findOpenTelemetry>;
  return new HttpCallTracer(() => {
    found ??= findOpenTelemetry(tracing, '@kapstan/client');
    return found;
  });
}

/** Returns the span of a call; undefined where nothing is traced. */
export function startCallSpan(
  { method, path, resource }: HttpRequest,
  { trace }: CallLimits,
  own: { readonly server: URL; readonly tracer: CallTracer | undefined },
): CallSpan | undefined {
  const tracer = trace ?? own.tracer;
  return tracer?.startCall({ method, server: own.server, path, resource });
}

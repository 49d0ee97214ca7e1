// Opens the tracing of requests from the text of its configuration file. Called by control-plane.ts; serving.ts gets the tracer.
// Source: apiserver server/options/tracing.go.
import { hostname } from 'node:os';
import type { Clock, Logger } from '@kapstan/api';
import { parseTracingConfiguration, RequestTracer } from '@kapstan/apiserver';
import { startingWith } from '../lifetime/start-error.ts';
import type { ControlPlaneOptions } from '../options/control-plane-options.ts';
import { serverName } from '../server-identity/identity-lease.ts';
import { SpanBatches } from './span-batches.ts';

export interface OpenTracing {
  readonly tracer: RequestTracer;
  /** Sends the remaining spans. */
  close(): Promise<void>;
}

/** The port at which collectors listen. */
const defaultEndpoint = 'localhost:4317';

/** Returns undefined without a configuration. Rejects with a StartError when it cannot be used. */
export async function openTracing(
  { tracing: configuration, port = 0 }: Pick<ControlPlaneOptions, 'tracing' | 'port'>,
  { clock, logger }: { readonly clock: Clock; readonly logger: Logger },
): Promise<OpenTracing | undefined> {
  if (configuration === undefined) return undefined;
  const { endpoint = defaultEndpoint, samplingRatePerMillion } = await startingWith('tracing', () =>
    parseTracingConfiguration(configuration),
  );
  // Loading gRPC takes a while, so only servers that trace do it.
  const { OtlpExporter } = await import('./otlp-exporter.ts');
  const resource = { 'service.name': 'apiserver', 'service.instance.id': serverName({ hostname: hostname(), port }) };
  const batches = new SpanBatches({ exporter: new OtlpExporter({ endpoint, resource, clock }), clock, logger });
  const tracer = new RequestTracer({ sink: batches, samplingRatePerMillion, clock });
  return {
    tracer,
    close: () => batches.close(),
  };
}

// Parses the file of --tracing-config-file. Source: apiserver server/options/tracing.go, component-base
// tracing/api/v1/config.go.

import { type FieldError, formatFieldError, invalidField } from '@kapstan/api/errors';
import { messageOf } from '@kapstan/api/internal';
import { decodeConfiguration, fileSchema, integerSchema, textSchema } from '../schema/configuration-file.ts';

/** The file of `--tracing-config-file`, read. */
export interface TracingConfiguration {
  /** Address of the collector, for gRPC. Absent = localhost:4317. */
  readonly endpoint?: string;
  /** Number of requests per million that are traced although the caller does not ask for it. Absent = none. */
  readonly samplingRatePerMillion?: number;
}

const form = {
  kinds: new Map(
    ['v1', 'v1beta1', 'v1alpha1'].map((version) => [`apiserver.config.k8s.io/${version}`, 'TracingConfiguration']),
  ),
  schema: fileSchema('v1.TracingConfiguration', { endpoint: textSchema, samplingRatePerMillion: integerSchema }),
};

const maxRate = 1_000_000;
const schemes: ReadonlySet<string> = new Set(['dns', 'unix', 'unix-abstract']);

/** Throws an Error that describes the fault of the text. */
export function parseTracingConfiguration(text: string): TracingConfiguration {
  const configuration = decode(text);
  const errors = [...rateErrors(configuration), ...endpointErrors(configuration)].map(formatFieldError);
  if (errors.length === 0) return configuration;
  const shown = errors.length === 1 ? errors[0] : `[${errors.join(', ')}]`;
  throw new Error(`failed to validate tracing configuration: ${shown}`);
}

function decode(text: string): TracingConfiguration {
  try {
    return decodeConfiguration(text, form);
  } catch (error) {
    const why = messageOf(error);
    throw new Error(`failed to read tracing config: unable to decode tracing configuration data: ${why}`, {
      cause: error,
    });
  }
}

function rateErrors({ samplingRatePerMillion: rate }: TracingConfiguration): readonly FieldError[] {
  const field = 'samplingRatePerMillion';
  if (rate === undefined || rate === null) return [];
  if (rate < 0) return [invalidField(field, rate, 'sampling rate must be positive')];
  if (rate <= maxRate) return [];
  return [invalidField(field, rate, 'sampling rate per million must be less than or equal to one million')];
}

function endpointErrors({ endpoint }: TracingConfiguration): readonly FieldError[] {
  if (endpoint === undefined || endpoint === null) return [];
  const url = endpoint.includes('//') ? endpoint : `dns://${endpoint}`;
  const [, scheme = ''] = /^([a-z][a-z0-9+.-]*):/i.exec(url) ?? [];
  if (schemes.has(scheme.toLowerCase())) return [];
  const why = `unsupported scheme: ${scheme.toLowerCase()}.  Options are none, dns, unix, or unix-abstract.  See https://github.com/grpc/grpc/blob/master/doc/naming.md`;
  return [invalidField('endpoint', url, why)];
}

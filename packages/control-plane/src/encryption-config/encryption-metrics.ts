// Metrics of encryption at rest, under kube-apiserver's names. Filled by encryption-at-rest.ts and kms-plugin.ts.
// Source: apiserver storage/value/metrics.go, value/encrypt/envelope/metrics.

import type { Clock, GroupResource } from '@kapstan/api';
import {
  counterFamily,
  formatGroupResource,
  formatMetrics,
  Histogram,
  histogramFamily,
  LabelSeries,
  type Labels,
} from '@kapstan/api/internal';
import type { Transformer } from '@kapstan/storage';
import { KeyMetrics } from './key-metrics.ts';

type Direction = 'from_storage' | 'to_storage';

/** A finished call to a key service. */
export interface KeyServiceCall {
  readonly provider: string;
  /** For example "/v2.KeyManagementService/Status". */
  readonly method: string;
  /** For example "OK" or "DeadlineExceeded". */
  readonly code: string;
  readonly durationMs: number;
}

/** Buckets from five microseconds, doubled each time: AES takes about twenty, a key service milliseconds. */
const transformationBuckets = Array.from({ length: 25 }, (_, step) => 5e-6 * 2 ** step);
const callBuckets = Array.from({ length: 20 }, (_, step) => 1e-4 * 2 ** step);

export class EncryptionMetrics {
  readonly keys: KeyMetrics;
  readonly #clock: Clock;
  readonly #operations: LabelSeries<{ count: number }> = new LabelSeries(() => ({ count: 0 }));
  readonly #durations: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(transformationBuckets));
  readonly #calls: LabelSeries<Histogram> = new LabelSeries(() => new Histogram(callBuckets));
  #misses = 0;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.keys = new KeyMetrics(clock);
  }

  /** Returns the metrics in Prometheus' text format. */
  metrics(): string {
    return formatMetrics([
      ...this.keys.families(),
      counterFamily(
        'apiserver_storage_transformation_operations_total',
        'Number of values encrypted or decrypted, by resource and provider; status is OK or the error code.',
        this.#operations.samples(({ count }) => count),
      ),
      histogramFamily(
        'apiserver_storage_transformation_duration_seconds',
        'Time taken to encrypt or decrypt a value, in seconds.',
        this.#durations.samples((seconds) => seconds.counts()),
      ),
      histogramFamily(
        'apiserver_envelope_encryption_kms_operations_latency_seconds',
        'Latency of calls to key services, in seconds.',
        this.#calls.samples((seconds) => seconds.counts()),
      ),
      counterFamily(
        'apiserver_storage_envelope_transformation_cache_misses_total',
        'Number of data keys that were not cached and had to be decrypted by a key service.',
        this.#misses,
      ),
    ]);
  }

  /** Wraps a transformer so that every use is counted. */
  counted(resource: GroupResource, transformer: Transformer): Transformer {
    const name = formatGroupResource(resource);
    return {
      fromStorage: (bytes, context) =>
        this.#measure({ name, direction: 'from_storage', prefixOf: () => prefixOf(bytes) }, () =>
          transformer.fromStorage(bytes, context),
        ),
      toStorage: (bytes, context) =>
        this.#measure({ name, direction: 'to_storage', prefixOf: (written) => prefixOf(written) }, () =>
          transformer.toStorage(bytes, context),
        ),
      prepare: (bytes) => transformer.prepare?.(bytes),
    };
  }

  onKeyServiceCall({ provider, method, code, durationMs }: KeyServiceCall): void {
    const labels = (): Labels => ({ provider_name: provider, method_name: method, grpc_status_code: code });
    this.#calls.of(`${provider} ${method} ${code}`, labels).observe(durationMs / 1000);
    if (method.endsWith('/Decrypt')) this.#misses++;
  }

  #measure<T>(use: Use<T>, work: () => T): T {
    const startMs = this.#clock.monotonicNow();
    const done = (status: string, prefix: string): void => {
      const key = `${use.direction} ${prefix}`;
      const labels = (): Labels => ({ transformation_type: use.direction, transformer_prefix: prefix });
      this.#operations.of(`${key} ${use.name} ${status}`, () => ({ ...labels(), resource: use.name, status })).count++;
      this.#durations.of(key, labels).observe((this.#clock.monotonicNow() - startMs) / 1000);
    };
    let result: T;
    try {
      result = work();
    } catch (error) {
      // gRPC's code for an error without one, as in Kubernetes.
      done('Unknown', use.direction === 'from_storage' ? use.prefixOf(undefined as T) : 'unknown');
      throw error;
    }
    done('OK', use.prefixOf(result));
    return result;
  }
}

interface Use<T> {
  readonly name: string;
  readonly direction: Direction;
  readonly prefixOf: (result: T) => string;
}

/** Returns "k8s:enc:aescbc:v1:" or "k8s:enc:kms:v2:name:", and "identity" for unencrypted bytes. */
function prefixOf(bytes: Uint8Array): string {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, 512)).toString('latin1');
  return /^k8s:enc:(?:kms:v\d:[^:]*:|[a-z]+:v\d:)/.exec(head)?.[0] ?? 'identity';
}

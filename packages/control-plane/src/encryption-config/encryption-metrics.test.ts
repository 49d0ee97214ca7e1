import { VirtualClock } from '@kapstan/api/testing';
import { identityTransformer, prefixTransformer, type Transformer } from '@kapstan/storage';
import { describe, expect, it } from 'vitest';
import { EncryptionMetrics } from './encryption-metrics.ts';

const clock = new VirtualClock();
const bytes = (text: string): Buffer => Buffer.from(text);
const plain: Transformer = {
  fromStorage: (stored) => {
    if (stored.length === 0) throw new TypeError('empty');
    return { bytes: stored, isStale: false };
  },
  toStorage: (value) => value,
};

async function samples(metrics: EncryptionMetrics, name: string): Promise<string[]> {
  const lines = (await metrics.metrics()).split('\n');
  return lines.filter((line) => line.startsWith(name));
}

describe('EncryptionMetrics', () => {
  const transformer = prefixTransformer(
    [
      { prefix: 'k8s:enc:kms:v2:vault:', transformer: plain },
      { prefix: 'k8s:enc:aescbc:v1:', transformer: plain },
      { prefix: '', transformer: identityTransformer },
    ],
    'no matching prefix found',
  );

  it('counts by resource, direction, provider and outcome, and measures', async () => {
    const metrics = new EncryptionMetrics(clock);
    const counted = metrics.counted({ group: 'apps', resource: 'deployments' }, transformer);
    counted.fromStorage(counted.toStorage(bytes('{}'), 'k'), 'k');
    counted.fromStorage(bytes('{}'), 'k');
    counted.fromStorage(bytes('k8s:enc:aescbc:v1:one:x'), 'k');
    expect(() => counted.fromStorage(bytes('k8s:enc:aescbc:v1:'), 'k')).toThrow('empty');
    const name = 'apiserver_storage_transformation_operations_total';
    const line = (direction: string, prefix: string, status: string): string =>
      `${name}{transformation_type="${direction}",transformer_prefix="${prefix}",resource="deployments.apps",status="${status}"} 1`;
    expect(await samples(metrics, name)).toEqual([
      line('to_storage', 'k8s:enc:kms:v2:vault:', 'OK'),
      line('from_storage', 'k8s:enc:kms:v2:vault:', 'OK'),
      line('from_storage', 'identity', 'OK'),
      line('from_storage', 'k8s:enc:aescbc:v1:', 'OK'),
      line('from_storage', 'k8s:enc:aescbc:v1:', 'Unknown'),
    ]);
    expect(await samples(metrics, 'apiserver_storage_transformation_duration_seconds_count')).toHaveLength(4);
  });

  it('hands on what must be prepared', async () => {
    const prepared: number[] = [];
    const counted = new EncryptionMetrics(clock).counted(
      { group: '', resource: 'secrets' },
      {
        ...plain,
        prepare: async (stored) => {
          prepared.push(stored.length);
        },
      },
    );
    await counted.prepare?.(bytes('abc'));
    expect(prepared).toEqual([3]);
  });

  it('counts calls to key services, and those that open a key as misses of the cache', async () => {
    const metrics = new EncryptionMetrics(clock);
    const call = { provider: 'vault', code: 'OK', durationMs: 20 };
    metrics.onKeyServiceCall({ ...call, method: '/v2.KeyManagementService/Encrypt' });
    metrics.onKeyServiceCall({ ...call, method: '/v2.KeyManagementService/Decrypt' });
    expect(await samples(metrics, 'apiserver_storage_envelope_transformation_cache_misses_total')).toEqual([
      'apiserver_storage_envelope_transformation_cache_misses_total 1',
    ]);
    const sum = 'apiserver_envelope_encryption_kms_operations_latency_seconds_sum';
    expect(await samples(metrics, sum)).toContain(
      `${sum}{provider_name="vault",method_name="/v2.KeyManagementService/Encrypt",grpc_status_code="OK"} 0.02`,
    );
  });
});

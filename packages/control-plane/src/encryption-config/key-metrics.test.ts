// Covers TestEnvelopeMetrics_Serial and TestEnvelopeMetricsCache_Serial of the Go library.
import { createHash } from 'node:crypto';
import { silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { DataKey, EnvelopeTransformer, type KeyService } from '@kapstan/storage';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { EncryptionMetrics } from './encryption-metrics.ts';

const prefix = 'apiserver_envelope_encryption_';
const hashOf = (keyId: string): string => `sha256:${createHash('sha256').update(keyId).digest('hex')}`;
let clock: VirtualClock;
let metrics: EncryptionMetrics;
/** Id of the key that the key service reports. */
let keyId: string;
const service: KeyService = {
  status: async () => ({ version: 'v2', healthz: 'ok', keyId }),
  encrypt: async (plain) => ({ ciphertext: plain, keyId, annotations: new Map() }),
  decrypt: async ({ ciphertext }) => ciphertext,
};

beforeEach(() => {
  clock = new VirtualClock({ startMs: 5_000 });
  metrics = new EncryptionMetrics(clock);
  keyId = 'key-1';
});

async function server(): Promise<{ readonly dataKey: DataKey; readonly transformer: EnvelopeTransformer }> {
  const observer = metrics.keys.observerFor('vault');
  const common = { providerName: 'vault', service, clock, logger: silentLogger, observer };
  const dataKey = new DataKey(common);
  onTestFinished(() => dataKey.close());
  await dataKey.start();
  return { dataKey, transformer: new EnvelopeTransformer({ ...common, dataKey }) };
}

/** Returns "labels value" for each sample, without the labels that never differ. */
async function samples(name: string): Promise<string[]> {
  const lines = (await metrics.metrics()).split('\n').filter((line) => line.startsWith(`${prefix}${name}{`));
  expect(lines.every((line) => line.includes('provider_name="vault"'))).toBe(true);
  return lines.map((line) =>
    line
      .slice(`${prefix}${name}`.length)
      .replace('provider_name="vault",', '')
      .replace(/,apiserver_id_hash="sha256:[0-9a-f]{64}"/, ''),
  );
}

describe('the metrics of the keys of a key service', () => {
  it('count reads and writes by the hash of their key, and say when each was last used', async () => {
    const { transformer } = await server();
    const old = transformer.toStorage(Buffer.from('a'), '/k');
    transformer.toStorage(Buffer.from('b'), '/k');
    keyId = 'key-2';
    await clock.advance(60_000);
    transformer.fromStorage(old, '/k');
    transformer.toStorage(Buffer.from('c'), '/k');
    const [first, second] = [hashOf('key-1'), hashOf('key-2')];
    expect(await samples('key_id_hash_total')).toEqual([
      `{transformation_type="to_storage",key_id_hash="${first}"} 2`,
      `{transformation_type="from_storage",key_id_hash="${first}"} 1`,
      `{transformation_type="to_storage",key_id_hash="${second}"} 1`,
    ]);
    expect(await samples('key_id_hash_last_timestamp_seconds')).toEqual([
      `{transformation_type="to_storage",key_id_hash="${first}"} 5`,
      `{transformation_type="from_storage",key_id_hash="${first}"} 65`,
      `{transformation_type="to_storage",key_id_hash="${second}"} 65`,
    ]);
    expect((await metrics.metrics()).includes('key-1')).toBe(false);
  });

  it('say when the key service last named each key, and count names that cannot be', async () => {
    await server();
    for (const next of ['', 'x'.repeat(1_025), 'key-2']) {
      keyId = next;
      await clock.advance(60_000);
    }
    expect(await samples('key_id_hash_status_last_timestamp_seconds')).toEqual([
      `{key_id_hash="${hashOf('key-1')}"} 5`,
      expect.stringContaining(`{key_id_hash="${hashOf('key-2')}"} `),
    ]);
    const invalid = (await metrics.metrics())
      .split('\n')
      .filter((line) => line.startsWith(`${prefix}invalid_key_id_from_status_total{`));
    expect(invalid.map((line) => /error="(\w+)"/.exec(line)?.[1])).toEqual(['empty', 'too_long']);
  });

  it('show the hundred keys used last, of however many', async () => {
    const observer = metrics.keys.observerFor('vault');
    const names = Array.from({ length: 150 }, (_, i) => `key-${i}`);
    for (const name of names) {
      observer.onUse('to_storage', name);
      observer.onStatus(name);
      // This key is used over and over, so it is never the one dropped.
      observer.onUse('to_storage', 'key-0');
      observer.onStatus('key-0');
    }
    const shown = ['key-0', ...names.slice(51)].map(hashOf).sort();
    for (const name of [
      'key_id_hash_total',
      'key_id_hash_last_timestamp_seconds',
      'key_id_hash_status_last_timestamp_seconds',
    ]) {
      const hashes = (await samples(name)).map((line) => /key_id_hash="([^"]+)"/.exec(line)?.[1]);
      expect(hashes.sort()).toEqual(shown);
    }
    expect((await samples('key_id_hash_total'))[0]).toMatch(/ 151$/);
  });

  it('show how many opened keys are kept', async () => {
    const { transformer } = await server();
    const { transformer: other } = await server();
    const kept = async (): Promise<number> => {
      const text = await metrics.metrics();
      return Number(/dek_source_cache_size\{provider_name="vault"\} (\d+)/.exec(text)?.[1]);
    };
    const stored = other.toStorage(Buffer.from('a'), '/k');
    transformer.toStorage(Buffer.from('a'), '/k');
    expect(await kept()).toBe(1);
    await transformer.prepare(stored);
    expect(await kept()).toBe(2);
  });
});

// Covers TestEnvelopeTracing_TransformToStorage and TestEnvelopeTracing_TransformFromStorage of the Go library, and the
// log.
import diagnostics from 'node:diagnostics_channel';
import { type LogFields, silentLogger } from '@kapstan/api';
import { VirtualClock } from '@kapstan/api/testing';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeKeyService } from '../testing/fake-key-service.ts';
import { type StoreSpan, storeChannelName } from '../tracing/store-trace.ts';
import { DataKey } from './data-key.ts';
import { EnvelopeTransformer } from './envelope-transformer.ts';

const path = '/registry/secrets/default/a';
const plain = Buffer.from('do-not-tell');
const spans: StoreSpan[] = [];
const logged: { message: string; fields: LogFields }[] = [];
let clock: VirtualClock;
let service: FakeKeyService;

const listen = (span: unknown): void => void spans.push(span as StoreSpan);
beforeEach(() => {
  clock = new VirtualClock();
  service = new FakeKeyService();
  spans.length = 0;
  logged.length = 0;
});
afterEach(() => diagnostics.unsubscribe(storeChannelName, listen));

async function server(): Promise<EnvelopeTransformer> {
  const info = (message: string, fields: LogFields = {}): void => void logged.push({ message, fields });
  const logger = { ...silentLogger, info };
  const dataKey = new DataKey({ providerName: 'vault', service, clock, logger });
  onTestFinished(() => dataKey.close());
  await dataKey.start();
  return new EnvelopeTransformer({ providerName: 'vault', dataKey, service, clock, logger });
}

/** Runs the work and returns "name: step, step (error)" for each of its spans. */
async function traced(work: () => unknown): Promise<string[]> {
  diagnostics.subscribe(storeChannelName, listen);
  try {
    await work();
  } catch (error) {
    expect(error).toBeInstanceOf(Error);
  }
  diagnostics.unsubscribe(storeChannelName, listen);
  for (const { attributes } of spans) expect(attributes).toEqual({ 'transformer.provider.name': 'vault' });
  expect(JSON.stringify(spans)).not.toContain(plain.toString());
  return spans.map(
    ({ name, steps, error = 'no error' }) => `${name}: ${steps.map((step) => step.name).join(', ')} (${error})`,
  );
}

describe('the trace of an EnvelopeTransformer', () => {
  const reading = 'TransformFromStorage with envelopeTransformer:';
  const read = `${reading} About to decode encrypted object, Decoded encrypted object, About to decrypt data using DEK, Data decryption succeeded (no error)`;

  it('records for a write that data were encrypted and encoded', async () => {
    const transformer = await server();
    expect(await traced(() => transformer.toStorage(plain, path))).toEqual([
      'TransformToStorage with envelopeTransformer: About to encrypt data using DEK, Data encryption succeeded, About to encode encrypted object, Encoded encrypted object (no error)',
    ]);
  });

  it('records for a read that data were decoded and decrypted', async () => {
    const transformer = await server();
    const stored = transformer.toStorage(plain, path);
    expect(await traced(() => transformer.fromStorage(stored, path))).toEqual([read]);
  });

  it('records that the key service was asked before a read whose key is not cached', async () => {
    const stored = (await server()).toStorage(plain, path);
    const reader = await server();
    const work = async (): Promise<void> => {
      await reader.prepare(stored);
      reader.fromStorage(stored, path);
    };
    const asked = 'About to decrypt DEK using remote service, DEK decryption succeeded';
    expect(await traced(work)).toEqual([`${reading} ${asked} (no error)`, read]);
  });

  it('records that the key service failed, and that the read did', async () => {
    const stored = (await server()).toStorage(plain, path);
    const reader = await server();
    service.failure = new TypeError('do-not-tell');
    const work = async (): Promise<void> => {
      await reader.prepare(stored);
      reader.fromStorage(stored, path);
    };
    expect(await traced(work)).toEqual([
      `${reading} About to decrypt DEK using remote service, DEK decryption failed (TypeError)`,
      `${reading} About to decode encrypted object, Decoded encrypted object (Error)`,
    ]);
  });

  it.each([
    [500, 0],
    [501, 1],
  ])('for a key service that takes %i ms has %i lines in the log', async (ms, lines) => {
    const stored = (await server()).toStorage(plain, path);
    const reader = await server();
    service.beforeDecrypt = () => clock.advance(ms);
    await reader.prepare(stored);
    reader.fromStorage(stored, path);
    expect(logged).toHaveLength(lines);
    if (lines === 0) return;
    expect(logged[0]).toEqual({
      message: 'Trace "TransformFromStorage with envelopeTransformer" (total time: 501ms)',
      fields: {
        'transformer.provider.name': 'vault',
        steps: '"About to decrypt DEK using remote service" 0ms, "DEK decryption succeeded" 501ms, "END" 0ms',
      },
    });
  });
});

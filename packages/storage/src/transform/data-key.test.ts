import { type Logger, silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeKeyService } from '../testing/fake-key-service.ts';
import { DataKey } from './data-key.ts';
import { keyIdHash } from './encrypted-object.ts';

let clock: VirtualClock;
let service: FakeKeyService;
let warnings: string[];

beforeEach(() => {
  clock = new VirtualClock();
  service = new FakeKeyService();
  warnings = [];
});

function open(): DataKey {
  const logger: Logger = { ...silentLogger, warn: (message, data) => warnings.push(`${message} ${data?.error}`) };
  const key = new DataKey({ providerName: 'panda', service, clock, logger });
  onTestFinished(() => key.close());
  return key;
}

async function started(): Promise<DataKey> {
  const key = open();
  await key.start();
  return key;
}

const pass = async (ms: number): Promise<void> => {
  await clock.advance(ms);
  await settle();
};
const firstKey = (): string => keyIdHash('key-1');

describe('DataKey', () => {
  it('takes a seed from the start, sealed by the key service', async () => {
    const key = await started();
    expect(service.calls).toEqual(['status', 'encrypt']);
    expect(key.forWriting().sealed).toMatchObject({ keyId: 'key-1', annotations: service.annotations });
    expect(key.forWriting().sourceType, 'a seed').toBe(1);
  });

  it('has no key while the service has not answered, and gets one when it comes up, asking every 10 s', async () => {
    service.failure = new Error('14 UNAVAILABLE');
    const key = await started();
    expect(() => key.forReading()).toThrow('got unexpected nil transformer');
    expect(warnings).toEqual([
      'key service is not healthy failed to perform status section of the healthz check for KMS Provider panda, error: 14 UNAVAILABLE',
    ]);
    service.failure = undefined;
    await pass(9_999);
    expect(() => key.forReading()).toThrow();
    await pass(1);
    expect(key.forWriting().sealed.keyId).toBe('key-1');
  });

  it('keeps its key, and prolongs it every minute, while the service names the same one', async () => {
    const key = await started();
    const first = key.forWriting();
    for (let minute = 0; minute < 10; minute++) await pass(60_000);
    expect(key.forWriting().transformer).toBe(first.transformer);
    expect(service.calls.filter((call) => call === 'encrypt')).toHaveLength(1);
    expect(service.calls.filter((call) => call === 'status')).toHaveLength(11);
  });

  it('takes a new seed when the service names another key', async () => {
    const key = await started();
    const first = key.forWriting();
    service.keyId = 'key-2';
    await pass(60_000);
    expect(key.forWriting().sealed.keyId).toBe('key-2');
    expect(key.forWriting().transformer).not.toBe(first.transformer);
  });

  it('writes for three minutes after the service failed, reads for ever, and writes again at once', async () => {
    const key = await started();
    service.failure = new Error('gone');
    await pass(180_000);
    expect(key.forWriting().sealed.keyId).toBe('key-1');
    await pass(1);
    expect(() => key.forWriting()).toThrow(
      `encryptedDEKSource with keyID hash "${firstKey()}" expired at 2026-01-01T00:03:00Z (current time is 2026-01-01T00:03:00Z)`,
    );
    expect(key.forReading().sealed.keyId).toBe('key-1');
    service.failure = undefined;
    await pass(10_000);
    expect(key.forWriting().sealed.keyId, 'the old seed is good again').toBe('key-1');
    expect(service.calls.filter((call) => call === 'encrypt')).toHaveLength(1);
  });

  it('keeps the old key when the service encrypts with another than it says', async () => {
    const key = await started();
    service.keyId = 'key-2';
    service.encryptsWith = 'key-3';
    await clock.advance(20_000);
    const error = await key.check();
    const hashes = `statusKeyIDHash="${keyIdHash('key-2')}", encryptKeyIDHash="${keyIdHash('key-3')}", stateKeyIDHash="${firstKey()}"`;
    expect(error?.message).toContain('kmsv2 Provider panda is not healthy, error: failed to rotate DEK uid="');
    expect(error?.message).toContain(`useSeed=true, errState=<nil>, errGen=<nil>, ${hashes}`);
    expect(key.forWriting().sealed.keyId).toBe('key-1');
  });

  it.each<[string, Partial<FakeKeyService>, string]>([
    ['is ill', { healthz: 'on fire' }, 'got unexpected healthz status: on fire'],
    ['speaks another version', { version: 'v3' }, 'expected KMSv2 API version v2, got v3'],
    ['names no key', { keyId: '' }, 'got invalid KMSv2 KeyID hash "": keyID is empty'],
    [
      'names its key at length',
      { keyId: 'k'.repeat(1025) },
      `got invalid KMSv2 KeyID hash "${keyIdHash('k'.repeat(1025))}": keyID is 1025 bytes, which exceeds the max size of 1024`,
    ],
    [
      'seals to nothing',
      { ciphertext: new Uint8Array() },
      'errGen=failed to validate encrypted DEK source: encrypted DEK source is empty',
    ],
  ])('is not healthy when the service %s', async (_what, change, message) => {
    Object.assign(service, change);
    const error = await open().check();
    expect(error?.message).toMatch(/^kmsv2 Provider panda is not healthy, error: /);
    expect(error?.message).toContain(message);
  });

  it('lists all that is wrong', async () => {
    Object.assign(service, { healthz: 'no', version: 'v1', keyId: '' });
    expect((await open().check())?.message).toBe(
      'kmsv2 Provider panda is not healthy, error: [got unexpected healthz status: no, expected KMSv2 API version v2, got v1, got invalid KMSv2 KeyID hash "": keyID is empty]',
    );
  });

  it('takes v2beta1 too, but no change of version', async () => {
    service.version = 'v2beta1';
    const key = open();
    expect(await key.check()).toBeUndefined();
    service.version = 'v2';
    await clock.advance(20_000);
    expect((await key.check())?.message).toContain(
      'KMSv2 API version should not change after the initial status response version v2beta1, got v2',
    );
  });

  it('asks a healthy service at most every 20 s and a failing one every 3 s, and once for all who ask', async () => {
    const key = open();
    await Promise.all([key.check(), key.check(), key.check()]);
    await clock.advance(19_999);
    await key.check();
    expect(service.calls).toEqual(['status', 'encrypt']);
    await clock.advance(1);
    service.failure = new Error('gone');
    expect(await key.check()).toBeInstanceOf(Error);
    service.failure = undefined;
    await clock.advance(2_999);
    expect(await key.check(), 'remembered').toBeInstanceOf(Error);
    await clock.advance(1);
    expect(await key.check()).toBeUndefined();
  });

  it('asks no more once it is closed', async () => {
    const key = await started();
    key.close();
    await pass(600_000);
    expect(service.calls).toEqual(['status', 'encrypt']);
  });

  it('never shows a seed', async () => {
    service.encryptsWith = 'key-9';
    const error = await open().check();
    expect(JSON.stringify([error?.message, warnings])).not.toMatch(/key-9|key-1/);
  });
});

import { createCipheriv, createHmac, randomBytes } from 'node:crypto';
import { silentLogger } from '@kapstan/api';
import { settle, VirtualClock } from '@kapstan/api/testing';
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest';
import { FakeKeyService } from '../testing/fake-key-service.ts';
import { DataKey } from './data-key.ts';
import { decodeEncryptedObject, encodeEncryptedObject } from './encrypted-object.ts';
import { EnvelopeTransformer } from './envelope-transformer.ts';

const path = '/registry/secrets/default/a';
const plain = Buffer.from('{"kind":"Secret"}');
let clock: VirtualClock;
let service: FakeKeyService;

beforeEach(() => {
  clock = new VirtualClock();
  service = new FakeKeyService();
});

/** Makes the transformer of one server over the shared key service. */
async function server(): Promise<EnvelopeTransformer> {
  const dataKey = new DataKey({ providerName: 'kms', service, clock, logger: silentLogger });
  onTestFinished(() => dataKey.close());
  await dataKey.start();
  return new EnvelopeTransformer({ providerName: 'kms', dataKey, service, clock, logger: silentLogger });
}

const decryptions = (): string[] => service.calls.filter((call) => call.startsWith('decrypt'));

describe('EnvelopeTransformer', () => {
  it('encrypts each value with a key of its own, derived from one sealed seed', async () => {
    const transformer = await server();
    const stored = [transformer.toStorage(plain, path), transformer.toStorage(plain, path)];
    const [one, two] = stored.map(decodeEncryptedObject);
    expect(one?.ciphertext).toEqual(two?.ciphertext);
    expect(one?.data.subarray(0, 32)).not.toEqual(two?.data.subarray(0, 32));
    expect(one?.sourceType).toBe(1);
    expect(one?.annotations).toEqual(service.annotations);
    expect(service.calls.filter((call) => call === 'encrypt')).toHaveLength(1);
  });

  it('reads what it wrote without the key service', async () => {
    const transformer = await server();
    const stored = transformer.toStorage(plain, path);
    expect(transformer.prepare(stored)).toBeUndefined();
    expect(transformer.fromStorage(stored, path)).toEqual({ bytes: plain, isStale: false });
    expect(decryptions()).toEqual([]);
  });

  it('asks the key service once for the key of another server, however many reads wait, and keeps the key for a day', async () => {
    const writer = await server();
    const stored = [writer.toStorage(plain, path), writer.toStorage(plain, path)] as const;
    const reader = await server();
    await Promise.all([reader.prepare(stored[0]), reader.prepare(stored[1])]);
    expect(reader.fromStorage(stored[1], path)).toEqual({ bytes: plain, isStale: false });
    await clock.advance(24 * 3_600_000 - 1);
    expect(reader.prepare(stored[0])).toBeUndefined();
    expect(decryptions()).toEqual(['decrypt key-1']);
    await clock.advance(1);
    await reader.prepare(stored[0]);
    expect(decryptions()).toHaveLength(2);
  });

  it('calls stale what was sealed with another key of the service, and reads it after the rotation', async () => {
    const transformer = await server();
    const old = transformer.toStorage(plain, path);
    service.keyId = 'key-2';
    await clock.advance(60_000);
    await settle();
    expect(transformer.prepare(old), 'still known').toBeUndefined();
    expect(transformer.fromStorage(old, path)).toEqual({ bytes: plain, isStale: true });
    const fresh = transformer.toStorage(plain, path);
    expect(decodeEncryptedObject(fresh).keyId).toBe('key-2');
    expect(transformer.fromStorage(fresh, path).isStale).toBe(false);
  });

  it('does not call stale what has another seed under the same key of the service', async () => {
    const stored = (await server()).toStorage(plain, path);
    const other = await server();
    await other.prepare(stored);
    expect(other.fromStorage(stored, path).isStale).toBe(false);
  });

  it('reads values that the test encrypts itself: those under a seed, and, as stale, those under a plain key', async () => {
    const transformer = await server();
    const seed = randomBytes(32);
    const seal = (key: Uint8Array): Buffer => {
      const nonce = randomBytes(12);
      const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(path));
      return Buffer.concat([nonce, cipher.update(plain), cipher.final(), cipher.getAuthTag()]);
    };
    const info = randomBytes(32);
    const derived = createHmac('sha256', seed).update(info).update('\x01').digest();
    const sealed = { keyId: 'key-1', ciphertext: seed.map((byte) => byte ^ 0x55), annotations: new Map() };
    const seeded = encodeEncryptedObject({ ...sealed, sourceType: 1, data: Buffer.concat([info, seal(derived)]) });
    const plainKey = encodeEncryptedObject({ ...sealed, sourceType: 0, data: seal(seed) });
    await transformer.prepare(seeded);
    await transformer.prepare(plainKey);
    expect(decryptions(), 'one sealed key, two uses').toHaveLength(2);
    expect(transformer.fromStorage(seeded, path)).toEqual({ bytes: plain, isStale: false });
    expect(transformer.fromStorage(plainKey, path)).toEqual({ bytes: plain, isStale: true });
  });

  it('binds the data to its storage key', async () => {
    const transformer = await server();
    const stored = transformer.toStorage(plain, path);
    expect(() => transformer.fromStorage(stored, `${path}b`)).toThrow('cipher: message authentication failed');
  });

  it('reports why the key service gave no key, and asks again the next time', async () => {
    const stored = (await server()).toStorage(plain, path);
    const reader = await server();
    service.failure = new Error('13 INTERNAL: no such key');
    await reader.prepare(stored);
    expect(() => reader.fromStorage(stored, path)).toThrow('failed to decrypt DEK, error: 13 INTERNAL: no such key');
    service.failure = undefined;
    await reader.prepare(stored);
    expect(reader.fromStorage(stored, path).bytes).toEqual(plain);
  });

  it('refuses a seed of a wrong length, and a read that was not prepared', async () => {
    const stored = (await server()).toStorage(plain, path);
    const short = encodeEncryptedObject({ ...decodeEncryptedObject(stored), ciphertext: Uint8Array.of(1) });
    const reader = await server();
    expect(() => reader.fromStorage(stored, path)).toThrow('the data key has not been opened');
    await reader.prepare(short);
    expect(() => reader.fromStorage(short, path)).toThrow(
      'failed to decrypt DEK, error: invalid seed length 1 used for key generation',
    );
  });

  it('refuses bytes that are not an envelope', async () => {
    const transformer = await server();
    expect(transformer.prepare(Buffer.from('garbage'))).toBeUndefined();
    expect(() => transformer.fromStorage(Buffer.from('garbage'), path)).toThrow(TypeError);
  });

  it('neither reads nor writes before the key service has answered once', async () => {
    const stored = (await server()).toStorage(plain, path);
    service.failure = new Error('gone');
    const late = await server();
    expect(() => late.toStorage(plain, path)).toThrow('got unexpected nil transformer');
    expect(() => late.fromStorage(stored, path)).toThrow('got unexpected nil transformer');
  });
});

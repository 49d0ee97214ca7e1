import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aesCbcTransformer, aesGcmTransformer } from './aes-transformers.ts';
import { secretboxTransformer } from './secretbox-transformer.ts';
import { seedTransformer } from './seed-transformer.ts';
import { identityTransformer, type Transformer } from './transformer.ts';

const hex = (text: string): Buffer => Buffer.from(text, 'hex');
const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString();
const key32 = randomBytes(32);
const path = '/registry/secrets/default/a';

const kinds: readonly [name: string, create: (key: Uint8Array) => Transformer][] = [
  ['AES-GCM', aesGcmTransformer],
  ['AES-CBC', aesCbcTransformer],
  ['secretbox', secretboxTransformer],
  ['seed', seedTransformer],
];

describe('what a kube-apiserver wrote is read', () => {
  // Ciphertexts that Kubernetes wrote, from its own tests. Source: value/encrypt/aes/aes_test.go.
  it('with AES-GCM', () => {
    const stored = hex(
      '9f27c8fcea8a58c467d8e437dbf2d85955f9b4bd912f4ef967d788a0cb07797dac0a3f0a0845605ca85ac8562b4ae1',
    );
    const { bytes } = aesGcmTransformer(Buffer.from('snorlax_awesomes')).fromStorage(stored, 'bamboo');
    expect(text(bytes)).toBe('pandas are the best');
  });

  it('with a seed', () => {
    const seed = hex('5d40323a820ff95561675e3b95e81867c5fdd561d35a88a2d08b08aa9d4fcf5c');
    const stored = hex(
      '2442759e33945fbad709db577a0f037fd8a709fc76979b8942209debcecb9d57efe3d6ff6a1ef6ee9a5003b9833b3043cec1e47b35175b151107a8d2416b0e296bbf66b5d102fcefdf9a78f293d271',
    );
    expect(text(seedTransformer(seed).fromStorage(stored, 'bamboo').bytes)).toBe('pandas are the best');
  });

  it('with secretbox: the test of NaCl itself', () => {
    const key = hex('1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389');
    const nonce = '69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37';
    const sealed =
      'f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186ac0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5';
    const { bytes } = secretboxTransformer(key).fromStorage(hex(nonce + sealed), path);
    expect(Buffer.from(bytes).toString('hex')).toBe(
      'be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb310e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705',
    );
  });
});

describe('what is written has the layout that Kubernetes reads', () => {
  it('AES-GCM: nonce, ciphertext, tag, with the storage key as authenticated data', () => {
    const stored = Buffer.from(aesGcmTransformer(key32).toStorage(Buffer.from('hello'), path));
    expect(stored).toHaveLength(12 + 5 + 16);
    const cipher = createDecipheriv('aes-256-gcm', key32, stored.subarray(0, 12));
    cipher.setAAD(Buffer.from(path)).setAuthTag(stored.subarray(-16));
    expect(text(Buffer.concat([cipher.update(stored.subarray(12, -16)), cipher.final()]))).toBe('hello');
  });

  it.each([16, 24, 32])('AES-CBC with a key of %i bytes: IV, then whole blocks with PKCS#7 padding', (size) => {
    const key = randomBytes(size);
    const plain = Buffer.from('sixteen bytes in');
    const stored = Buffer.from(aesCbcTransformer(key).toStorage(plain, path));
    expect(stored, 'a whole block of padding after a whole block').toHaveLength(16 + 32);
    const cipher = createDecipheriv(`aes-${size * 8}-cbc`, key, stored.subarray(0, 16));
    expect(text(Buffer.concat([cipher.update(stored.subarray(16)), cipher.final()]))).toBe(text(plain));
  });
});

describe.each(kinds)('%s', (name, create) => {
  const transformer = create(key32);

  it.each([0, 1, 15, 16, 17, 1_000, 300_000])('gives back %i bytes', (size) => {
    const plain = randomBytes(size);
    const { bytes, isStale } = transformer.fromStorage(transformer.toStorage(plain, path), path);
    expect(Buffer.compare(bytes, plain)).toBe(0);
    expect(isStale).toBe(false);
  });

  it('writes the same bytes differently each time, and never in the clear', () => {
    const plain = Buffer.from('the plain text of a secret');
    const written = Array.from({ length: 20 }, () => Buffer.from(transformer.toStorage(plain, path)));
    expect(new Set(written.map((bytes) => bytes.toString('hex'))).size).toBe(20);
    for (const bytes of written) expect(bytes.includes(plain)).toBe(false);
  });

  it('does not read what another key wrote', () => {
    const stored = create(randomBytes(32)).toStorage(Buffer.from('hello'), path);
    // CBC authenticates nothing: one wrong key in 256 leaves valid padding.
    if (name === 'AES-CBC') expect(reads(transformer, stored, 'hello')).toBe(false);
    else expect(() => transformer.fromStorage(stored, path)).toThrow(/authentication failed|not large enough/);
  });

  it('refuses bytes that are too few', () => {
    expect(() => transformer.fromStorage(new Uint8Array(5), path)).toThrow(
      'the stored data was shorter than the required size',
    );
  });
});

function reads(transformer: Transformer, stored: Uint8Array, expected: string): boolean {
  try {
    return text(transformer.fromStorage(stored, path).bytes) === expected;
  } catch (error) {
    expect((error as Error).message).toBe('invalid padding on input');
    return false;
  }
}

describe('a value that was moved to another key', () => {
  it.each([
    ['AES-GCM', aesGcmTransformer],
    ['seed', seedTransformer],
  ])('cannot be read with %s', (_name, create) => {
    const transformer = create(key32);
    const stored = transformer.toStorage(Buffer.from('hello'), path);
    expect(() => transformer.fromStorage(stored, '/registry/secrets/other/a')).toThrow(
      'cipher: message authentication failed',
    );
  });

  it.each([
    ['AES-CBC', aesCbcTransformer],
    ['secretbox', secretboxTransformer],
  ])('can be read with %s, which authenticates no context', (_name, create) => {
    const transformer = create(key32);
    const stored = transformer.toStorage(Buffer.from('hello'), path);
    expect(text(transformer.fromStorage(stored, '/registry/secrets/other/a').bytes)).toBe('hello');
  });
});

describe('AES-GCM', () => {
  it('notices every bit that changes', () => {
    const transformer = aesGcmTransformer(key32);
    const stored = Buffer.from(transformer.toStorage(Buffer.from('hi'), path));
    for (let at = 0; at < stored.length; at++) {
      const changed = Buffer.from(stored);
      changed[at] = (changed[at] ?? 0) ^ 1;
      expect(() => transformer.fromStorage(changed, path)).toThrow('cipher: message authentication failed');
    }
  });

  it('reads what was written with a counter for a nonce, as KMS v2 once did', () => {
    const nonce = Buffer.alloc(12);
    nonce.writeBigUInt64LE(1_000_000_000n, 4);
    const cipher = createCipheriv('aes-256-gcm', key32, nonce).setAAD(Buffer.from(path));
    const stored = Buffer.concat([nonce, cipher.update('hello'), cipher.final(), cipher.getAuthTag()]);
    expect(text(aesGcmTransformer(key32).fromStorage(stored, path).bytes)).toBe('hello');
  });

  it('does not read less than a tag', () => {
    expect(() => aesGcmTransformer(key32).fromStorage(new Uint8Array(20), path)).toThrow(
      'cipher: message authentication failed',
    );
  });
});

describe('AES-CBC', () => {
  const encrypted = (padded: Buffer): Buffer => {
    const iv = randomBytes(16);
    const cipher = createCipheriv('aes-256-cbc', key32, iv).setAutoPadding(false);
    return Buffer.concat([iv, cipher.update(padded), cipher.final()]);
  };
  const ending = (...bytes: number[]): Buffer => Buffer.concat([Buffer.alloc(16 - bytes.length), Buffer.from(bytes)]);

  it('refuses data that is not a whole number of blocks', () => {
    expect(() => aesCbcTransformer(key32).fromStorage(new Uint8Array(33), path)).toThrow(
      'the stored data is not a multiple of the block size',
    );
  });

  it.each([
    ['none', ending(0)],
    ['longer than a block', ending(17)],
    ['uneven', ending(1, 2, 3)],
    ['no data at all', Buffer.alloc(0)],
  ])('refuses padding that is wrong: %s', (_what, padded) => {
    expect(() => aesCbcTransformer(key32).fromStorage(encrypted(padded), path)).toThrow('invalid padding on input');
  });
});

describe('keys of a wrong size are refused', () => {
  it.each([
    ['AES-GCM', aesGcmTransformer, 15, 'crypto/aes: invalid key size 15'],
    ['AES-CBC', aesCbcTransformer, 33, 'crypto/aes: invalid key size 33'],
    ['secretbox', secretboxTransformer, 16, 'expected key size 32 for secretbox provider, got 16'],
    ['seed', seedTransformer, 31, 'invalid seed length 31 used for key generation'],
  ] as const)('%s', (_name, create, size, message) => {
    expect(() => create(randomBytes(size))).toThrow(message);
  });
});

describe('identity', () => {
  it('stores and reads plain bytes, and refuses encrypted ones', () => {
    const plain = Buffer.from('{"kind":"Secret"}');
    expect(identityTransformer.toStorage(plain, path)).toBe(plain);
    expect(identityTransformer.fromStorage(plain, path)).toEqual({ bytes: plain, isStale: false });
    expect(() => identityTransformer.fromStorage(Buffer.from('k8s:enc:aescbc:v1:a:…'), path)).toThrow(
      'identity transformer tried to read encrypted data',
    );
  });
});

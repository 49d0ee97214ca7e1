import { describe, expect, it } from 'vitest';
import {
  decodeEncryptedObject,
  type EncryptedObject,
  encodeEncryptedObject,
  keyIdError,
  keyIdHash,
  sealedKeyName,
} from './encrypted-object.ts';

const object: EncryptedObject = {
  data: Uint8Array.of(1, 2, 3),
  keyId: 'key',
  ciphertext: Uint8Array.of(9, 8),
  annotations: new Map([['a.example.com', Buffer.of(5)]]),
  sourceType: 1,
};

describe('EncryptedObject', () => {
  it('has the fields and numbers of kmsv2/v2 api.proto', () => {
    expect(Buffer.from(encodeEncryptedObject(object)).toString('latin1')).toBe(
      '\x0a\x03\x01\x02\x03\x12\x03key\x1a\x02\x09\x08\x22\x12\x0a\x0da.example.com\x12\x01\x05\x28\x01',
    );
  });

  it('leaves the type out when it is that of a plain AES-GCM key', () => {
    const bytes = encodeEncryptedObject({ ...object, annotations: new Map(), sourceType: 0 });
    expect(Buffer.from(bytes).toString('latin1')).toBe('\x0a\x03\x01\x02\x03\x12\x03key\x1a\x02\x09\x08');
    expect(decodeEncryptedObject(bytes).sourceType).toBe(0);
  });

  it('comes back as it was, also with data longer than a byte can count', () => {
    const large = { ...object, data: Buffer.alloc(70_000, 4) };
    expect(decodeEncryptedObject(encodeEncryptedObject(large))).toEqual({ ...large, ciphertext: Buffer.of(9, 8) });
  });

  it('passes over fields that it does not know', () => {
    const later = Buffer.from([0x32, 1, 65, 0x38, 0x80, 1, 0x41, 0, 0, 0, 0, 0, 0, 0, 0, 0x4d, 0, 0, 0, 0]);
    const bytes = Buffer.concat([encodeEncryptedObject(object), later]);
    expect(decodeEncryptedObject(bytes)).toEqual(decodeEncryptedObject(encodeEncryptedObject(object)));
  });

  it.each<[string, readonly number[]]>([
    ['ends within a field', [0x0a, 5, 1]],
    ['ends within a number', [0x0a, 0x80]],
    ['has a field 0', [0x02, 0]],
    ['has a group', [0x0b]],
    ['has a number without end', [0x28, ...Array.from({ length: 11 }, () => 0xff)]],
    ['has a name that is no text', [0x12, 1, 0xff]],
  ])('is refused when it %s', (_what, bytes) => {
    expect(() => decodeEncryptedObject(Uint8Array.from(bytes))).toThrow(TypeError);
  });

  const big = new Map([['a.b', new Uint8Array(32 * 1024 - 2)]]);
  it.each<[string, Partial<EncryptedObject>]>([
    ['encrypted data is empty', { data: new Uint8Array() }],
    ['failed to validate encrypted DEK source: encrypted DEK source is empty', { ciphertext: new Uint8Array() }],
    [
      'failed to validate encrypted DEK source: encrypted DEK source is 1025 bytes, which exceeds the max size of 1024',
      { ciphertext: new Uint8Array(1025) },
    ],
    ['failed to validate key id: keyID is empty', { keyId: '' }],
    ['failed to validate key id: keyID is 1026 bytes, which exceeds the max size of 1024', { keyId: 'ä'.repeat(513) }],
    ['unknown encryptedDEKSourceType: 2', { sourceType: 2 }],
    [
      'failed to validate annotations: annotations: Invalid value: "panda": should be a domain with at least two segments separated by dots',
      { annotations: new Map([['panda', Uint8Array.of(1)]]) },
    ],
    [
      'annotations: Invalid value: "A.example.com": a lowercase RFC 1123 label',
      { annotations: new Map([['A.example.com', Uint8Array.of(1)]]) },
    ],
    ['annotations: Required value', { annotations: new Map([['', Uint8Array.of(1)]]) }],
    ['total size of annotations is 32769, which exceeds the max size of 32768', { annotations: big }],
  ])('is neither written nor read when %s', (message, change) => {
    const broken = { ...object, ...change };
    expect(() => encodeEncryptedObject(broken)).toThrow(message);
  });

  it('is validated when it is read, too', () => {
    expect(() => decodeEncryptedObject(Uint8Array.of(0x0a, 1, 1))).toThrow('encrypted DEK source is empty');
  });

  it('may be as large as the limits', () => {
    const annotations = new Map([['a.b', new Uint8Array(32 * 1024 - 3)]]);
    const largest = { ...object, ciphertext: new Uint8Array(1024), keyId: 'k'.repeat(1024), annotations };
    expect(decodeEncryptedObject(encodeEncryptedObject(largest)).keyId).toHaveLength(1024);
    expect(keyIdError('k'.repeat(1024))).toBeUndefined();
  });
});

describe('the name of a sealed key', () => {
  const name = (change: Partial<EncryptedObject>, sourceType = 1): string =>
    sealedKeyName(sourceType, { ...object, ...change });
  const pairs = (...entries: [string, number][]): EncryptedObject['annotations'] =>
    new Map(entries.map(([key, value]) => [key, Uint8Array.of(value)]));

  it('distinguishes all requests to a key service', () => {
    const names = [
      name({}),
      name({}, 0),
      name({ keyId: 'other' }),
      name({ ciphertext: Uint8Array.of(9) }),
      name({ annotations: new Map() }),
      name({ annotations: pairs(['a.example.com', 6]) }),
      name({ ciphertext: Uint8Array.of(9, 8, 107), keyId: 'ey' }),
    ];
    expect(new Set(names).size).toBe(names.length);
  });

  it('does not depend on the order of annotations, nor on the data', () => {
    expect(name({ annotations: pairs(['a.b', 1], ['c.d', 2]) })).toBe(
      name({ annotations: pairs(['c.d', 2], ['a.b', 1]) }),
    );
    expect(name({ data: Uint8Array.of(0) })).toBe(name({}));
  });
});

it('shows the name of a key as its hash', () => {
  expect(keyIdHash('1')).toBe('sha256:6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b');
  expect(keyIdHash('')).toBe('');
});

import { randomBytes } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { aesCbcTransformer, aesGcmTransformer } from './aes-transformers.ts';
import { type PrefixEntry, prefixTransformer } from './prefix-transformer.ts';
import { secretboxTransformer } from './secretbox-transformer.ts';
import { seedTransformer } from './seed-transformer.ts';
import { identityTransformer, type Transformer } from './transformer.ts';

const path = '/registry/secrets/default/a';
const bytes = (text: string): Buffer => Buffer.from(text);
const text = (value: Uint8Array): string => Buffer.from(value).toString();

/** Returns a transformer that writes and reads `name|…`. */
function marking(name: string, options: { readonly isStale?: boolean } = {}): Transformer {
  return {
    fromStorage: (stored) => {
      if (!text(stored).startsWith(`${name}|`)) throw new TypeError(`not by ${name}`);
      return { bytes: stored.subarray(name.length + 1), isStale: options.isStale ?? false };
    },
    toStorage: (plain) => bytes(`${name}|${text(plain)}`),
  };
}

function chain(...entries: readonly (readonly [prefix: string, transformer: Transformer])[]): Transformer {
  const list: PrefixEntry[] = entries.map(([prefix, transformer]) => ({ prefix, transformer }));
  return prefixTransformer(list, 'no matching prefix found');
}

describe('prefixTransformer', () => {
  const both = chain(['first:', marking('a')], ['second:', marking('b')]);

  it('writes with its first entry', () => {
    expect(text(both.toStorage(bytes('x'), path))).toBe('first:a|x');
  });

  it.each([
    ['first:a|x', 'x', false],
    ['second:b|x', 'x', true],
  ])('reads %s, and calls stale what the first entry did not write', (stored, plain, isStale) => {
    const read = both.fromStorage(bytes(stored), path);
    expect({ plain: text(read.bytes), isStale: read.isStale }).toEqual({ plain, isStale });
  });

  it('calls stale what its first entry calls stale', () => {
    const transformer = chain(['first:', marking('a', { isStale: true })]);
    expect(transformer.fromStorage(bytes('first:a|x'), path).isStale).toBe(true);
  });

  it('says so when nothing matches', () => {
    expect(() => both.fromStorage(bytes('third:x'), path)).toThrow('no matching prefix found');
  });

  it('goes on to the same prefix further down when one fails, and reports all failures', () => {
    const same = chain(['p:', marking('a')], ['p:', marking('b')], ['p:', marking('c')]);
    expect(same.fromStorage(bytes('p:b|x'), path)).toEqual({ bytes: bytes('x'), isStale: true });
    expect(() => same.fromStorage(bytes('p:d|x'), path)).toThrow('[not by a, not by b, not by c]');
    expect(() => chain(['p:', marking('a')], ['p:', marking('a')]).fromStorage(bytes('p:d'), path)).toThrow(
      /^not by a$/,
    );
  });

  it('passes over identity before an encrypting provider, and says why only when that fails too', () => {
    const leaving = chain(['', identityTransformer], ['k8s:enc:x:', marking('a')]);
    expect(text(leaving.toStorage(bytes('x'), path))).toBe('x');
    expect(leaving.fromStorage(bytes('x'), path)).toEqual({ bytes: bytes('x'), isStale: false });
    expect(leaving.fromStorage(bytes('k8s:enc:x:a|x'), path)).toEqual({ bytes: bytes('x'), isStale: true });
    expect(() => leaving.fromStorage(bytes('k8s:enc:x:b|x'), path)).toThrow(/^not by a$/);
    expect(() => leaving.fromStorage(bytes('k8s:enc:y:b|x'), path)).toThrow('no matching prefix found');
  });

  it('reads plain bytes through identity at the end, as stale', () => {
    const entering = chain(['k8s:enc:x:', marking('a')], ['', identityTransformer]);
    expect(entering.fromStorage(bytes('{"kind":"Secret"}'), path).isStale).toBe(true);
  });

  it('needs an entry', () => {
    expect(() => prefixTransformer([], 'x')).toThrow('a prefix transformer needs at least one entry');
  });

  it('prepares only what matches, and nothing when nothing needs it', async () => {
    const asked: string[] = [];
    const remote = (name: string): Transformer => ({
      ...marking(name),
      prepare: (stored) => {
        asked.push(`${name}:${text(stored)}`);
        return name === 'ready' ? undefined : Promise.resolve();
      },
    });
    expect(both.prepare).toBeUndefined();
    const mixed = chain(['p:', remote('a')], ['q:', remote('ready')], ['p:', remote('c')]);
    expect(mixed.prepare?.(bytes('q:1'))).toBeUndefined();
    await mixed.prepare?.(bytes('p:2'));
    expect(asked).toEqual(['ready:1', 'a:2', 'c:2']);
  });
});

describe.each([
  ['AES-GCM', aesGcmTransformer],
  ['AES-CBC', aesCbcTransformer],
  ['secretbox', secretboxTransformer],
  ['seed', seedTransformer],
] as const)('rotation of %s keys', (_name, create) => {
  const [one, two] = [create(randomBytes(32)), create(randomBytes(32))];
  const ring = (...keys: readonly (readonly [string, Transformer])[]): Transformer => chain(...keys);

  it('reads both keys whatever their order, and calls the second one stale', () => {
    const before = ring(['1:', one]);
    const stored = before.toStorage(bytes('firstvalue'), path);
    const adding = ring(['1:', one], ['2:', two]);
    expect(adding.fromStorage(stored, path)).toMatchObject({ isStale: false });
    const rotated = ring(['2:', two], ['1:', one]);
    const read = rotated.fromStorage(stored, path);
    expect(text(read.bytes)).toBe('firstvalue');
    expect(read.isStale).toBe(true);
    expect(rotated.fromStorage(rotated.toStorage(read.bytes, path), path).isStale).toBe(false);
    expect(() => ring(['2:', two]).fromStorage(stored, path)).toThrow('no matching prefix found');
  });
});

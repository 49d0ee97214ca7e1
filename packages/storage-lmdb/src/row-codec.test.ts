import type { Revision } from '@kapstan/api';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  decodeBinding,
  decodeIndexPrefix,
  decodeNumber,
  decodeVersion,
  encodeBinding,
  encodeIndexKey,
  encodeIndexPrefix,
  encodeKey,
  encodeNumber,
  encodeVersion,
  indexPrefixOf,
  indexRevisionOf,
} from './row-codec.ts';

const text = fc.string({ unit: 'binary', minLength: 1 }).filter((value) => !/\p{Surrogate}/u.test(value));
const withNul = fc
  .array(fc.constantFrom('\0', '\u0001', 'a', 'ÿ', '/', '\u{10ffff}'), { minLength: 1 })
  .map((parts) => parts.join(''));
const key = fc.oneof(text, withNul);
const revision = fc.maxSafeNat().map((value) => value as Revision);

describe('row codec', () => {
  it('keeps numbers up to 2^53 - 1 and their order', () => {
    fc.assert(
      fc.property(fc.maxSafeNat(), fc.maxSafeNat(), (a, b) => {
        expect(decodeNumber(encodeNumber(a))).toBe(a);
        expect(Math.sign(Buffer.compare(encodeNumber(a), encodeNumber(b)))).toBe(Math.sign(a - b));
      }),
    );
  });

  it('keeps versions', () => {
    const value = fc.uint8Array({ maxLength: 300 });
    const type = fc.constantFrom('put' as const, 'delete' as const);
    const row = {
      type,
      key,
      revision,
      createRevision: revision,
      previousRevision: revision,
      lease: fc.maxSafeNat(),
      value,
    };
    fc.assert(
      fc.property(fc.record(row), (version) => {
        const decoded = decodeVersion(encodeVersion(version), version.revision);
        expect({ ...decoded, value: Uint8Array.from(decoded.value) }).toEqual(version);
      }),
    );
  });

  it('keeps the key and the revision of an index entry', () => {
    fc.assert(
      fc.property(key, revision, (name, at) => {
        const entry = encodeIndexKey(name, at);
        expect([decodeIndexPrefix(indexPrefixOf(entry)), indexRevisionOf(entry)]).toEqual([name, at]);
      }),
    );
  });

  it('sorts index entries by key, then by revision', () => {
    fc.assert(
      fc.property(key, revision, key, revision, (a, atA, b, atB) => {
        const byKey = Buffer.compare(encodeKey(a), encodeKey(b));
        const expected = byKey === 0 ? Math.sign(atA - atB) : byKey;
        expect(Buffer.compare(encodeIndexKey(a, atA), encodeIndexKey(b, atB))).toBe(expected);
      }),
      { numRuns: 1_000 },
    );
  });

  it('puts all entries of a key at or after its own bound and before those of later keys', () => {
    fc.assert(
      fc.property(key, revision, key, (name, at, bound) => {
        const isBefore = Buffer.compare(encodeKey(name), encodeKey(bound)) < 0;
        expect(Buffer.compare(encodeIndexKey(name, at), encodeIndexPrefix(bound)) < 0).toBe(isBefore);
      }),
      { numRuns: 1_000 },
    );
  });

  it('distinguishes a lease from the keys that are bound to it', () => {
    expect(decodeBinding(encodeNumber(7))).toBeUndefined();
    expect(decodeBinding(encodeBinding(7, '/a'))).toBe('/a');
  });
});

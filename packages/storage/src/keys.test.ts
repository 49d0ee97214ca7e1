import { describe, expect, it } from 'vitest';
import { isStorageError } from './errors/storage-error.ts';
import { KeySpace, normalizePrefix } from './keys.ts';

describe('normalizePrefix', () => {
  it.each([
    ['custom/prefix', '/custom/prefix/'],
    ['/custom//prefix//', '/custom/prefix/'],
    ['/registry', '/registry/'],
    ['', '/'],
    ['/', '/'],
    ['./a/../b/', '/b/'],
    ['../..', '/'],
    ['/a..b/.c', '/a..b/.c/'],
  ])('%j becomes %j', (prefix, expected) => expect(normalizePrefix(prefix)).toBe(expected));
});

describe('KeySpace', () => {
  it.each([
    ['', 'resourcePrefix cannot be empty'],
    ['/', 'resourcePrefix cannot be /'],
    ['pods', 'resourcePrefix needs to start from /'],
  ])('refuses the resource prefix %j', (resourcePrefix, message) => {
    expect(() => new KeySpace({ resourcePrefix })).toThrow(new TypeError(message));
  });

  const keys = new KeySpace({ keyPrefix: 'custom//prefix', resourcePrefix: '/services/specs' });

  it('covers its prefix and nothing beside it', () => {
    expect(keys.prefix).toBe('/custom/prefix/services/specs/');
    expect(keys.range).toEqual({ start: '/custom/prefix/services/specs/', end: '/custom/prefix/services/specs0' });
  });

  it.each(['a', 'a/b', 'bar..', '..bar', 'a.b.c', '...', 'a/..b/c', ''])('takes the single key %j', (rest) => {
    expect(keys.single(keys.prefix + rest)).toBe(keys.prefix + rest);
  });

  it('takes its prefix without a slash for recursion only', () => {
    const bare = '/custom/prefix/services/specs';
    expect(keys.recursive(bare)).toBe(`${bare}/`);
    expect(keys.recursive(`${bare}/ns`)).toBe(`${bare}/ns/`);
    expect(() => keys.single(bare)).toThrow();
  });

  it.each(['.', '..', './a', '../a', 'a/.', 'a/..', 'a/./b', 'a/../b', '/..'])('refuses %j in a key', (rest) => {
    for (const key of [rest, keys.prefix + rest]) {
      for (const check of [() => keys.single(key), () => keys.recursive(key)]) {
        expect(check).toThrow(`invalid key: ${JSON.stringify(key)}`);
        expect(check).toThrow(expect.toSatisfy((error: unknown) => isStorageError(error, 'InvalidKey')));
      }
    }
  });
});

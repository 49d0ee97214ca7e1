import { describe, expect, it } from 'vitest';
import { testDefinition } from '../../testing/store-fixture.ts';
import { ResourceCatalog, type ServedResource } from './catalog.ts';
import { mirrorCatalog } from './catalog-mirror.ts';

const resource = (name: string, group = ''): ServedResource => ({
  definition: testDefinition({ resource: name, group }),
  store: {} as ServedResource['store'],
});

describe('the mirror of a catalog', () => {
  it('holds what is wanted, now and later, in its order, and changes when that changes', () => {
    const source = new ResourceCatalog();
    const [a, b, hidden] = [resource('a'), resource('b'), resource('c', 'hidden.io')];
    source.install(a);
    source.install(hidden);
    const mirror = mirrorCatalog(source, ({ group }) => group !== 'hidden.io');
    const seen: (readonly ServedResource[])[] = [];
    mirror.onChange(() => seen.push(mirror.all()));
    source.install(b);
    const again = resource('a');
    source.install(again);
    source.install(resource('d', 'hidden.io'));
    source.remove('', 'v1', 'b');
    // A resource that is replaced is never absent.
    expect(seen).toEqual([[a, b], [again, b], [again]]);
    expect(mirror.find('', 'v1', 'a')).toBe(again);
    expect(mirror.find('hidden.io', 'v1', 'c')).toBeUndefined();
    expect(source.find('hidden.io', 'v1', 'c')).toBe(hidden);
  });

  it('ends with what the source has, when another listener changes that within a change', () => {
    const source = new ResourceCatalog();
    const replacement = resource('b');
    source.onChange((next) => {
      if (next?.definition.resource === 'a') source.remove('', 'v1', 'a');
      if (next?.definition.resource === 'b' && next !== replacement) source.install(replacement);
    });
    const mirror = mirrorCatalog(source, () => true);
    source.install(resource('a'));
    source.install(resource('b'));
    expect(source.all()).toEqual([replacement]);
    expect(mirror.all()).toEqual([replacement]);
    expect(mirror.find('', 'v1', 'b')).toBe(replacement);
  });
});

import { deepCopy } from '@kapstan/api';
import { describe, expect, it } from 'vitest';
import { jsonEqual } from '../../registry/meta/json-equality.ts';
import { isKeptEmpty } from '../node/kept-empties.ts';
import { carryEmpties, emptyPlacesOf, rememberEmpties, restoreEmpties } from './decoded-empties.ts';

type Fields = Record<string, unknown>;

/** Returns an object that lost the empty list and map of its spec, and remembers them. */
function stripped(): { metadata: Fields; spec: Fields } {
  const object = { metadata: { labels: {} }, spec: { list: [], items: [{ map: {} }], text: 'a' } as Fields };
  const places = emptyPlacesOf(object);
  delete object.spec.list;
  (object.spec.items as Fields[])[0] = {};
  rememberEmpties(object, places);
  return object;
}

describe('empty lists and maps that a client sent', () => {
  it('come back for validation, except those of metadata', () => {
    const object = stripped();
    restoreEmpties(object);
    expect(object).toEqual({ metadata: { labels: {} }, spec: { list: [], items: [{ map: {} }], text: 'a' } });
  });

  it('come back in a copy only if they were carried to it', () => {
    const object = stripped();
    const [known, unknown] = [deepCopy(object), deepCopy(object)];
    carryEmpties(object, known);
    for (const copy of [known, unknown]) restoreEmpties(copy);
    expect(known.spec).toHaveProperty('list', []);
    expect(unknown.spec).not.toHaveProperty('list');
  });

  it('do not replace a value and do not make a struct that is gone', () => {
    const object = stripped();
    object.spec = { list: ['a'] };
    restoreEmpties(object);
    expect(object.spec).toEqual({ list: ['a'] });
  });

  it('are forgotten beyond a limit', () => {
    const lists = Object.fromEntries(Array.from({ length: 5_000 }, (_, index) => [`k${index}`, []]));
    expect(emptyPlacesOf({ spec: lists })).toHaveLength(1_000);
  });

  it('equal none, and stop doing so when they get a member', () => {
    const object = stripped();
    restoreEmpties(object);
    const stored = { items: [{}], text: 'a' };
    expect([jsonEqual(object.spec, stored), jsonEqual(stored, object.spec)]).toEqual([true, true]);
    expect(jsonEqual({ ...object.spec, list: null }, object.spec)).toBe(true);
    expect([jsonEqual(object.spec, { ...stored, text: 'b' }), jsonEqual({ a: {} }, {})]).toEqual([false, false]);
    const list = object.spec.list as string[];
    list.push('a');
    expect([isKeptEmpty(list), jsonEqual(object.spec, stored)]).toEqual([false, false]);
  });
});

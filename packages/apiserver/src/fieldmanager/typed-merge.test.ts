import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SchemaNode } from '../schema/schema-node.ts';
import { FieldSet } from './field-set.ts';
import { fieldSetOf } from './field-set-from-object.ts';
import { removeItems } from './remove-items.ts';
import { compareTyped } from './typed-comparison.ts';
import { mergeTyped } from './typed-merge.ts';

const text: SchemaNode = { type: 'string' };
const schema: SchemaNode = {
  type: 'object',
  properties: new Map<string, SchemaNode>([
    [
      'list',
      {
        type: 'array',
        listType: 'map',
        listMapKeys: ['k'],
        items: {
          type: 'object',
          properties: new Map([
            ['k', text],
            ['v', text],
          ]),
        },
      },
    ],
    ['set', { type: 'array', listType: 'set', items: text }],
    ['map', { type: 'object', additionalProperties: text }],
    ['text', text],
  ]),
};
const keys = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'), { maxLength: 5 });
const objects = fc.record(
  {
    list: keys.chain((all) => fc.tuple(...all.map((k) => fc.constantFrom('1', '2').map((v) => ({ k, v }))))),
    set: keys,
    map: fc.dictionary(fc.constantFrom('x', 'y', '__proto__'), fc.constantFrom('1', '2'), {
      noNullPrototype: true,
      minKeys: 1,
    }),
    text: fc.constantFrom('p', 'q'),
  },
  { requiredKeys: [] },
);

describe('merging by schema', () => {
  it.each<readonly [live: string, applied: string, merged: string]>([
    ['ab', 'c', 'abc'],
    ['abc', 'b', 'abc'],
    ['abc', 'cba', 'cba'],
    ['abx', 'ba', 'bxa'],
    ['axb', 'ab', 'axb'],
    ['xab', 'ba', 'xba'],
    ['abc', 'nb', 'anbc'],
    ['', 'ab', 'ab'],
    ['ab', '', 'ab'],
  ])('keeps the applied order, others between: %s + %s = %s', (live, applied, merged) => {
    expect(mergeTyped({ set: [...live] }, { set: [...applied] }, schema)).toEqual({ set: [...merged] });
  });

  it('sets every applied field, keeps every other, and holds each item once', () => {
    fc.assert(
      fc.property(objects, objects, (live, applied) => {
        const merged = mergeTyped(live, applied, schema);
        const fields = fieldSetOf(merged, schema);
        expect(fields.equals(fieldSetOf(live, schema).union(fieldSetOf(applied, schema)))).toBe(true);
        const { modified, added } = compareTyped(merged, mergeTyped(merged, applied, schema), schema);
        expect(modified.union(added).isEmpty).toBe(true);
        const { set = [] } = merged as { set?: string[] };
        expect(new Set(set).size).toBe(set.length);
      }),
    );
  });

  it('finds no difference between equal objects, and all fields between something and nothing', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const same = compareTyped(object, structuredClone(object), schema);
        expect(same.added.union(same.modified).union(same.removed).isEmpty).toBe(true);
        const all = compareTyped({}, object, schema).added;
        expect(fieldSetOf(object, schema).difference(all).isEmpty).toBe(true);
        expect(compareTyped(object, {}, schema).removed.equals(all)).toBe(true);
      }),
    );
  });

  it('removes fields, and the maps and lists that this leaves empty', () => {
    const object = { list: [{ k: 'a', v: '1' }], set: ['a', 'b'], map: { x: '1' }, text: 'p' };
    const removed = FieldSet.of(['f:list', 'k:{"k":"a"}'], ['f:set', 'v:"a"'], ['f:map', 'f:x']);
    expect(removeItems(object, removed, schema)).toEqual({ set: ['b'], text: 'p' });
    expect(object.set).toEqual(['a', 'b']);
  });
});

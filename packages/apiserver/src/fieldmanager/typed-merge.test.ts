import { runWhole, SlicePace } from '@kapstan/api/internal';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { SchemaNode } from '../schema/node/schema-node.ts';
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
const merged = (live: unknown, applied: unknown) => runWhole(mergeTyped(live, applied, { node: schema }));
const compared = (old: unknown, next: unknown) => runWhole(compareTyped(old, next, schema));
const fieldsOf = (value: unknown) => runWhole(fieldSetOf(value, schema));
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
  ])('keeps the applied order, others between: %s + %s = %s', (live, applied, result) => {
    expect(merged({ set: [...live] }, { set: [...applied] })).toEqual({ set: [...result] });
  });

  it('sets every applied field, keeps every other, and holds each item once', () => {
    fc.assert(
      fc.property(objects, objects, (live, applied) => {
        const result = merged(live, applied);
        expect(fieldsOf(result).equals(runWhole(fieldsOf(live).union(fieldsOf(applied))))).toBe(true);
        expect(compared(result, merged(result, applied)).changed.isEmpty).toBe(true);
        const { set = [] } = result as { set?: string[] };
        expect(new Set(set).size).toBe(set.length);
      }),
    );
  });

  it('finds no difference between equal objects, and all fields between something and nothing', () => {
    fc.assert(
      fc.property(objects, (object) => {
        const same = compared(object, structuredClone(object));
        expect([same.changed.isEmpty, same.removed.isEmpty]).toEqual([true, true]);
        const all = compared({}, object).changed;
        expect(runWhole(fieldsOf(object).difference(all)).isEmpty).toBe(true);
        expect(compared(object, {}).removed.equals(all)).toBe(true);
      }),
    );
  });

  it('removes fields, and leaves null of the maps and lists that are empty then', () => {
    const object = { list: [{ k: 'a', v: '1' }], set: ['a', 'b'], map: { x: '1' }, text: 'p' };
    const removed = FieldSet.of(['f:list', 'k:{"k":"a"}'], ['f:set', 'v:"a"'], ['f:map', 'f:x']);
    expect(runWhole(removeItems(object, removed, { node: schema, pace: new SlicePace() }))).toEqual({
      list: null,
      map: null,
      set: ['b'],
      text: 'p',
    });
    expect(object.set).toEqual(['a', 'b']);
  });
});
